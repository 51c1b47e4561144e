package generate

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"hone/internal/grade"
)

// stable is what two answers to the same call have in common.
type stable struct {
	text   string   // the first
	equal  bool     // they are the same text, and hold nothing that goes with the time
	loose  []string // pointers of leaves that differ, or that go with the time
	json   bool     // both are JSON of one form, so the rest can be held to
	leaves []leaf   // of the first, without the loose ones
}

// stableOf compares two answers that were given at two times, in Unix seconds.
func stableOf(a, b string, at ...int64) stable {
	s := stable{text: a}
	clocked := saysNow(a, at)
	la, lb := leavesOf(a), leavesOf(b)
	s.equal = a == b && !clocked && !strings.Contains(a, dirMark) && !slices.ContainsFunc(la, leaf.grows)
	s.json = isJSON(a) && isJSON(b) && len(la) == len(lb)
	for i, l := range la {
		if len(la) != len(lb) || lb[i].pointer() != l.pointer() || string(lb[i].raw) != string(l.raw) ||
			saysNow(l.text(), at) || l.grows() || strings.Contains(l.text(), dirMark) {
			s.loose = append(s.loose, l.pointer())
			continue
		}
		s.leaves = append(s.leaves, l)
	}
	if len(la) != len(lb) {
		s.json, s.leaves = false, nil
	}
	if clocked { // weekdays, offsets and the like go with the time
		s.leaves = slices.DeleteFunc(s.leaves, func(l leaf) bool {
			return l.raw[0] == '"' && len(l.text()) < 16 || l.raw[0] != '"'
		})
	}
	return s
}

func isJSON(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && (text[0] == '{' || text[0] == '[') && json.Valid([]byte(text))
}

// nothing reports whether there is nothing that stays.
func (s stable) nothing() bool { return !s.equal && !(s.json && len(s.leaves) > 0) }

// same reports whether another answer has all that stays.
func (s stable) same(text string) bool {
	if s.equal {
		return text == s.text
	}
	if !s.json {
		return true // it never stays the same, so it says nothing
	}
	p, err := grade.NewPattern(string(s.pattern()))
	return err != nil || p.Unmet(text) == ""
}

// pattern is a grade.Pattern of the JSON in which any value may stand for the loose ones.
func (s stable) pattern() json.RawMessage {
	return loosen(nil, json.RawMessage(strings.TrimSpace(s.text)), s.loose)
}

func loosen(path []string, raw json.RawMessage, loose []string) json.RawMessage {
	pointer := strings.Join(path, "/")
	if slices.Contains(loose, pointer) {
		return json.RawMessage(`{"$any":true}`)
	}
	switch {
	case len(raw) > 0 && raw[0] == '{':
		var parts []string
		for _, m := range members(raw) {
			value := loosen(append(slices.Clone(path), m.name), m.raw, loose)
			if strings.HasPrefix(m.name, "$") { // would be read as an operator
				return json.RawMessage(`{"$any":true}`)
			}
			parts = append(parts, string(quote(m.name))+":"+string(value))
		}
		return json.RawMessage("{" + strings.Join(parts, ",") + "}")
	case len(raw) > 0 && raw[0] == '[':
		var parts []string
		for i, one := range listOf(raw) {
			parts = append(parts, string(loosen(append(slices.Clone(path), strconv.Itoa(i)), one, loose)))
		}
		return json.RawMessage("[" + strings.Join(parts, ",") + "]")
	}
	return raw
}
