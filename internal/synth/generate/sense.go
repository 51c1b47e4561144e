package generate

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

var (
	// noValue is what a program writes where it has none: the date or the number could not be made of what it was
	// given.
	noValue = regexp.MustCompile(
		`^["']?(?:Invalid [Dd]ate(?:[Tt]ime)?|-?NaN|nan|undefined|\[object Object\])["']?[.!]?$`,
	)
	// noValueSaid is the same where a sentence has its value: "The difference is NaN hours.", "Total: NaN".
	noValueSaid = regexp.MustCompile(`(?:\b(?:is|are|was|were|in|at|by|equals|becomes)\s+|[:=]\s*)(Invalid [Dd]ate(?:[Tt]ime)?|NaN|undefined)(?:\s+[a-z%]{1,12})?\s*(?:[.,;!)]|$)`)
	// overLimit is what a server says of too many calls: the same call is answered at another time.
	overLimit = regexp.MustCompile(`(?i)^(?:error: ?)?(?:limit:? \d+ ?(?:/|per) ?(?:second|minute|hour|day|month)\b|too many requests\b|(?:rate|daily|monthly|api|usage|request|free tier)[ -](?:limit|quota)s?(?: of \d+\S*)?(?: was| is| has been)? (?:exceeded|reached|hit)\b|quota (?:exceeded|reached)\b)`)
	// notThere is what a server says, and nothing else, of a thing that it does not have.
	notThere = regexp.MustCompile(
		`(?i)^[\w' -]{1,40}? (?:was |is )?(?:not found|does not exist)(?: ?(?:[:(].{0,60})?|[.!])$`)
	bareNaN = regexp.MustCompile(`([:\[,]\s*)(-?NaN|undefined)(\s*[,}\]])`)
)

// mostNoSense is up to which length, in bytes, such a word in a sentence speaks of the call: a longer text may be about
// the word.
const mostNoSense = 200

// senseless is the sign by which an answer shows that the server could do nothing with some calls, though it is not
// marked as an error: "Invalid Date" or NaN in the place of the value, or lists of which each entry failed. It is ""
// where there is none, and where a call says the word itself. A text about NaN, and a table with a gap, are answers.
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
		return failures(json.RawMessage(raw), calls)
	}
	if found := overLimit.FindString(text); found != "" && len(text) <= mostNoSense {
		return "a limit of calls"
	}
	if len(text) > mostNoSense || strings.Contains(text, "\n") {
		return ""
	}
	if notThere.MatchString(text) {
		return "not found"
	}
	if m := noValueSaid.FindStringSubmatch(text); m != nil && !said(m[1]) {
		return m[1]
	}
	return ""
}

// valueless is the sign of a JSON answer that has an Invalid Date, which no field of a program holds for its own sake,
// or none of whose texts and numbers is a value; "" of any other.
func valueless(raw json.RawMessage) (sign string) {
	var leaves []leaf
	walk(nil, raw, &leaves)
	gaps := 0
	for _, l := range leaves {
		found := noValue.FindString(l.text())
		if strings.HasPrefix(found, "Invalid") {
			return found
		}
		if found != "" {
			sign = found
			gaps++
		}
	}
	if gaps < len(leaves) {
		return ""
	}
	return sign
}

var (
	// names are last words of keys that tell which thing failed, and telling those of keys that tell that it did, and
	// why.
	names   = []string{"id", "name", "key", "index", "number", "title", "label"}
	telling = []string{"success", "ok", "succeeded", "error", "errors", "message", "reason", "detail", "details",
		"code", "status", "type"}
	// result are last words of keys that have what a call was made for.
	result = []string{"value", "result", "output", "answer"}
	// wantsFailures are words of a tool that lists what failed, and a choice of such: then it is what was asked for.
	wantsFailures = []string{"error", "errors", "failed", "failure", "failures", "log", "logs", "problems", "issues",
		"diagnostics"}
	failuresChosen = regexp.MustCompile(`(?i)"(?:errors?|failed|failures?|failing)"`)
)

// failures is the sign of an answer that has lists of objects, each of which says that it failed, and nothing else.
// Where a call asks for what failed, such a list is what it is to answer.
func failures(raw json.RawMessage, calls []Call) string {
	for _, c := range calls {
		if failuresChosen.Match(c.Arguments) ||
			slices.ContainsFunc(words(c.Tool), func(w string) bool { return slices.Contains(wantsFailures, w) }) {
			return ""
		}
	}
	if fails(raw, calls) { // an error alone, which its server does not mark as one
		return "failures alone"
	}
	found := false
	if !failing(raw, "", calls, &found) || !found {
		return ""
	}
	return "failures alone"
}

// failing reports whether all lists in an answer are of failures, and no field is its result; found, whether there is
// one.
func failing(raw json.RawMessage, key string, calls []Call, found *bool) bool {
	raw = json.RawMessage(strings.TrimSpace(string(raw)))
	switch {
	case len(raw) == 0 || string(raw) == "null":
	case raw[0] == '{':
		for _, m := range members(raw) {
			if !failing(m.raw, m.name, calls, found) {
				return false
			}
		}
	case raw[0] == '[':
		for _, one := range listOf(raw) {
			if !fails(one, calls) {
				return false
			}
			*found = true
		}
	default:
		return !endsWith(key, result)
	}
	return true
}

// fails reports whether an entry of a list says that it failed and why, and has no value beside its names: none but one
// that a call gave.
func fails(one json.RawMessage, calls []Call) bool {
	why, ok := "", true
	for _, m := range members(one) {
		text := strings.TrimSpace(string(m.raw))
		switch {
		case slices.Contains([]string{"success", "ok", "succeeded"}, m.name):
			if ok = false; text != "false" {
				return false
			}
		case slices.Contains([]string{"null", `""`, "{}", "[]", "false"}, text):
		case m.name == "error" || m.name == "errors":
			why, ok = text, false
		case slices.Contains([]string{"message", "reason", "detail"}, m.name):
			why = text
		case endsWith(m.name, names) || endsWith(m.name, telling):
		case !slices.ContainsFunc(calls, func(c Call) bool { return gives(c, text) }):
			return false
		}
	}
	return !ok && why != ""
}

// gives reports whether a value is one of a call's arguments.
func gives(c Call, value string) bool {
	var leaves []leaf
	walk(nil, c.Arguments, &leaves)
	return slices.ContainsFunc(leaves, func(l leaf) bool { return string(l.raw) == value })
}

func endsWith(key string, any []string) bool {
	all := words(key)
	return len(all) > 0 && slices.Contains(any, all[len(all)-1])
}

// misunderstood notes that a call was answered without sense, and why.
func (s *subject) misunderstood(c Call, sign, text string) {
	s.refused++
	s.senseless = orFirst(s.senseless, sign)
	s.note(c, false)
	s.why = orFirst(s.why, text)
}
