package config

import (
	"encoding/json"
	"reflect"
)

// Schema returns a JSON Schema (draft 2020-12) of hone.yaml for editors: keys, types, bounds, defaults.
func Schema() ([]byte, error) {
	root := objectSchema(reflect.ValueOf(Default()))
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "hone.yaml"
	return json.MarshalIndent(root, "", "  ")
}

func objectSchema(defaults reflect.Value) map[string]any {
	properties := map[string]any{}
	for _, f := range fieldsOf(defaults.Type()) {
		value := defaults.Field(f.index)
		var p map[string]any
		if value.Kind() == reflect.Struct {
			p = objectSchema(value)
		} else {
			p = f.valueSchema(value)
		}
		p["description"] = f.doc
		properties[f.key] = p
	}
	return map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
}

func (f field) valueSchema(value reflect.Value) map[string]any {
	p := map[string]any{"default": value.Interface()}
	switch {
	case isDuration(f.typ):
		// Go's duration text; the bounds are checked by hone, since JSON Schema cannot compare durations.
		p["type"], p["pattern"] = "string", `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`
		p["default"] = value.Interface().(interface{ String() string }).String()
		return p
	case isMapOfSections(f.typ):
		p["type"], p["additionalProperties"] = "object", objectSchema(reflect.Zero(f.typ.Elem()))
	case f.typ == reflect.TypeFor[FailOnError]():
		p["type"] = []string{"boolean", "number", "string"}
	case f.typ == reflect.TypeFor[TrainableTokens]():
		p["type"], p["items"], p["default"] = []string{"string", "array"}, map[string]any{"type": "string"}, AutoTokens
	case f.typ.Kind() == reflect.Map:
		p["type"], p["propertyNames"] = "object", map[string]any{"pattern": `^[A-Za-z_][A-Za-z0-9_]*$`}
	case f.typ.Kind() == reflect.Slice:
		p["type"], p["items"] = "array", map[string]any{"type": "string"}
	case f.typ.Kind() == reflect.Bool:
		p["type"] = "boolean"
	case value.CanFloat():
		p["type"] = "number"
	case value.CanInt():
		p["type"] = "integer"
	case value.CanUint():
		p["type"], p["minimum"] = "integer", 0
	default:
		p["type"] = "string"
	}
	if f.enum != nil {
		p["enum"] = f.enum
	}
	if f.min != nil {
		p["minimum"] = *f.min
	}
	if f.max != nil {
		p["maximum"] = *f.max
	}
	return p
}
