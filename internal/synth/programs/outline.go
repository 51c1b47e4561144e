package programs

import (
	"regexp"
	"slices"
	"strings"
)

// How a server that has no JSON shows things: one a line, each behind its id, under headings.
//
//	To Do:
//	  [HIGH] TASK-2 - Order tiles (due 2026-03-20, label: kitchen)
var (
	entryLine = regexp.MustCompile(
		`^\s*(?:[-*•] +)?((?:\[[^\]]+\] +)*)([A-Za-z]+-\d+|#\d+)(?: +[-–—] +|: *| +)(\S.*?)\s*$`)
	entryHead = regexp.MustCompile(`^(?:#+ +)?(\S[^:]{0,40}?)(?: \(\d+\))?:\s*$`)
	entryTag  = regexp.MustCompile(`\[([^\]]+)\]`)
	keyValue  = regexp.MustCompile(`^([A-Za-z][A-Za-z _-]*?)(?:: *|=| +)(\d.*|\S.*)$`)
)

// Names of the columns of an outline that the text itself does not name.
const (
	OutlineGroup = "group" // the heading above
	OutlineTag   = "tag"   // in brackets before the id
)

// fromOutline reads such lines, and the heading that all of them have; nil where fewer than two are there.
func fromOutline(text string) (name string, records []Record) {
	type entry struct {
		values map[string]any
		group  string
	}
	var list []entry
	var names []string
	head := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if m := entryHead.FindStringSubmatch(line); m != nil {
			head = m[1]
			continue
		}
		m := entryLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		e := entry{map[string]any{"id": m[2]}, head}
		title, notes := cutNotes(m[3])
		e.values["title"] = title
		set := func(key string, value any) {
			if e.values[key] = value; !slices.Contains(names, key) {
				names = append(names, key)
			}
		}
		if tag := entryTag.FindStringSubmatch(m[1]); tag != nil {
			set(OutlineTag, tag[1])
		}
		for _, note := range notes {
			if kv := keyValue.FindStringSubmatch(note); kv != nil {
				set(strings.ToLower(kv[1]), cellOf(strings.TrimSpace(kv[2])))
			}
		}
		list = append(list, e)
	}
	if len(list) < 2 {
		return "", nil
	}
	several := slices.ContainsFunc(list, func(e entry) bool { return e.group != list[0].group })
	if !several {
		name = strings.ToLower(list[0].group)
	}
	for _, e := range list {
		r := Record{Names: []string{"id", "title"}, Values: []any{e.values["id"], e.values["title"]}}
		if several {
			r.Names, r.Values = append(r.Names, OutlineGroup), append(r.Values, any(e.group))
		}
		for _, key := range names {
			r.Names, r.Values = append(r.Names, key), append(r.Values, e.values[key])
		}
		records = append(records, r)
	}
	return name, records
}

// cutNotes parts a title from what stands in parentheses behind it, part by part.
func cutNotes(text string) (title string, notes []string) {
	for strings.HasSuffix(text, ")") {
		depth, at := 0, -1
		for i := len(text) - 1; i >= 0 && at < 0; i-- {
			switch text[i] {
			case ')':
				depth++
			case '(':
				if depth--; depth == 0 {
					at = i
				}
			}
		}
		if at < 1 {
			break
		}
		notes = append(atDepth(text[at+1:len(text)-1]), notes...)
		text = strings.TrimSpace(text[:at])
	}
	return text, notes
}

// atDepth are the parts between commas that stand in no parentheses.
func atDepth(text string) (parts []string) {
	depth, from := 0, 0
	for i := range len(text) {
		switch {
		case text[i] == '(':
			depth++
		case text[i] == ')':
			depth--
		case text[i] == ',' && depth == 0:
			parts, from = append(parts, strings.TrimSpace(text[from:i])), i+1
		}
	}
	return append(parts, strings.TrimSpace(text[from:]))
}

// Notes are the properties that a text says of one thing: "KEY: VALUE", or a heading, a rule and the lines below it.
func Notes(text string) (pairs [][2]string) {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		key, value, ok := strings.Cut(strings.TrimSpace(lines[i]), ":")
		switch {
		case !ok || len(strings.Fields(key)) > 3 || !isName.MatchString(key):
			continue
		case strings.TrimSpace(value) == "" && i+2 < len(lines) && strings.Trim(lines[i+1], "-=") == "" &&
			lines[i+1] != "":
			value = lines[i+2]
			if i+3 < len(lines) && strings.TrimSpace(lines[i+3]) != "" { // of several lines nobody asks in one question
				continue
			}
			i += 2
		}
		if value = strings.TrimSpace(value); value != "" && !strings.HasPrefix(value, "//") {
			pairs = append(pairs, [2]string{key, value})
		}
	}
	return pairs
}

var isName = regexp.MustCompile(`^[A-Za-z][A-Za-z _-]*$`)
