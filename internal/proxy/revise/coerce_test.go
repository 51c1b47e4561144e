package revise

import (
	"encoding/json"
	"testing"

	"hone/internal/chat"
)

// Values are mended wherever a schema speaks of them: by a pattern of their name, as further members, behind anchors.
func TestCoerceOpenObjects(t *testing.T) {
	for name, x := range map[string]struct{ schema, in, want string }{
		"further members": {`{"type":"object","additionalProperties":{"type":"integer"}}`, `{"a":"3"}`, `{"a": 3}`},
		"further members below": {
			`{"type":"object","properties":{"m":{"type":"object","additionalProperties":{"type":"boolean"}}}}`,
			`{"m":{"a":"True"}}`, `{"m": {"a": true}}`,
		},
		"beside named ones": {
			`{"type":"object","properties":{"city":{"type":"string"}},"additionalProperties":{"type":"integer"}}`,
			`{"city":"Bern","citi":"3"}`, `{"city": "Bern", "citi": 3}`,
		},
		"by a pattern": {
			`{"type":"object","patternProperties":{"^x-":{"type":"integer"}},"additionalProperties":false}`,
			`{"x-a":"3"}`, `{"x-a": 3}`,
		},
		"a pattern is no mistake": {
			`{"type":"object","properties":{"n":{"type":"integer"}},"patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false}`,
			`{"n":"3","x-a":"b"}`, `{"n": 3, "x-a": "b"}`,
		},
		"what no pattern takes": {
			`{"type":"object","patternProperties":{"^x-":{"type":"integer"}},"additionalProperties":false}`,
			`{"x-a":3,"other":1}`, `{"x-a": 3}`,
		},
		"by an anchor": {
			`{"type":"object","properties":{"n":{"$ref":"#n"}},"$defs":{"N":{"$anchor":"n","type":"integer"}}}`,
			`{"n":"3"}`, `{"n": 3}`,
		},
		"by a dynamic reference": {
			`{"$dynamicAnchor":"node","type":"object","properties":{"n":{"type":"integer"},"next":{"$dynamicRef":"#node"}}}`,
			`{"next":{"n":"3"}}`, `{"next": {"n": 3}}`,
		},
		"by a pointer elsewhere": {
			`{"type":"object","properties":{"a":{"type":"integer"},"b":{"$ref":"#/properties/a"}}}`,
			`{"b":"3"}`, `{"b": 3}`,
		},
		"the whole by a reference": {
			`{"$ref":"#/$defs/A","$defs":{"A":{"type":"object","properties":{"n":{"type":"integer"}}}}}`,
			`{"n":"3"}`, `{"n": 3}`,
		},
	} {
		f := NewFixer([]chat.Tool{{Name: "f", InputSchema: json.RawMessage(x.schema)}})
		if got := f.Fix(call("f", x.in)).Message.ToolCalls[0].Arguments; got != x.want {
			t.Errorf("%s: %s, want %s", name, got, x.want)
		}
	}
}
