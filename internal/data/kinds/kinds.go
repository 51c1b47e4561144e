// Package kinds reads files of kinds of tasks. A kind has wordings with slots, a rule for the value of each slot, the
// calls that solve it, and what is checked. Tasks are drawn from it: values first, then the calls, each built from what
// the call before it answered, then a wording.
//
// Values are made by a grammar as Tracery has it (Compton, Kybartas and Mateas, "Tracery: an author-focused generative
// text tool", 2015): a rule is a text or a list of alternatives, and {name} in it is another rule or a maker of this
// package.
package kinds

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
)

// Set is what a file holds.
type Set struct {
	Kinds []Kind
	Name  string // of the file
	Sum   string // SHA-256 of its text
}

// Kind is a family of tasks with the same calls.
type Kind struct {
	Name     string
	Wordings []string // of tasks of every split
	HeldOut  []string // of tasks that training does not see; none: those have the same wordings

	values []drawn
	rules  map[string]rule
	calls  []call
	checks []any // none: the calls, and the last result as the answer
}

// Values are what a task is about, by the names of its slots.
type Values map[string]string

type drawn struct {
	name string
	rule rule
}

// call is one call of the solution, and what is taken of its result.
type call struct {
	tool      string
	arguments yaml.MapSlice
	field     []string       // way into a JSON object; none: the whole text
	pattern   *regexp.Regexp // whose first group is taken
}

// NumCalls is how many calls solve a task of the kind.
func (k *Kind) NumCalls() int { return len(k.calls) }

// Tools are the tools that it calls, each call's.
func (k *Kind) Tools() (names []string) {
	for _, c := range k.calls {
		names = append(names, c.tool)
	}
	return names
}

// Draw draws the values of a task in the order in which they stand in the file.
func (k *Kind) Draw(r *rand.Rand) Values {
	v := Values{}
	for _, d := range k.values {
		v[d.name] = maker{r, k.rules, v}.one(d.rule)
	}
	return v
}

// Call is the call number i, which is built from the values and from what was taken of the result before it. Arguments
// are spaced as Python's json.dumps spaces them, which is how the vendors' chat templates write calls.
func (k *Kind) Call(i int, v Values, before string) (chat.ToolCall, error) {
	text, err := fillSlots(k.calls[i].arguments, v, before)
	return chat.ToolCall{Name: k.calls[i].tool, Arguments: text}, err
}

// Take is what the next call and the answer take of the result of the call number i.
func (k *Kind) Take(i int, text string) (string, error) {
	c := k.calls[i]
	switch {
	case c.pattern != nil:
		m := c.pattern.FindStringSubmatch(text)
		if m == nil {
			return "", fmt.Errorf("%q does not fit the pattern %s", text, c.pattern)
		}
		return m[1], nil
	case len(c.field) > 0:
		return fieldOf(text, c.field)
	}
	return strings.TrimSpace(text), nil
}

// fieldOf is one text or number of a JSON object, by keys and places in lists.
func fieldOf(text string, path []string) (string, error) {
	raw := json.RawMessage(text)
	for _, key := range path {
		var object map[string]json.RawMessage
		var list []json.RawMessage
		at, err := strconv.Atoi(key)
		switch {
		case json.Unmarshal(raw, &object) == nil && object[key] != nil:
			raw = object[key]
		case err == nil && json.Unmarshal(raw, &list) == nil && at >= 0 && at < len(list):
			raw = list[at]
		default:
			return "", fmt.Errorf("the result has no %q", strings.Join(path, "/"))
		}
	}
	if raw[0] == '"' {
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err
	}
	if raw[0] == '{' || raw[0] == '[' || string(raw) == "null" {
		return "", errors.New("the result is no short value")
	}
	return string(raw), nil
}

// Fill writes values into a wording.
func (v Values) Fill(wording string) string {
	return slotIn.ReplaceAllStringFunc(wording, func(slot string) string { return v[strings.Trim(slot, "{}")] })
}

