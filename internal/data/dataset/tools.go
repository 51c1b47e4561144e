package dataset

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/chat"
)

// toolsOf reads a list of tools, or a string of one: as OpenAI has them, bare with parameters, or as MCP has them.
func toolsOf(v jsontext.Value) ([]chat.Tool, error) { return listOf(v, badTools, toolOf) }

func toolOf(v jsontext.Value) (chat.Tool, error) {
	v, err := unwrap(v)
	if err != nil {
		return chat.Tool{}, err
	}
	type bare struct {
		Name        jsontext.Value `json:"name"`
		Description jsontext.Value `json:"description"`
		Parameters  jsontext.Value `json:"parameters"`
		InputSchema jsontext.Value `json:"inputSchema"`
		Input       jsontext.Value `json:"input_schema"`
	}
	var w struct {
		Function jsontext.Value `json:"function"`
		bare
	}
	if v.Kind() != '{' || decode(v, &w) != nil {
		return chat.Tool{}, refuse(badTools, "%.60q", string(v))
	}
	f := w.bare
	if w.Function.Kind() == '{' {
		if err := decode(w.Function, &f); err != nil {
			return chat.Tool{}, refuse(badTools, "%.60q", string(v))
		}
	}
	tool := chat.Tool{Name: text(f.Name), Description: text(f.Description)}
	if tool.Name == "" {
		return tool, refuse(badTools, "one has no name")
	}
	schema, err := unwrap(first(f.Parameters, f.InputSchema, f.Input))
	if err != nil {
		return tool, err
	}
	if len(schema) == 0 || schema.Kind() == 'n' {
		return tool, nil
	}
	if schema.Kind() != '{' {
		return tool, refuse(badTools, "the parameters of %q are not an object", tool.Name)
	}
	tool.InputSchema, err = schemaOf(withoutNulls(schema, "default", "const"))
	return tool, err
}

// schemaOf is a JSON Schema: the one given, or one made of a list of parameters as xLAM has it,
// {"city": {"type": "str, optional", "description": "...", "default": "Bern"}}.
func schemaOf(v jsontext.Value) (json.RawMessage, error) {
	if bytes.Contains(v, []byte(`"properties"`)) { // a schema: most are
		return json.RawMessage(v), nil
	}
	given, err := chat.Decode(v, chat.DecodeOptions{LastWins: true})
	object, isObject := given.(*chat.Object)
	if err != nil || !isObject {
		return nil, refuse(badTools, "parameters that are not an object")
	}
	if !isParameters(object) {
		return json.RawMessage(v), nil
	}
	properties, required := &chat.Object{}, []chat.Value{}
	for i := range object.Len() {
		name, value := object.At(i)
		given := value.(*chat.Object)
		property := &chat.Object{}
		_, fallback := given.Get("default")
		optional := fallback
		for j := range given.Len() {
			key, value := given.At(j)
			if said, isText := value.(string); key == "type" && isText {
				kind, also, _ := strings.Cut(said, ",")
				optional = optional || strings.Contains(also, "optional")
				setType(property, strings.TrimSpace(kind))
				continue
			}
			property.Set(key, value)
		}
		if properties.Set(name, property); !optional {
			required = append(required, name)
		}
	}
	out := chat.NewObject("type", "object", "properties", properties)
	if len(required) > 0 {
		out.Set("required", required)
	}
	return chat.AppendJSON(nil, out, chat.Format{KeepNumbers: true})
}

// isParameters tells a list of parameters from a schema: each member is an object that says its type as a text, and
// none is what a schema has.
func isParameters(o *chat.Object) bool {
	for _, key := range []string{"properties", "$ref", "anyOf", "oneOf", "allOf", "$schema"} {
		if _, there := o.Get(key); there {
			return false
		}
	}
	for i := range o.Len() {
		_, value := o.At(i)
		member, isObject := value.(*chat.Object)
		if !isObject {
			return false
		}
		kind, _ := member.Get("type")
		if _, isText := kind.(string); !isText {
			return false
		}
	}
	return o.Len() > 0
}

// setType sets JSON Schema's word for a type of Python, and for a list's elements. What has no word may be anything.
func setType(property *chat.Object, python string) {
	kind, inner, _ := strings.Cut(strings.TrimSuffix(python, "]"), "[")
	name := typeName(kind)
	if name != "" {
		property.Set("type", name)
	}
	if of := typeName(inner); of != "" && name == "array" {
		property.Set("items", chat.NewObject("type", of))
	}
}

func typeName(python string) string {
	switch strings.ToLower(python) {
	case "str", "string":
		return "string"
	case "int", "integer":
		return "integer"
	case "float", "number":
		return "number"
	case "bool", "boolean":
		return "boolean"
	case "list", "array", "tuple", "set":
		return "array"
	case "dict", "object":
		return "object"
	}
	return ""
}
