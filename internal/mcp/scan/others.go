package scan

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// serverTools are the tools of a catalog, by server.
type serverTools map[string][]string

func namesOf(tools []Tool) serverTools {
	out := serverTools{}
	for _, t := range tools {
		out[t.Server] = append(out[t.Server], t.Name)
	}
	return out
}

// mentions finds the names of other servers' tools.
type mentions struct {
	tools map[string]string // "server/name" by name
	odd   []string          // those of the names that are no single word
}

type mention struct {
	start, end int
	what       string
}

// others prepares the search for the tools of one server. A name that this server has too means its own.
func (n serverTools) others(from string) *mentions {
	m := &mentions{tools: map[string]string{}}
	for server, tools := range n {
		for _, name := range tools {
			id := server + "/" + name
			if name == "" || slices.Contains(n[from], name) || m.tools[name] != "" && m.tools[name] < id {
				continue
			}
			m.tools[name] = id
			if strings.IndexFunc(name, notInWord) >= 0 {
				m.odd = append(m.odd, name)
			}
		}
	}
	slices.Sort(m.odd)
	m.odd = slices.Compact(m.odd)
	return m
}

// find returns the first mention in prose; a text of one word is a value or a key, not prose.
func (m *mentions) find(text string) *mention {
	if len(m.tools) == 0 || !strings.Contains(text, " ") {
		return nil
	}
	for start := 0; start < len(text); {
		r, size := utf8.DecodeRuneInString(text[start:])
		if notInWord(r) {
			start += size
			continue
		}
		end := len(text)
		if n := strings.IndexFunc(text[start:], notInWord); n >= 0 {
			end = start + n
		}
		if id := m.tools[text[start:end]]; id != "" && isMeant(text, start, end) {
			return &mention{start, end, id}
		}
		start = end
	}
	for _, name := range m.odd {
		if at := strings.Index(text, name); at >= 0 && isMeant(text, at, at+len(name)) {
			return &mention{at, at + len(name), m.tools[name]}
		}
	}
	return nil
}

// notInWord ends a word: a name of a tool is most often one.
func notInWord(r rune) bool {
	return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// compound are names that no sentence holds by chance: of several words, joined by _ or - or capitals.
var compound = regexp.MustCompile(`[A-Za-z0-9][_-][A-Za-z0-9]|[a-z][A-Z]`)

var (
	isQuoted    = regexp.MustCompile("^[`\"'] *(?i:tools?|functions?)\\b")
	afterQuote  = regexp.MustCompile("\\b(?i:tool|function) *[`\"']$")
	calledATool = regexp.MustCompile(`^ (?i:tool)\b`)
)

// isMeant tells a tool from a word that is spelt alike. A compound name is one unless it is part of a path; a plain
// word such as "search" only where it is quoted or called a tool.
func isMeant(text string, start, end int) bool {
	before, after := text[:start], text[end:]
	if compound.MatchString(text[start:end]) {
		return !strings.HasSuffix(before, "/") && !strings.HasSuffix(before, ".") && !strings.HasPrefix(after, "/")
	}
	before = before[max(0, len(before)-24):]
	after = after[:min(len(after), 24)]
	return isQuoted.MatchString(after) ||
		afterQuote.MatchString(before) && strings.ContainsAny(after[:min(1, len(after))], "`\"'") ||
		strings.HasSuffix(strings.ToLower(before), "the ") && calledATool.MatchString(after)
}
