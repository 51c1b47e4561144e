package toolcall

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/chat"
	"hone/internal/text/toolcall/repair"
)

// maxSchemaDepth bounds references and alternatives in a schema.
const maxSchemaDepth = 16

// types knows which JSON types the tools allow for each of their parameters.
type types struct {
	tools []chat.Tool
	known map[string]map[string][]string // tool, parameter; filled when a tool is first called
}

// node is the part of a JSON Schema that types need.
type node struct {
	Type       json.RawMessage            `json:"type"`
	Enum       []json.RawMessage          `json:"enum"`
	Const      json.RawMessage            `json:"const"`
	AnyOf      []json.RawMessage          `json:"anyOf"`
	OneOf      []json.RawMessage          `json:"oneOf"`
	AllOf      []json.RawMessage          `json:"allOf"`
	Ref        string                     `json:"$ref"`
	Defs       map[string]json.RawMessage `json:"$defs"`
	Defined    map[string]json.RawMessage `json:"definitions"`
	Properties map[string]json.RawMessage `json:"properties"`
}

// of returns the types of a parameter; none where the schema does not tell.
func (t *types) of(tool, parameter string) []string {
	if t.known == nil {
		t.known = map[string]map[string][]string{}
	}
	parameters, ok := t.known[tool]
	if !ok {
		parameters = map[string][]string{}
		for _, x := range t.tools {
			if x.Name == tool {
				readTypes(x.InputSchema, parameters)
			}
		}
		t.known[tool] = parameters
	}
	return parameters[parameter]
}

func readTypes(schema []byte, out map[string][]string) {
	var root node
	if json.Unmarshal(schema, &root) != nil {
		return
	}
	for name, property := range root.Properties {
		out[name] = root.types(property, maxSchemaDepth)
	}
}

// types collects the types that a schema allows, through alternatives and local references.
func (root *node) types(schema []byte, depth int) (out []string) {
	var n node
	if depth == 0 || json.Unmarshal(schema, &n) != nil {
		return nil
	}
	var one string
	if json.Unmarshal(n.Type, &one) == nil {
		out = append(out, one)
	} else if json.Unmarshal(n.Type, &out) != nil {
		out = nil
	}
	if len(out) > 0 {
		return out
	}
	for _, value := range append(n.Enum, n.Const) {
		out = append(out, typeOf(value)...)
	}
	for _, alternatives := range [][]json.RawMessage{n.AnyOf, n.OneOf, n.AllOf} {
		for _, a := range alternatives {
			out = append(out, root.types(a, depth-1)...)
		}
	}
	if name, ok := strings.CutPrefix(n.Ref, "#/$defs/"); ok {
		out = append(out, root.types(root.Defs[name], depth-1)...)
	}
	if name, ok := strings.CutPrefix(n.Ref, "#/definitions/"); ok {
		out = append(out, root.types(root.Defined[name], depth-1)...)
	}
	return out
}

func typeOf(value []byte) []string {
	if len(value) == 0 {
		return nil
	}
	switch jsontext.Value(value).Kind() {
	case 'n':
		return []string{"null"}
	case 't', 'f':
		return []string{"boolean"}
	case '"':
		return []string{"string"}
	case '{':
		return []string{"object"}
	case '[':
		return []string{"array"}
	}
	return []string{"number"}
}

// typedValue makes JSON of the text of an argument. marked is what the wire itself says: "true" for a text, "false" for
// JSON, "" where it says nothing and the tool's schema decides, in the order in which vLLM tries the types: null,
// integer, number, boolean, object, array, string. Where no type fits or none is known, the text is JSON if it is
// valid JSON, else a string. The text of numbers is kept, and infinite ones are strings.
func (t *types) typedValue(tool, parameter, text, marked string, c *call) string {
	if marked == "true" {
		return quote(text)
	}
	types := t.of(tool, parameter)
	value := jsontext.Value(strings.TrimSpace(text))
	valid := value.IsValid() && finite(value)
	if marked == "" {
		for _, want := range []string{"null", "integer", "number", "boolean", "object", "array"} {
			if !slices.Contains(types, want) {
				continue
			}
			if valid && fits(want, value) {
				return string(value)
			}
			if word, ok := pythonWord(want, string(value)); ok && !slices.Contains(types, "string") {
				c.repairs = append(c.repairs, repair.PythonLiteral)
				return word
			}
		}
		if slices.Contains(types, "string") {
			return quote(text)
		}
	}
	if valid {
		return string(value)
	}
	return quote(text)
}

func fits(want string, value jsontext.Value) bool {
	switch kind := value.Kind(); want {
	case "null":
		return kind == 'n'
	case "integer":
		return kind == '0' && !bytes.ContainsAny(value, ".eE")
	case "number":
		return kind == '0'
	case "boolean":
		return kind == 't' || kind == 'f'
	case "object":
		return kind == '{'
	default:
		return kind == '['
	}
}

// pythonWord understands Python's spelling of a literal.
func pythonWord(want, text string) (string, bool) {
	switch {
	case want == "null" && text == "None":
		return "null", true
	case want == "boolean" && (text == "True" || text == "False"):
		return strings.ToLower(text), true
	}
	return "", false
}

// finite reports whether every number in a valid JSON value is one for a float64 reader.
func finite(value jsontext.Value) bool {
	if kind := value.Kind(); kind == '"' || kind == 'n' || kind == 't' || kind == 'f' {
		return true
	}
	dec := jsontext.NewDecoder(bytes.NewReader(value))
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return true
		}
		if token.Kind() == '0' {
			if x, err := strconv.ParseFloat(token.String(), 64); err != nil && math.IsInf(x, 0) {
				return false
			}
		}
	}
}