// Checks are those of a task whose calls came to an answer: what the file states, else the calls and the answer.
func (k *Kind) Checks(v Values, calls []chat.ToolCall, task, answer string) (checks []scenario.Check, err error) {
	if len(k.checks) > 0 {
		for _, one := range k.checks {
			c, err := checkOf(one, v, answer)
			if err != nil {
				return nil, err
			}
			checks = append(checks, c)
		}
		return checks, nil
	}
	for _, c := range calls {
		checks = append(checks,
			scenario.Check{Type: scenario.CallCheck, Name: c.Name, Arguments: json.RawMessage(c.Arguments)})
	}
	check, err := AnswerCheck(task, answer)
	return append(checks, check), err
}

// checkOf is a check of the file with its slots filled.
func checkOf(one any, v Values, answer string) (c scenario.Check, err error) {
	text, err := fillSlots(one, v, answer)
	if err == nil {
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		err = d.Decode(&c)
	}
	return c, err
}

// StatesChecks reports whether the file says what is checked.
func (k *Kind) StatesChecks() bool { return len(k.checks) > 0 }

// maxAnswer is what a small model can still copy, in bytes.
const maxAnswer = 48

// AnswerCheck wants the final message to be the answer and nothing else, text or number: where it had only to be in the
// message, naming all weekdays would do. It fails where the task holds the answer, for then repeating the task might
// do: as its last number where it is one, since "4" is in "14", else anywhere.
func AnswerCheck(task, answer string) (scenario.Check, error) {
	if answer == "" || len(answer) > maxAnswer || strings.ContainsAny(answer, "\n\r") {
		return scenario.Check{}, fmt.Errorf("the result %q is empty or too long to be an answer", answer)
	}
	held := scenario.Check{Type: scenario.AnswerCheck, Contains: &answer}
	var n float64
	// Leading zeros and the like mark a text of digits, not a number.
	if err := json.Unmarshal([]byte(answer), &n); err == nil && fmt.Sprint(n) == answer {
		held = scenario.Check{Type: scenario.AnswerCheck, Number: scenario.NumberOf(n)}
	}
	check := scenario.Check{Type: scenario.AnswerCheck, Equals: &answer}
	if held.Answer(task) {
		return check, fmt.Errorf("the task already holds its result %q", answer)
	}
	return check, nil
}

// asNumber is what marks a slot that is written as a number: "{a | number}".
var asNumber = regexp.MustCompile(`^\{(\w+) \| number\}$`)

// result is the slot of what was taken of the result before, or in checks of the last one.
const result = "result"

// fillSlots is a value of the file as JSON, with its slots filled.
func fillSlots(value any, v Values, before string) (string, error) {
	switch value := value.(type) {
	case yaml.MapSlice:
		parts := make([]string, len(value))
		for i, item := range value {
			text, err := fillSlots(item.Value, v, before)
			if err != nil {
				return "", err
			}
			parts[i] = toJSON(fmt.Sprint(item.Key)) + ": " + text
		}
		return "{" + strings.Join(parts, ", ") + "}", nil
	case []any:
		parts := make([]string, len(value))
		for i, one := range value {
			var err error
			if parts[i], err = fillSlots(one, v, before); err != nil {
				return "", err
			}
		}
		return "[" + strings.Join(parts, ", ") + "]", nil
	case string:
		get := func(name string) string {
			if name == result {
				return before
			}
			return v[name]
		}
		if m := asNumber.FindStringSubmatch(value); m != nil {
			n := get(m[1])
			if _, err := strconv.ParseFloat(n, 64); err != nil || !json.Valid([]byte(n)) {
				return "", fmt.Errorf("{%s} is %q, which is no number", m[1], n)
			}
			return n, nil
		}
		return toJSON(slotIn.ReplaceAllStringFunc(value,
			func(slot string) string { return get(strings.Trim(slot, "{}")) })), nil
	}
	return toJSON(value), nil
}

// toJSON is a value as JSON. A model writes & as it stands.
func toJSON(value any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // what YAML holds has a form in JSON, which the reading has seen to
	return strings.TrimSuffix(b.String(), "\n")
}
