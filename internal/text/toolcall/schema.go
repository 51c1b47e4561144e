package toolcall

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/chat"
	"hone/internal/chat/schema"
)

// maxSchemaDepth bounds how deep references and alternatives of a schema are followed.
const maxSchemaDepth = 16

// types knows which JSON types the tools allow for each of their parameters.
type types struct {
	tools []chat.Tool
	mend  bool                      // Options.Repair
	known map[string]*argumentTypes // by tool; filled when one is first called
}

// argumentTypes are the types of a tool's parameters: of each that its schema names, and the parts of the schema that
// speak of others, by a pattern of their name or of all of them.
type argumentTypes struct {
	document *schema.Document
	named    map[string][]string
	open     []*chat.Object
	others   map[string][]string // of names that were asked for
}

// of returns the types of a parameter; none where the schema does not tell.
func (t *types) of(tool, parameter string) []string {
	p := t.parameters(tool)
	if all, named := p.named[parameter]; named {
		return all
	}
	return p.typesOfOther(parameter)
}

// foreign reports whether the tool has parameters, and none of this name.
func (t *types) foreign(tool, parameter string) bool {
	p := t.parameters(tool)
	_, has := p.named[parameter]
	return len(p.named) > 0 && !has && p.typesOfOther(parameter) == nil
}

// typesOfOther are the types of a parameter that the schema does not name; nil where it does not speak of it.
func (p *argumentTypes) typesOfOther(name string) []string {
	all, known := p.others[name]
	if known || len(p.open) == 0 {
		return all
	}
	for _, part := range p.open {
		members, speaks := schema.Members(part, name)
		if speaks {
			all = append([]string{}, all...)
		}
		for _, member := range members {
			all = append(all, newWalk(p.document).types(member, maxSchemaDepth)...)
		}
	}
	p.others[name] = all
	return all
}

// parameters are those of a tool.
func (t *types) parameters(tool string) *argumentTypes {
	if t.known == nil {
		t.known = map[string]*argumentTypes{}
	}
	p, ok := t.known[tool]
	if !ok {
		p = &argumentTypes{named: map[string][]string{}, others: map[string][]string{}}
		for _, x := range t.tools {
			if x.Name == tool {
				p.document = schema.ReadDocument(x.InputSchema)
				newWalk(p.document).parameters(p.document.Root, maxSchemaDepth, p)
			}
		}
		t.known[tool] = p
	}
	return p
}

// walk goes over a part of a schema and what it refers to, each reference once.
type walk struct {
	document *schema.Document
	followed map[string]bool
}

func newWalk(document *schema.Document) *walk { return &walk{document, map[string]bool{}} }

// parameters collects the types of the parameters that a schema names, itself or in its parts and alternatives. A
// keyword of another shape, as PHP writes [] for an object, says nothing, and the others hold.
func (w *walk) parameters(part chat.Value, depth int, out *argumentTypes) {
	o, ok := part.(*chat.Object)
	if depth == 0 || !ok {
		return
	}
	if properties := objectAt(o, "properties"); properties != nil {
		for i := range properties.Len() {
			name, property := properties.At(i)
			out.named[name] = append(out.named[name], newWalk(w.document).types(property, maxSchemaDepth)...)
		}
	}
	for _, key := range []string{"patternProperties", "additionalProperties", "unevaluatedProperties"} {
		if objectAt(o, key) != nil {
			out.open = append(out.open, o)
			break
		}
	}
	for _, part := range w.parts(o, "allOf", "anyOf", "oneOf", "then", "else") {
		w.parameters(part, depth-1, out)
	}
}

// parts are the schemas under keywords of one, and what it refers to, unless that was followed before.
func (w *walk) parts(o *chat.Object, keys ...string) (all []chat.Value) {
	for _, key := range keys {
		v, _ := o.Get(key)
		if list, ok := v.([]chat.Value); ok {
			all = append(all, list...)
		} else {
			all = append(all, v)
		}
	}
	for _, key := range schema.References() {
		v, _ := o.Get(key)
		if ref, ok := v.(string); ok && !w.followed[ref] {
			w.followed[ref] = true
			to, _ := w.document.At(ref)
			all = append(all, to)
		}
	}
	return all
}

func objectAt(o *chat.Object, key string) *chat.Object {
	v, _ := o.Get(key)
	below, _ := v.(*chat.Object)
	return below
}

// types collects the types that a schema allows, through alternatives and references.
func (w *walk) types(part chat.Value, depth int) (out []string) {
	o, ok := part.(*chat.Object)
	if depth == 0 || !ok {
		return nil
	}
	switch v, _ := o.Get("type"); v := v.(type) {
	case string:
		return []string{v}
	case []chat.Value:
		for _, one := range v {
			if name, ok := one.(string); ok {
				out = append(out, name)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	values, _ := o.Get("enum")
	list, _ := values.([]chat.Value)
	if one, ok := o.Get("const"); ok {
		list = append(slices.Clone(list), one)
	}
	for _, value := range list {
		out = append(out, typeOf(value))
	}
	for _, part := range w.parts(o, "anyOf", "oneOf", "allOf") {
		out = append(out, w.types(part, depth-1)...)
	}
	if len(out) == 0 {
		out = inferType(o)
	}
	return out
}

// inferType is the type of a schema that names none, by the words that say something of one type alone.
func inferType(o *chat.Object) []string {
	for _, of := range []struct {
		kind string
		keys []string
	}{
		{"object", []string{"properties", "patternProperties", "additionalProperties", "unevaluatedProperties",
			"propertyNames", "required", "minProperties", "maxProperties", "dependentRequired", "dependentSchemas"}},
		{"array", []string{"items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems",
			"unevaluatedItems"}},
		{"string", []string{"pattern", "minLength", "maxLength", "contentEncoding", "contentMediaType"}},
		{"number", []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}},
	} {
		if slices.ContainsFunc(of.keys, func(key string) bool { _, there := o.Get(key); return there }) {
			return []string{of.kind}
		}
	}
	return nil
}

func typeOf(value chat.Value) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case *chat.Object:
		return "object"
	case []chat.Value:
		return "array"
	}
	return "number"
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
				c.repairs = append(c.repairs, PythonLiteral)
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
			c.repairs = append(c.repairs, PythonLiteral)
			return python
		}
	}
	return quote(text)
}

// repairValue makes a number, an object or an array of a text that almost is one: a number as Python writes it, the
// others as RepairObject can.
func (t *types) repairValue(want, text string) (string, []Repair, bool) {
	if !t.mend || text == "" {
		return "", nil, false
	}
	switch want {
	case "integer", "number":
		number, err := pythonNumber(text)
		return number, []Repair{NumberForm}, err == nil && fits(want, jsontext.Value(number))
	case "null", "boolean":
		return "", nil, false
	}
	if text[0] != '{' && text[0] != '[' {
		return "", nil, false
	}
	if want == "object" {
		object, kinds, err := RepairObject(text)
		return object, kinds, err == nil
	}
	object, kinds, err := RepairObject(`{"list": ` + text + "}")
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
