package revise

import (
	"slices"

	"hone/internal/chat"
)

// What coercion reads of a JSON Schema.

func objectAt(o *chat.Object, key string) *chat.Object {
	if o == nil {
		return nil
	}
	v, _ := o.Get(key)
	below, _ := v.(*chat.Object)
	return below
}

func listAt(o *chat.Object, key string) []chat.Value {
	v, _ := o.Get(key)
	list, _ := v.([]chat.Value)
	return list
}

// typesOf are the types that a schema allows; none where it does not say, or says it by alternatives, of which more
// than one may fit.
func typesOf(shape *chat.Object) (types []string) {
	if shape == nil {
		return nil
	}
	switch v, _ := shape.Get("type"); v := v.(type) {
	case string:
		return []string{v}
	case []chat.Value:
		for _, one := range v {
			if name, ok := one.(string); ok {
				types = append(types, name)
			}
		}
		return types
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		for _, one := range listAt(shape, key) {
			below, _ := one.(*chat.Object)
			types = append(types, typesOf(below)...)
		}
	}
	return types
}

func nullable(shape *chat.Object) bool {
	types := typesOf(shape)
	return shape == nil || len(types) == 0 || slices.Contains(types, "null")
}

func isRequired(shape *chat.Object, key string) bool {
	return slices.ContainsFunc(listAt(shape, "required"), func(v chat.Value) bool { return v == chat.Value(key) })
}

// forbidden reports whether a schema allows no property but those it names.
func forbidden(shape *chat.Object) bool {
	v, _ := shape.Get("additionalProperties")
	allowed, is := v.(bool)
	return is && !allowed
}

// missing are the properties that an object has not.
func missing(properties, o *chat.Object) (names []string) {
	if properties == nil {
		return nil
	}
	for _, key := range properties.Keys() {
		if _, there := o.Get(key); !there {
			names = append(names, key)
		}
	}
	return names
}

// fitsType reports whether a value is of one of the types.
func fitsType(types []string, v chat.Value) bool {
	for _, t := range types {
		ok := false
		switch v := v.(type) {
		case nil:
			ok = t == "null"
		case bool:
			ok = t == "boolean"
		case string:
			ok = t == "string"
		case chat.Number:
			ok = t == "number" || t == "integer" && isWhole(v)
		case []chat.Value:
			ok = t == "array"
		case *chat.Object:
			ok = t == "object"
		}
		if ok {
			return true
		}
	}
	return false
}
