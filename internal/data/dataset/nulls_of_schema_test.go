package dataset

import (
	"testing"

	"hone/internal/chat"
)

// A null stays where the schema lets it be one, however it speaks of the member.
func TestNullsThatASchemaAllows(t *testing.T) {
	for schema, want := range map[string]string{
		`{}`: `{"b": 1}`,
		`{"properties":{"a":{"type":["string","null"]}}}`:                                              `{"a": null, "b": 1}`,
		`{"additionalProperties":{"type":["integer","null"]}}`:                                         `{"a": null, "b": 1}`,
		`{"additionalProperties":{"type":"integer"}}`:                                                  `{"b": 1}`,
		`{"patternProperties":{"^a$":{"anyOf":[{"type":"null"},{"type":"integer"}]}}}`:                 `{"a": null, "b": 1}`,
		`{"patternProperties":{"^b$":{"type":"null"}}}`:                                                `{"b": 1}`,
		`{"properties":{"a":{"$ref":"#n"}},"$defs":{"N":{"$anchor":"n","type":"null"}}}`:               `{"a": null, "b": 1}`,
		`{"properties":{"a":{"anyOf":[{"$ref":"#/$defs/N"}]}},"$defs":{"N":{"type":"null"}}}`:          `{"a": null, "b": 1}`,
		`{"$ref":"#/$defs/A","$defs":{"A":{"properties":{"a":{"nullable":true}}}}}`:                    `{"a": null, "b": 1}`,
		`{"properties":{"a":{"$dynamicRef":"#n"}},"$defs":{"N":{"$dynamicAnchor":"n","enum":[null]}}}`: `{"a": null, "b": 1}`,
		`{"properties":{"a":{"$ref":"#/properties/a"}}}`:                                               `{"b": 1}`,
	} {
		tools := []chat.Tool{{Name: "f", InputSchema: []byte(schema)}}
		if got := string(withoutFilling([]byte(`{"a": null, "b": 1}`), argumentsSchema(tools, "f"))); got != want {
			t.Errorf("%s: %s, want %s", schema, got, want)
		}
	}
	if got := string(withoutFilling([]byte(`{"a": null}`), argumentsSchema(nil, "f"))); got != "{}" {
		t.Errorf("of an unknown tool: %s", got)
	}
}
