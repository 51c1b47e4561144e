package toolcall

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"hone/internal/chat"
)

func TestTyped(t *testing.T) {
	schema := `{"properties": {
		"s": {"type": "string"}, "i": {"type": "integer"}, "n": {"type": "number"}, "b": {"type": "boolean"}, "a": {"type": "array"}, "o": {"type": "object"},
		"null": {"type": "null"}, "si": {"type": ["string", "integer"]}, "sn": {"anyOf": [{"type": "string"}, {"type": "null"}]},
		"in": {"oneOf": [{"type": "integer"}, {"type": "null"}]}, "bn": {"allOf": [{"type": ["boolean", "null"]}]},
		"e": {"enum": ["x", "7"]}, "en": {"enum": [1, 2]}, "ea": {"enum": [null, true, [1], {"k": 2}]}, "c": {"const": "5"}, "se": {"type": "string", "enum": [7]},
		"r": {"$ref": "#/$defs/S"}, "d": {"$ref": "#/definitions/I"}, "loop": {"$ref": "#/$defs/L"}, "nowhere": {"$ref": "#/$defs/N"}, "round": {"$ref": "#/$defs/R"}, "any": {}, "odd": {"type": 7}, "yes": true
	}, "$defs": {"S": {"type": "string"}, "R": {"$ref": "#/$defs/R"}, "L": {"anyOf": [{"$ref": "#/$defs/L"}, {"$ref": "#/$defs/S"}]}}, "definitions": {"I": {"$ref": "#/$defs/S"}}}`
	tools := []chat.Tool{
		{Name: "f", InputSchema: json.RawMessage(schema)},
		{Name: "broken", InputSchema: json.RawMessage(`{"properties": 7}`)},
		{Name: "bare"},
	}
	python := []Repair{PythonLiteral}
	for _, c := range []struct {
		tool, parameter, text, want string
		repairs                     []Repair
	}{
		{"f", "s", "7", `"7"`, nil}, {"f", "s", "null", `"null"`, nil}, {"f", "s", "True", `"True"`, nil},
		{"f", "s", ` {"a": 1}`, `" {\"a\": 1}"`, nil}, {"f", "s", "", `""`, nil}, {"f", "i", "7", "7", nil},
		{"f", "i", " -7\n", "-7", nil}, {"f", "i", "7.0", "7.0", nil}, {"f", "i", "seven", `"seven"`, nil},
		{"f", "i", "007", `"007"`, nil}, {"f", "i", "99999999999999999999", "99999999999999999999", nil},
		{"f", "n", "1.50", "1.50", nil}, {"f", "n", "1e5", "1e5", nil}, {"f", "n", "1e999", `"1e999"`, nil},
		{"f", "n", "NaN", `"NaN"`, nil}, {"f", "n", "-1e999", `"-1e999"`, nil}, {"f", "b", "true", "true", nil},
		{"f", "b", "True", "true", python}, {"f", "b", "False", "false", python}, {"f", "b", "1", "1", nil},
		{"f", "b", "yes", `"yes"`, nil}, {"f", "a", "[1, 2]", "[1, 2]", nil},
		{"f", "a", "[1, 1e999]", `"[1, 1e999]"`, nil}, {"f", "a", "[\n1\n]", "[\n1\n]", nil},
		{"f", "a", "x", `"x"`, nil}, {"f", "a", `{"a": 1}`, `{"a": 1}`, nil}, {"f", "o", `{"a": 1}`, `{"a": 1}`, nil},
		{"f", "o", `{"a": 1, "a": 2}`, `"{\"a\": 1, \"a\": 2}"`, nil}, {"f", "null", "None", "null", python},
		{"f", "null", "null", "null", nil}, {"f", "si", "7", "7", nil}, {"f", "si", "x", `"x"`, nil},
		{"f", "sn", "null", "null", nil}, {"f", "sn", "None", `"None"`, nil}, {"f", "sn", "7", `"7"`, nil},
		{"f", "in", "None", "null", python}, {"f", "in", "5", "5", nil}, {"f", "bn", "False", "false", python},
		{"f", "bn", "null", "null", nil}, {"f", "e", "7", `"7"`, nil}, {"f", "en", "2", "2", nil},
		{"f", "ea", "true", "true", nil}, {"f", "ea", "[1]", "[1]", nil}, {"f", "ea", `{"k": 2}`, `{"k": 2}`, nil},
		{"f", "c", "5", `"5"`, nil}, {"f", "se", "7", `"7"`, nil}, {"f", "r", "7", `"7"`, nil},
		{"f", "d", "7", `"7"`, nil}, {"f", "loop", "7", `"7"`, nil}, {"f", "nowhere", "7", "7", nil},
		{"f", "round", "7", "7", nil}, {"f", "any", "7", "7", nil}, {"f", "any", "x y", `"x y"`, nil},
		{"f", "any", `"x"`, `"x"`, nil}, {"f", "odd", "7", "7", nil}, {"f", "yes", "7", "7", nil},
		{"f", "unknown", "true", "true", nil}, {"broken", "x", "7", "7", nil},
		{"bare", "x", "7", "7", nil},
		{"unknown", "x", "7", "7", nil},
	} {
		types := &types{tools: tools}
		var got call
		if value := types.typedValue(c.tool, c.parameter, c.text, "", &got); value != c.want ||
			!reflect.DeepEqual(got.repairs, c.repairs) {
			t.Errorf("%s.%s %q: got %s %q, want %s %q",
				c.tool, c.parameter, c.text, value, got.repairs, c.want, c.repairs)
		}
	}
	types := &types{tools: tools}
	for marked, want := range map[string]string{"true": `"7"`, "false": "7", "": `"7"`} {
		if got := types.typedValue("f", "s", "7", marked, &call{}); got != want {
			t.Errorf("marked %q: got %s, want %s", marked, got, want)
		}
	}
}

