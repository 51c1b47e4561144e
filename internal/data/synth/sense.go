package synth

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

var (
	// noValue is what a program writes where it has none: the date or the number could not be made of what it was given.
	noValue = regexp.MustCompile(`^["']?(?:Invalid [Dd]ate(?:[Tt]ime)?|-?NaN|nan|undefined|\[object Object\])["']?[.!]?$`)
	// noValueSaid is the same where a sentence has its value: "The difference is NaN hours.", "Total: NaN".
	noValueSaid = regexp.MustCompile(`(?:\b(?:is|are|was|were|in|at|by|equals|becomes)\s+|[:=]\s*)(Invalid [Dd]ate(?:[Tt]ime)?|NaN|undefined)(?:\s+[a-z%]{1,12})?\s*(?:[.,;!)]|$)`)
	bareNaN     = regexp.MustCompile(`([:\[,]\s*)(-?NaN|undefined)(\s*[,}\]])`)
)

// mostNoSense is up to which length, in bytes, such a word in a sentence speaks of the call: a longer text may be about the word.
const mostNoSense = 200

// senseless is the sign by which an answer shows that the server could do nothing with some calls, though it is not marked as an error:
// "Invalid Date" or NaN in the place of the value, or a list of which each entry failed. It is "" where there is none, and where a call
// says the word itself. A text about NaN, and a table with a gap, are answers.
func senseless(text string, calls ...Call) string {
	text = strings.TrimSpace(text)
	said := func(sign string) bool {
		return slices.ContainsFunc(calls, func(c Call) bool { return strings.Contains(string(c.Arguments), sign) })
	}
	if found := noValue.FindString(text); found != "" {
		if sign := strings.Trim(found, `"'.!`); !said(sign) {
			return sign
		}
		return ""
	}
	if raw := bareNaN.ReplaceAllString(bareNaN.ReplaceAllString(text, `$1"$2"$3`), `$1"$2"$3`); isJSON(raw) {
		sign := valueless(json.RawMessage(raw))
		if sign != "" && !said(sign) {
			return sign
		}
		return failures(json.RawMessage(raw))
	}
	if len(text) > mostNoSense || strings.Contains(text, "\n") {
		return ""
	}
	if m := noValueSaid.FindStringSubmatch(text); m != nil && !said(m[1]) {
		return m[1]
	}
	return ""
}

// valueless is the sign of a JSON answer none of whose texts and numbers is a value, "" where one is.
func valueless(raw json.RawMessage) (sign string) {
	var leaves []leaf
	walk(nil, raw, &leaves)
	for _, l := range leaves {
		found := noValue.FindString(l.text())
		switch {
		case strings.HasPrefix(found, "Invalid"): // which no field of a program holds for its own sake
			return found
		case found == "":
			return ""
		}
		sign = found
	}
	return sign
}

// failures is the sign of an answer that is, or holds, a list of which each entry says that it failed.
func failures(raw json.RawMessage) string {
	list := listOf(raw)
	for _, m := range members(raw) {
		if strings.HasPrefix(strings.TrimSpace(string(m.raw)), "[") && len(list) == 0 {
			list = listOf(m.raw)
		}
	}
	for _, one := range list {
		ok, told := false, false
		for _, key := range []string{"success", "ok", "succeeded"} {
			if v := string(find(one, key)); v != "" {
				ok, told = v != "false", true
			}
		}
		if !told {
			text := strings.TrimSpace(string(find(one, "error")))
			ok = text == "" || text == "null" || text == `""` || text == "{}" || text == "[]" || text == "false"
		}
		if ok {
			return ""
		}
	}
	if len(list) == 0 {
		return ""
	}
	return "failures alone"
}

// misunderstood notes that a call was answered without sense, and why.
func (s *subject) misunderstood(c Call, sign, text string) {
	s.refused++
	s.senseless = orFirst(s.senseless, sign)
	s.note(c, false)
	s.why = orFirst(s.why, text)
}
