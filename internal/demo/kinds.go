package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"hone/internal/chat"
)

// values are what a task is about, by the name they have in its wordings: {a}, {b}, ...
type values map[string]string

func (v values) fill(wording string) string {
	for name, value := range v {
		wording = strings.ReplaceAll(wording, "{"+name+"}", value)
	}
	return wording
}

// step is one call of a solution: how to build it from the values and the result before it ("" at first), and how to
// read the short result out of the tool's text.
type step struct {
	call func(v values, before string) chat.ToolCall
	read func(text string) (string, error)
}

// kind is a family of tasks with the same calls.
type kind struct {
	name   string
	draw   func(r *rand.Rand) values
	steps  []step
	seen   []string // wordings of every split
	unseen []string // wordings of test and validation only
}

// argument is one name and its value as JSON text.
type argument struct{ name, json string }

func text(name, value string) argument {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // a model writes & as it stands
	_ = e.Encode(value)    // a string always encodes
	return argument{name, strings.TrimSuffix(b.String(), "\n")}
}

// call writes arguments in the order of the tool's schema, spaced as Python's json.dumps does, which is how the vendors'
// chat templates write calls.
func call(tool string, arguments ...argument) chat.ToolCall {
	var parts []string
	for _, a := range arguments {
		parts = append(parts, fmt.Sprintf(`"%s": %s`, a.name, a.json))
	}
	return chat.ToolCall{Name: tool, Arguments: "{" + strings.Join(parts, ", ") + "}"}
}

// plain reads a result that is its whole text.
func plain(text string) (string, error) { return strings.TrimSpace(text), nil }

// day reads the date of a date and time.
func day(text string) (string, error) {
	date, _, found := strings.Cut(text, "T")
	if !found || len(date) != len("2006-01-02") {
		return "", fmt.Errorf("%q is not a date and time", text)
	}
	return date, nil
}

// field reads one string or number of a JSON object.
func field(name string) func(string) (string, error) {
	return func(text string) (string, error) {
		var object map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &object); err != nil {
			return "", fmt.Errorf("the result is not a JSON object: %w", err)
		}
		raw, ok := object[name]
		if !ok {
			return "", fmt.Errorf("the result has no %q", name)
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
}

// kinds returns all kinds: single calls, then chains.
func kinds() []kind { return append(singleKinds(), chainKinds()...) }