// Parameters are typed wherever a schema names them, and whatever form a reference within it has.
func TestParametersInPartsOfASchema(t *testing.T) {
	for _, schema := range []string{
		`{"type": "object", "allOf": [{"properties": {"x": {"type": "string"}}}]}`,
		`{"type": "object", "anyOf": [{"properties": {"y": {"type": "integer"}}}, {"properties": {"x": {"type": "string"}}}]}`,
		`{"oneOf": [{"allOf": [{"properties": {"x": {"type": "string"}}}]}]}`,
		`{"if": {"required": ["y"]}, "then": {"properties": {"x": {"type": "string"}}}}`,
		`{"if": {"required": ["y"]}, "else": {"properties": {"x": {"type": "string"}}}}`,
		`{"$ref": "#/$defs/Input", "$defs": {"Input": {"properties": {"x": {"type": "string"}}}}}`,
		`{"properties": {"y": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "x": {"$ref": "#/properties/y/anyOf/0"}}}`,
		`{"properties": {"x": {"$ref": "#/$defs/a~1b"}}, "$defs": {"a/b": {"type": "string"}}}`,
		`{"properties": {"x": {"$ref": "#/$defs/a%20b"}}, "$defs": {"a b": {"type": "string"}}}`,
		`{"$id": "https://example.com/s.json", "properties": {"x": {"$ref": "https://example.com/s.json#/$defs/A"}}, "$defs": {"A": {"type": "string"}}}`,
		`{"properties": {"x": {"$ref": "#/components/schemas/A"}}, "components": {"schemas": {"A": {"type": "string"}}}}`,
		`{"properties": {"x": {"$ref": "#here"}}, "$defs": {"A": {"$anchor": "here", "type": "string"}}}`,
		`{"properties": {"x": {"$dynamicRef": "#here"}}, "$defs": {"A": {"$dynamicAnchor": "here", "type": "string"}}}`,
		`{"properties": {"x": {"$ref": "#here"}}, "definitions": {"A": {"$id": "#here", "type": "string"}}}`,
		`{"$id": "https://example.com/s.json", "properties": {"x": {"$ref": "a.json"}}, "$defs": {"A": {"$id": "a.json", "type": "string"}}}`,
		`{"properties": {"x": {"$ref": "a.json#/$defs/B"}}, "$defs": {"A": {"$id": "a.json", "$defs": {"B": {"type": "string"}}}}}`,
		`{"$recursiveAnchor": true, "properties": {"x": {"$recursiveRef": "#/$defs/A"}}, "$defs": {"A": {"type": "string"}}}`,
		`{"additionalProperties": {"type": "string"}}`,
		`{"properties": {"y": {"type": "integer"}}, "additionalProperties": {"type": "string"}}`,
		`{"properties": {"y": {"type": "integer"}}, "unevaluatedProperties": {"$ref": "#/$defs/A"}, "$defs": {"A": {"type": "string"}}}`,
		`{"patternProperties": {"^y": {"type": "integer"}, "^(?=x)": {"type": "string"}}}`,
		`{"patternProperties": {"^x$": {"type": "string"}}, "additionalProperties": {"type": "integer"}}`,
		`{"allOf": [{"properties": {"y": {}}, "additionalProperties": {"$ref": "#here"}}], "$defs": {"A": {"$anchor": "here", "type": "string"}}}`,
		`{"properties": {"x": {"pattern": "^\\d$"}}}`, `{"properties": {"x": {"minLength": 1}}}`,
		// followed each time, it would not end
		`{"properties": {"x": {"type": "string"}}, "anyOf": [` + strings.Repeat(`{"$ref": "#"},`, 40) + `{}]}`,
	} {
		types := &types{tools: []chat.Tool{{Name: "f", InputSchema: json.RawMessage(schema)}}}
		if got := types.typedValue("f", "x", "7", "", &call{}); got != `"7"` {
			t.Errorf("%s: got %s", schema, got)
		}
	}
	for _, schema := range []string{
		`{"properties": {"x": {"$ref": "#/nowhere/0"}}}`,
		`{"properties": {"x": {"$ref": "other.json#/$defs/A"}}, "$defs": {"A": {"type": "string"}}}`,
		`{"properties": {"x": {"$ref": "#nowhere"}}, "$defs": {"A": {"$anchor": "here", "type": "string"}}}`,
		`{"properties": {"x": {"$ref": "#here"}}, "default": {"$anchor": "here", "type": "string"}}`,
		`{"additionalProperties": true}`, `{"patternProperties": {"^y": {"type": "string"}}}`,
		`{"properties": {"x": {"minimum": 1}}}`, `{"patternProperties": {"(": {"type": "string"}}}`,
		`{"properties": {"x": {"$ref": "#%zz"}}}`, `{"properties": {"x": {"$ref": "#/allOf/7"}}, "allOf": []}`,
	} {
		types := &types{tools: []chat.Tool{{Name: "f", InputSchema: json.RawMessage(schema)}}}
		if got := types.typedValue("f", "x", "7", "", &call{}); got != "7" {
			t.Errorf("%s: got %s, and nothing says that it is a text", schema, got)
		}
	}
}

