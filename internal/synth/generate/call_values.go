package generate

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"
)

var (
	reckoned = regexp.MustCompile(`^[\d\s.+*/()^%-]+$`)
	wordy    = regexp.MustCompile(`^[a-zA-Z]+(?:[_-][a-zA-Z]+)+$`)
)

// longestSaid bounds a text that a person types into a request, in bytes.
const longestSaid = 120

// valueSaid is a value as people write it; ok is false where nobody would write it into a sentence.
func valueSaid(p param, raw json.RawMessage) (text string, ok bool) {
	raw = json.RawMessage(strings.TrimSpace(string(raw)))
	switch {
	case len(raw) == 0:
		return "", false
	case raw[0] == '[':
		var parts []string
		ok = true
		for _, one := range listOf(raw) {
			item := param{name: p.name}
			if p.items != nil {
				item = *p.items
			}
			said, fits := valueSaid(item, one)
			parts, ok = append(parts, said), ok && fits
		}
		return enumerate(parts), ok && len(parts) > 0
	case raw[0] == '{':
		return objectSaid(raw)
	case raw[0] != '"':
		return string(raw), len(raw) <= mostDigits
	}
	text = textOf(raw)
	if len(p.choices) > 0 {
		if wordy.MatchString(text) || len(text) > 4 {
			text = strings.ToLower(strings.NewReplacer("_", " ").Replace(text))
		}
		return text, text != ""
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil && (p.format == "date" || p.stated != nil &&
		p.stated.layout == time.DateOnly) {
		return day.Format("2 January 2006"), true
	}
	bare := !strings.ContainsAny(text, " ,;\n") && text != "" && !strings.HasSuffix(text, ".") ||
		reckoned.MatchString(text) || isName(text)
	if !bare {
		return `"` + text + `"`, text != "" && len(text) <= longestSaid && !strings.Contains(text, "\n")
	}
	return text, true
}

// objectSaid is an object in words: what is converted, from what and to what, is said as people do.
func objectSaid(raw json.RawMessage) (text string, ok bool) {
	var parts []string
	var value, from, to string
	for _, m := range members(raw) {
		said, _ := valueSaid(param{name: m.name}, m.raw)
		parts = append(parts, wordsOfName(m.name)+" "+said)
		switch own := words(m.name); {
		case len(own) == 0:
		case own[0] == "from" || own[0] == "source":
			from = bared(said)
		case own[0] == "to" || own[0] == "target":
			to = bared(said)
		case slices.Contains([]string{"value", "amount", "quantity"}, own[len(own)-1]):
			value = said
		}
	}
	if value != "" && from != "" && to != "" {
		return value + " " + from + " to " + to, true
	}
	return enumerate(parts), false
}

// isName reports whether a text is up to three words, each with a capital: Ada Berg.
func isName(text string) bool {
	all := strings.Fields(text)
	return len(all) <= 3 && text != "" && !slices.ContainsFunc(all, func(w string) bool {
		return strings.ToUpper(w[:1]) != w[:1] || strings.ContainsAny(w, ",.;")
	})
}
