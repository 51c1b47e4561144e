package generate

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

const verbs = `add append apply archive assign attach book browse build calculate cancel check clone close combine commit compare compress
compute connect convert copy count create decode decompress decrypt delete describe detect determine diff display divide download draft
edit encode encrypt enumerate estimate evaluate execute explain export extract fetch filter find flip format generate get give hash
identify import increment insert inspect install join launch list load log look lookup make mark measure merge modify move multiply
name obtain open parse perform pick ping plan post preview print process produce provide publish pull push put query read record
remove rename render replace report request reset resolve restore retrieve return reverse roll round run sample save scan schedule
search select send set show solve sort split start stat stop store subtract sum summarize switch tag take tell test toggle track transform
translate trim truncate undo unstage update upload validate verify view write`

func isVerb(word string) bool { return slices.Contains(strings.Fields(verbs), word) }

var (
	bracketed = regexp.MustCompile(`\s*[(\[][^)\]]*[)\]]`)
	preamble  = regexp.MustCompile(`(?i)^(?:(?:this|the|a|an)\s+)?(?:tool|function|utility|command|method)\s+(?:that|which|to|can|allows you to|lets you|is used to|used to|for)\s+(?:can\s+)?`)
	sentences = regexp.MustCompile(`[.!?](?:\s|$)|\n|;|:(?:\s|$)|\s-\s|\s—\s`)
)

// byDescription is what a tool does as a request, from what its server says of it: "convert time between timezones".
func byDescription(s *subject) string {
	text := strings.TrimSpace(s.Description)
	text = strings.Trim(bracketed.ReplaceAllString(text, ""), "*#_` \t\n")
	text = preamble.ReplaceAllString(text, "")
	if at := sentences.FindStringIndex(text); at != nil {
		text = text[:at[0]]
	}
	first, rest, _ := strings.Cut(text, " ")
	verb, _, _ := strings.Cut(strings.ToLower(strings.Trim(first, ",:")), "/") // calculates/evaluates
	for _, form := range []string{
		verb, strings.TrimSuffix(verb, "s"), strings.TrimSuffix(verb, "es"), strings.TrimSuffix(verb, "ies") + "y",
	} {
		if isVerb(form) && len(rest) > 0 && len(text) <= 150 {
			return form + " " + strings.TrimSpace(rest)
		}
	}
	return byName(s)
}

// byName is the same from the tool's name: "convert time".
func byName(s *subject) string {
	text := wordsOfName(s.Name)
	for _, server := range words(s.Server) { // git_status of the server git
		if rest, ok := strings.CutPrefix(text, server+" "); ok && isVerb(strings.Split(rest, " ")[0]) {
			text = rest
		}
	}
	verb, rest, _ := strings.Cut(text, " ")
	if !isVerb(verb) {
		return "use " + text
	}
	if rest == "" {
		return "use " + text // "add something" would be said of any tool that adds
	}
	return verb + " the " + rest
}

// otherwise are other words for verbs: those of the held-out wordings.
func otherwise(request string) string {
	verb, rest, _ := strings.Cut(request, " ")
	for _, pair := range []string{"get:fetch", "list:show me", "create:set up", "add:put in", "delete:get rid of",
		"remove:take out", "search:go through", "find:locate", "read:open", "write:save", "update:bring up to date",
		"convert:translate", "calculate:work out", "compute:work out", "evaluate:work out", "show:display",
		"return:hand me", "generate:come up with", "send:pass on", "move:relocate", "retrieve:fetch", "execute:run",
		"describe:tell me about", "count:tell me the number of", "use:make use of", "set:fix", "open:pull up",
		"start:kick off", "fetch:retrieve", "run:execute", "append:attach", "make:set up", "record:note down"} {
		if from, to, _ := strings.Cut(pair, ":"); from == verb {
			return to + " " + rest
		}
	}
	return request
}

// slot is an argument as people say it.
type slot struct {
	name, value string
	nested      bool // it has parts with names of their own
}

// slotsOf are the arguments of a call, but for the one that takes a value of the result before.
func slotsOf(c Call, without ...string) (slots []slot) {
	for _, m := range argumentsOf(c) {
		if m.name == c.Fed && c.Within != "" {
			m.raw = quote(strings.Replace(c.Within, hole, c.mark(), 1))
		} else if m.name == c.Fed {
			continue
		}
		if !slices.Contains(without, m.name) {
			slots = append(slots, slot{wordsOfName(m.name), valueInWords(m.raw),
				strings.ContainsRune(string(m.raw), '{') && m.raw[0] != '"'})
		}
	}
	return slots
}

// valueInWords is a value in words: a text in quotes where it is more than a word, members with their names, lists with
// commas.
func valueInWords(raw json.RawMessage) string {
	raw = json.RawMessage(strings.TrimSpace(string(raw)))
	switch {
	case len(raw) == 0:
		return ""
	case raw[0] == '"':
		text := textOf(raw)
		if text == "" || strings.ContainsAny(text, " ,;\n") || strings.HasSuffix(text, ".") || len(text) < 2 {
			return `"` + text + `"`
		}
		return text
	case raw[0] == '[' && len(listOf(raw)) == 0:
		return "an empty list" // never no words at all
	case raw[0] == '{' && len(members(raw)) == 0:
		return "an empty object"
	case raw[0] == '[':
		var parts []string
		nested := false
		for _, one := range listOf(raw) {
			parts = append(parts, valueInWords(one))
			nested = nested || len(one) > 0 && one[0] == '{'
		}
		if nested {
			return strings.Join(parts, "; and ")
		}
		return enumerate(parts)
	case raw[0] == '{':
		var parts []string
		for _, m := range members(raw) {
			parts = append(parts, wordsOfName(m.name)+" "+valueInWords(m.raw))
		}
		return enumerate(parts)
	}
	return string(raw)
}

func enumerate(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}