// Python's values are read under names that no schema names, as under others.
func TestPythonValuesOfOpenObjects(t *testing.T) {
	for schema, want := range map[string]string{
		`{"additionalProperties": {"type": "object"}}`:                                                            `{"a":true}`,
		`{"patternProperties": {"^x": {"additionalProperties": {"type": "boolean"}}}}`:                            `{"a":true}`,
		`{"patternProperties": {"^x": {"patternProperties": {"a": {}}}}}`:                                         `{"a":true}`,
		`{"properties": {"x": {"$dynamicRef": "#o"}}, "$defs": {"o": {"$dynamicAnchor": "o", "type": "object"}}}`: `{"a":true}`,
		`{"additionalProperties": {"type": "string"}}`:                                                            `"{'a': True}"`,
	} {
		types := &types{tools: []chat.Tool{{Name: "f", InputSchema: json.RawMessage(schema)}}}
		got := types.typedValue("f", "x", "{'a': True}", "", &call{})
		if strings.ReplaceAll(got, ": ", ":") != strings.ReplaceAll(want, ": ", ":") {
			t.Errorf("%s: %s, want %s", schema, got, want)
		}
	}
}

// A parameter that the schema speaks of without a name is none that is foreign to the tool.
func TestForeignParameters(t *testing.T) {
	for schema, want := range map[string]bool{
		`{"properties": {"y": {}}}`:                                                                 true,
		`{"properties": {"y": {}}, "additionalProperties": false}`:                                  true,
		`{"properties": {"y": {}}, "additionalProperties": {"type": "string"}}`:                     false,
		`{"properties": {"y": {}}, "additionalProperties": {}}`:                                     false,
		`{"properties": {"y": {}}, "patternProperties": {"^x": true}}`:                              false,
		`{"properties": {"y": {}}, "patternProperties": {"^z": {}}, "additionalProperties": false}`: true,
		`{}`: false,
	} {
		types := &types{tools: []chat.Tool{{Name: "f", InputSchema: json.RawMessage(schema)}}}
		if got := types.foreign("f", "x"); got != want {
			t.Errorf("%s: %v, want %v", schema, got, want)
		}
	}
}

// A keyword of a shape that it cannot have takes nothing from the others.
func TestKeywordsOfAnotherShape(t *testing.T) {
	for schema, want := range map[string]string{
		`{"properties":{"zip":{"type":"string","properties":[]}}}`:                  `"10115"`,
		`{"properties":{"zip":{"type":"string","enum":{"a":1}}}}`:                   `"10115"`,
		`{"properties":{"zip":{"type":"string"}},"allOf":{}}`:                       `"10115"`,
		`{"properties":{"zip":{"type":"string"}},"$id":7,"required":"zip"}`:         `"10115"`,
		`{"properties":{"zip":{"type":"integer","anyOf":"x"}},"oneOf":[{"a":1},5]}`: "10115",
		`[]`:   "10115",
		`"x"`:  "10115",
		`null`: "10115",
	} {
		types := &types{tools: []chat.Tool{{Name: "f", InputSchema: []byte(schema)}}}
		if got := types.typedValue("f", "zip", "10115", "", &call{}); got != want {
			t.Errorf("%s: %s, want %s", schema, got, want)
		}
	}
}
