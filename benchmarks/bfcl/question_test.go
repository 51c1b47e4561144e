package bfcl_test

import (
	"encoding/json"
	"testing"

	"hone/benchmarks/bfcl"
	"hone/internal/chat"
)

// The gold call that is written of a scenario's accepts the scenario's, and no other.
func TestGold(t *testing.T) {
	tools := []chat.Tool{{Name: "f", InputSchema: json.RawMessage(`{"type": "object", "properties": {"s": {"type": "string"}, "n": {"type": "number"},
		"o": {"type": "object"}, "l": {"type": "array", "items": {"type": "object"}}, "u": {"type": "array"}, "b": {"type": "integer"}, "d": {"type": "boolean", "default": true}}}`)}}
	defaults := func(string) map[string]json.RawMessage {
		return map[string]json.RawMessage{"d": json.RawMessage("true")}
	}
	big := "100000000000000000000000000000"
	for _, x := range []struct {
		gold, call string
		valid      bool
	}{
		{`{"s": "a b", "n": 2}`, `{"n": 2.0, "s": "A-B"}`, true},
		{`{"s": "a b", "n": 2}`, `{"s": "a b"}`, false},
		{`{"s": "a b"}`, `{"s": "a b", "n": 2}`, false},
		{`{"o": {"k": {"x": [1]}, "m": "A"}}`, `{"o": {"m": "a", "k": {"x": [1]}}}`, true},
		{`{"o": {"k": {"x": [1]}}}`, `{"o": {"k": {"x": [2]}}}`, false},
		{`{"l": [{"k": "A"}, {"k": 2}]}`, `{"l": [{"k": "a"}, {"k": 2}]}`, true},
		{`{"l": [{"k": "A"}, {"k": 2}]}`, `{"l": [{"k": "a"}]}`, false},
		{`{"u": [{"k": "A"}, 1]}`, `{"u": [{"k": "A"}, 1]}`, true},
		{`{"b": ` + big + `}`, `{"b": ` + big + `}`, true},
		{`{"b": ` + big + `}`, `{"b": ` + big[:len(big)-1] + `1}`, false},
		{`{"d": true}`, `{}`, true},
		{`{"d": false}`, `{}`, false},
		{`{}`, `{"d": true}`, true},
		{`{}`, `{"d": false}`, false},
	} {
		gold, err := bfcl.Gold(chat.ToolCall{Name: "f", Arguments: x.gold}, tools, defaults)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(bfcl.Case{Tools: tools, Gold: []json.RawMessage{gold}, Output: []bfcl.Call{
			{Name: "f", Arguments: x.call},
		}})
		if err != nil {
			t.Fatal(err)
		}
		answers, _, err := grade(t, bfcl.Options{}, string(text))
		if err != nil || answers[0]["valid"] != x.valid {
			t.Errorf("gold %s, call %s: %v, %v\n%s", x.gold, x.call, err, answers, gold)
		}
	}
	for _, bad := range []string{"[]", "{"} {
		if _, err := bfcl.Gold(chat.ToolCall{Name: "f", Arguments: bad}, tools, nil); err == nil {
			t.Error(bad)
		}
	}
}
