package checktest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/checktest"
	"hone/internal/episode/scenario"
)

func scenarioOf(t *testing.T, checks, gold string) *scenario.Scenario {
	t.Helper()
	var s scenario.Scenario
	if err := json.Unmarshal([]byte(`{"id": "x", "task": "Add 2 and 3.", "checks": [`+checks+`], "gold": [`+gold+`]}`),
		&s); err != nil {
		t.Fatal(err)
	}
	return &s
}

// Checks of which no episode meets both are found, and none that some episode does.
func TestContradictions(t *testing.T) {
	const call = `{"type": "call", "name": "add", "arguments": {}}`
	for checks, want := range map[string]string{
		call + `, {"type": "no_call"}`: "checks[0] (call) " +
			"cannot pass with the others",
		call + `, {"type": "no_call", "name": "add"}`: "checks[0] (call) " +
			"cannot pass with the others",
		call + `, {"type": "no_call", "name": "sub"}`: "",
		`{"type": "max_calls", "max": 0}, ` +
			call: "checks[1] (call) cannot pass with " +
			"the others",
		`{"type": "max_calls", "max": 1}, ` + call: "",
		`{"type": "max_calls", "max": 1}, {"type": "call", "name": "sub", "arguments": {}}, ` +
			call: "checks[0] (max_calls) cannot pass with the others: 2 tools are to be called",
		// one call is both
		`{"type": "max_calls", "max": 1}, ` + call + `, ` + call:                                               "",
		`{"type": "answer", "number": 6}, {"type": "answer", "number": 7}`:                                     "checks[0] and checks[1] (answer) cannot both pass",
		`{"type": "answer", "number": 6, "tolerance": 0.5}, {"type": "answer", "number": 7, "tolerance": 0.5}`: "",
		`{"type": "answer", "number": 6, "any_turn": true}, {"type": "answer", "number": 7}`:                   "",
		`{"type": "answer", "number": 6}, {"type": "answer", "contains": "seven"}`:                             "",
		`{"type": "answer", "equals": "six"}, {"type": "answer", "contains": "seven"}`:                         "cannot both pass",
		// "six." is six
		`{"type": "answer", "contains": "."}, {"type": "answer", "equals": "six"}`:             "",
		`{"type": "answer", "equals": "six"}, {"type": "answer", "equals": "six."}`:            "",
		`{"type": "answer", "equals": "six."}, {"type": "answer", "any_of": ["seven", "six"]}`: "",
		`{"type": "answer", "equals": "six"}, {"type": "answer", "contains": "'"}`:             "",
		// Paris is both
		`{"type": "answer", "equals": "Paris."}, {"type": "answer", "regex": "^Paris$"}`:          "",
		`{"type": "answer", "equals": "six"}, {"type": "answer", "equals": "seven"}`:              "cannot both pass",
		`{"type": "answer", "contains": "seven"}, {"type": "answer", "equals": "six"}`:            "cannot both pass",
		`{"type": "answer", "any_of": ["six", "seven"]}, {"type": "answer", "contains": "seven"}`: "",
	} {
		found := strings.Join(checktest.Alone(scenarioOf(t, checks, "")), "; ")
		if got := strings.Contains(found, "cannot pass with") ||
			strings.Contains(found, "cannot both"); got != (want != "") || !strings.Contains(found, want) {
			t.Errorf("%s: %q, want %q", checks, found, want)
		}
	}
}

// A call that hone never sends is found before a run: of no tool, or against its schema once what the schema fills in
// is there.
func TestUnsendable(t *testing.T) {
	tools := []chat.Tool{{Name: "add", InputSchema: json.RawMessage(`{"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number", "default": 3}}, "required": ["a", "b"], "additionalProperties": false}`)},
		{Name: "paint", InputSchema: json.RawMessage(`{"type": "object", "properties": {"name": {"type": "string"}, "colour": {"type": "string", "default": null}}, "required": ["name"]}`)},
		{Name: "odd", InputSchema: json.RawMessage(`{"$ref": "https://example.com/elsewhere"}`)},
		// what is called is the first of a name
		{Name: "add", InputSchema: json.RawMessage(`{"type": "object", "required": ["other"]}`)}}
	defaults := func(tool string) map[string]json.RawMessage {
		if tool != "add" {
			return map[string]map[string]json.RawMessage{"paint": {"colour": json.RawMessage("null")}}[tool]
		}
		return map[string]json.RawMessage{"b": json.RawMessage("3")}
	}
	call := func(rest string) string { return `{"type": "call", ` + rest + `}` }
	sessions := checktest.NewSessions(tools, defaults)
	for _, tc := range []struct{ checks, gold, want string }{
		{call(`"name": "add", "arguments": {"a": 2, "b": 3}`), `{"name": "add", "arguments": {"a": 2, "b": 3}}`, ""},
		// it is sent as it is
		{call(`"name": "add", "arguments": {"a": 2}`), `{"name": "add", "arguments": {"a": 2}}`,
			"gold[0] cannot be made: the arguments are against the schema of add: missing property 'b'"},
		{call(`"name": "add", "arguments": {"a": 2}`), ``, ""},
		{call(`"name": "add", "arguments": {"a": 2, "b": 4}`), ``, ""},
		{call(`"name": "add", "arguments": {"a": 2, "b": "4"}`), ``, "/b: "},
		{call(`"name": "paint", "arguments": {"name": "hat"}`), `{"name": "paint", "arguments": {"name": "hat"}}`, ""},
		{call(`"name": "paint", "arguments": {"name": "hat", "colour": null}`), ``, ""}, // a call without it is equal
		{call(`"name": "paint", "arguments": {"colour": null}`), ``, "missing property 'name'"},
		{call(`"name": "adds", "arguments": {}`), ``, `checks[0] (call) cannot pass: there is no tool "adds"`},
		{call(`"name": "adds", "arguments_match": {"a": {"type": "number"}}`), ``, `there is no tool "adds"`},
		// nobody knows what a pattern leaves open
		{call(`"name": "add", "arguments_match": {"c": {"type": "number"}}`), ``, ""},
		{call(`"name": "add", "arguments": {"aa": 2, "b": 3}`), ``, "against the schema of add"},
		{call(`"name": "add", "arguments": {"a": "2", "b": 3}, "refused": true`), ``, "/a: "},
		{call(`"name": "odd", "arguments": {"x": 1}`), ``, ""},
		{`{"type": "no_call", "name": "gone"}`, ``, ""}, // which holds
		{``, `{"name": "add", "arguments": {"x": "abc"}}`, "gold[0] cannot be made: the arguments are against the schema of add"},
	} {
		if found := strings.Join(sessions.Unsendable(scenarioOf(t, tc.checks, tc.gold)),
			"; "); (found == "") != (tc.want == "") || !strings.Contains(found, tc.want) {
			t.Errorf("%s %s: %q, want %q", tc.checks, tc.gold, found, tc.want)
		}
	}
}
