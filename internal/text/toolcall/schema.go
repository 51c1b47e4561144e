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
	mend  bool                           // Options.Repair
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
	Additional json.RawMessage            `json:"additionalProperties"`
	Required   json.RawMessage            `json:"required"`
	Items      json.RawMessage            `json:"items"`
	Prefix     json.RawMessage            `json:"prefixItems"`
}

// of returns the types of a parameter; none where the schema does not tell.
func (t *types) of(tool, parameter string) []string { return t.parameters(tool)[parameter] }

// foreign reports whether the tool has parameters, and none of this name.
func (t *types) foreign(tool, parameter string) bool {
	all := t.parameters(tool)
	_, has := all[parameter]
	return len(all) > 0 && !has
}

// parameters are the types of each parameter of a tool.
func (t *types) parameters(tool string) map[string][]string {
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
	return parameters
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
	if len(out) == 0 {
		out = n.meant()
	}
	return out
}

// meant is the type of a schema that names none, by the words that say something of one type alone.
func (n *node) meant() []string {
	switch {
	case n.Properties != nil || n.Additional != nil || n.Required != nil:
		return []string{"object"}
	case n.Items != nil || n.Prefix != nil:
		return []string{"array"}
	}
	return nil
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
//
// Vendors' templates write a value that is no text as Python prints it, and so do the models that learnt from them:
// Python's words are read always, its lists and dictionaries where JSON is mended.
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
			if slices.Contains(types, "string") {
				continue
			}
			if word, ok := pythonWord(want, string(value)); ok {
				c.repairs = append(c.repairs, repair.PythonLiteral)
				return word
			}
			if mended, kinds, ok := t.mended(want, string(value)); ok {
				c.repairs = append(c.repairs, kinds...)
				return mended
			}
		}
		if slices.Contains(types, "string") {
			return quote(text)
		}
	}
	if valid {
		return string(value)
	}
	if t.mend && (len(types) == 0 || marked == "false") && len(value) > 0 && value[0] != '(' {
		if python, ok := pythonComposite(value); ok {
			c.repairs = append(c.repairs, repair.PythonLiteral)
			return python
		}
	}
	return quote(text)
}

// mended makes a number, an object or an array of a text that almost is one: as Python writes it, else as package repair can.
func (t *types) mended(want, text string) (string, []repair.Kind, bool) {
	if !t.mend || text == "" {
		return "", nil, false
	}
	switch want {
	case "integer", "number":
		number, err := pythonNumber(text)
		return number, []repair.Kind{repair.NumberForm}, err == nil && fits(want, jsontext.Value(number))
	case "null", "boolean":
		return "", nil, false
	}
	if python, ok := pythonComposite([]byte(text)); ok && fits(want, jsontext.Value(python)) {
		return python, []repair.Kind{repair.PythonLiteral}, true
	}
	if text[0] != '{' && text[0] != '[' {
		return "", nil, false
	}
	if want == "object" {
		object, kinds, err := repair.Object(text)
		return object, kinds, err == nil
	}
	object, kinds, err := repair.Object(`{"list": ` + text + "}")
	if err != nil {
		return "", nil, false
	}
	all, err := members(object)
	if err != nil || len(all) != 1 || all[0].value.Kind() != '[' {
		return "", nil, false
	}
	return string(all[0].value), kinds, true
}

// pythonComposite reads a list, a tuple or a dictionary as Python prints it, and nothing beside it.
func pythonComposite(text []byte) (string, bool) {
	r := pythonReader{cursor: cursor{text: text}}
	if c := r.peek(); c != '{' && c != '[' && c != '(' {
		return "", false
	}
	value, err := r.value()
	if err != nil || r.peek() != 0 || !jsontext.Value(value).IsValid() {
		return "", false
	}
	kind := jsontext.Value(value).Kind()
	return value, kind == '{' || kind == '['
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
