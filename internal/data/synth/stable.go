package synth

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"hone/internal/grade"
)

// stable is what two answers to the same call have in common.
type stable struct {
	text   string   // the first
	equal  bool     // they are the same text, and hold no time
	loose  []string // pointers of leaves that differ, or that say the time
	json   bool     // both are JSON of one form, so the rest can be held to
	leaves []leaf   // of the first, without the loose ones
}

// stableOf compares two answers that were given at two times, in Unix seconds.
func stableOf(a, b string, at ...int64) stable {
	s := stable{text: a}
	clocked := saysNow(a, at)
	s.equal = a == b && !clocked && !strings.Contains(a, dirMark)
	la, lb := leavesOf(a), leavesOf(b)
	s.json = isJSON(a) && isJSON(b) && len(la) == len(lb)
	for i, l := range la {
		if len(la) != len(lb) || lb[i].pointer() != l.pointer() || string(lb[i].raw) != string(l.raw) || saysNow(l.text(), at) || strings.Contains(l.text(), dirMark) {
			s.loose = append(s.loose, l.pointer())
			continue
		}
		s.leaves = append(s.leaves, l)
	}
	if len(la) != len(lb) {
		s.json, s.leaves = false, nil
	}
	if clocked { // weekdays, offsets and the like go with the time
		s.leaves = slices.DeleteFunc(s.leaves, func(l leaf) bool { return l.raw[0] == '"' && len(l.text()) < 16 || l.raw[0] != '"' })
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
	return loosened(nil, json.RawMessage(strings.TrimSpace(s.text)), s.loose)
}

func loosened(path []string, raw json.RawMessage, loose []string) json.RawMessage {
	pointer := strings.Join(path, "/")
	if slices.Contains(loose, pointer) {
		return json.RawMessage(`{"$any":true}`)
	}
	switch {
	case len(raw) > 0 && raw[0] == '{':
		var parts []string
		for _, m := range members(raw) {
			value := loosened(append(slices.Clone(path), m.name), m.raw, loose)
			if strings.HasPrefix(m.name, "$") { // would be read as an operator
				return json.RawMessage(`{"$any":true}`)
			}
			parts = append(parts, string(quote(m.name))+":"+string(value))
		}
		return json.RawMessage("{" + strings.Join(parts, ",") + "}")
	case len(raw) > 0 && raw[0] == '[':
		var parts []string
		for i, one := range listOf(raw) {
			parts = append(parts, string(loosened(append(slices.Clone(path), strconv.Itoa(i)), one, loose)))
		}
		return json.RawMessage("[" + strings.Join(parts, ",") + "]")
	}
	return raw
}

var (
	hourMinute = regexp.MustCompile(`\b\d{1,2}:(\d{2})\b`)
	longNumber = regexp.MustCompile(`\b\d{10,13}\b`)
)

// saysNow reports whether a text says the time at which it was made, or the day: it would be another tomorrow.
func saysNow(text string, at []int64) bool {
	if len(at) == 0 {
		return false
	}
	now := time.Unix(at[0], 0).UTC()
	for _, day := range []time.Time{now.AddDate(0, 0, -1), now, now.AddDate(0, 0, 1)} { // of other zones too
		for _, form := range []string{"2006-01-02", "2006/01/02", "02/01/2006", "01/02/2006", "Jan 2 2006", "January 2, 2006", "2 January 2006", "Jan 02 2006", "Jan 2, 2006", "20060102"} {
			if strings.Contains(text, day.Format(form)) {
				return true
			}
		}
	}
	if strings.Contains(text, strconv.Itoa(now.Year())) {
		for _, m := range hourMinute.FindAllStringSubmatch(text, 4) {
			if m[1] == now.Format("04") {
				return true
			}
		}
	}
	for _, m := range longNumber.FindAllString(text, 8) {
		n, err := strconv.ParseInt(m, 10, 64)
		if len(m) == 13 {
			n /= 1000
		}
		if err == nil && n > now.Unix()-3600 && n < now.Unix()+3600 {
			return true
		}
	}
	return false
}
