package toolcall

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/chat"
	"hone/internal/text/toolcall/repair"
)

// maxSchemaDepth bounds how deep references and alternatives of a schema are followed.
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
	Then       json.RawMessage            `json:"then"`
	Else       json.RawMessage            `json:"else"`
	ID         string                     `json:"$id"`
	Ref        string                     `json:"$ref"`
	Properties map[string]json.RawMessage `json:"properties"`
	Additional json.RawMessage            `json:"additionalProperties"`
	Required   json.RawMessage            `json:"required"`
	Items      json.RawMessage            `json:"items"`
	Prefix     json.RawMessage            `json:"prefixItems"`
}

// read reads a schema; ok is false where it is no object. A keyword of another shape, as PHP writes [] for an object,
// says nothing, and the others hold.
func (n *node) read(schema []byte) (ok bool) {
	err := json.Unmarshal(schema, n)
	wrong, is := errors.AsType[*json.UnmarshalTypeError](err)
	return err == nil || is && wrong.Field != ""
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
				newWalk(x.InputSchema).parameters(x.InputSchema, maxSchemaDepth, parameters)
			}
		}
		t.known[tool] = parameters
	}
	return parameters
}

// walk goes over a part of a schema and what it refers to, each reference once.
type walk struct {
	root     []byte // the whole schema
	followed map[string]bool
}

func newWalk(root []byte) *walk { return &walk{root, map[string]bool{}} }

// parameters collects the types of the parameters that a schema names, itself or in its parts and alternatives.
func (w *walk) parameters(schema []byte, depth int, out map[string][]string) {
	var n node
	if depth == 0 || !n.read(schema) {
		return
	}
	for name, property := range n.Properties {
		out[name] = append(out[name], newWalk(w.root).types(property, maxSchemaDepth)...)
	}
	for _, part := range slices.Concat(n.AllOf, n.AnyOf, n.OneOf, []json.RawMessage{n.Then, n.Else, w.refer(n.Ref)}) {
		w.parameters(part, depth-1, out)
	}
}

// refer is what a reference within the schema names, nil where that is nothing, or was followed before.
func (w *walk) refer(ref string) json.RawMessage {
	base, fragment, found := strings.Cut(ref, "#")
	pointer, err := url.PathUnescape(fragment)
	if w.followed[ref] || !found || err != nil {
		return nil
	}
	w.followed[ref] = true
	if base != "" {
		var n node
		if !n.read(w.root) || n.ID != base {
			return nil
		}
	}
	at := json.RawMessage(w.root)
	for token := range jsontext.Pointer(pointer).Tokens() {
		var object map[string]json.RawMessage
		var list []json.RawMessage
		if json.Unmarshal(at, &object) == nil {
			at = object[token]
		} else if i, err := strconv.Atoi(token); err == nil && json.Unmarshal(at, &list) == nil && i >= 0 &&
			i < len(list) {
			at = list[i]
		} else {
			return nil
		}
	}
	return at
}

// types collects the types that a schema allows, through alternatives and references.
func (w *walk) types(schema []byte, depth int) (out []string) {
	var n node
	if depth == 0 || !n.read(schema) {
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
	for _, part := range slices.Concat(n.AnyOf, n.OneOf, n.AllOf, []json.RawMessage{w.refer(n.Ref)}) {
		out = append(out, w.types(part, depth-1)...)
	}
	if len(out) == 0 {
		out = n.inferType()
	}
	return out
}

// inferType is the type of a schema that names none, by the words that say something of one type alone.
func (n *node) inferType() []string {
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
// Vendors' templates write a value that is no text as Python prints it, and so do the models that learnt from them.
// What Python prints is read always where the schema has a type for it; its lists and dictionaries under an unknown
// type only where JSON is mended.
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
			if literal, ok := pythonLiteral(want, string(value)); ok {
				c.repairs = append(c.repairs, repair.PythonLiteral)
				return literal
			}
			if mended, kinds, ok := t.repairValue(want, string(value)); ok {
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

// repairValue makes a number, an object or an array of a text that almost is one: a number as Python writes it, the
// others as package repair can.
func (t *types) repairValue(want, text string) (string, []repair.Kind, bool) {
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

// pythonLiteral reads a value of a type as Python prints it, where JSON writes it otherwise.
func pythonLiteral(want, text string) (string, bool) {
	switch {
	case want == "null" && text == "None":
		return "null", true
	case want == "boolean" && (text == "True" || text == "False"):
		return strings.ToLower(text), true
	case want == "object" || want == "array":
		value, ok := pythonComposite([]byte(text))
		return value, ok && fits(want, jsontext.Value(value))
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
