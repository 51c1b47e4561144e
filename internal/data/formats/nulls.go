package formats

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/chat"
)

// withoutNulls leaves out members that are null, at every depth. A data set whose column has one type for all rows
// fills each row's objects with nulls for the members that only other rows have: {"city": "Bern", "a": null, "b":
// null}. Members of a name in keep may be null by themselves. A text without nulls comes back as it is.
func withoutNulls(v jsontext.Value, keep ...string) jsontext.Value {
	if !bytes.Contains(v, []byte("null")) {
		return v
	}
	value, err := chat.Decode(v, chat.DecodeOptions{LastWins: true})
	if err != nil {
		return v
	}
	out, err := chat.AppendJSON(nil, drop(value, keep), chat.Format{KeepNumbers: true})
	if err != nil {
		return v
	}
	return out
}

func drop(v chat.Value, keep []string) chat.Value {
	switch v := v.(type) {
	case []chat.Value:
		for i := range v {
			v[i] = drop(v[i], keep)
		}
	case *chat.Object:
		out := &chat.Object{}
		for i := range v.Len() {
			key, value := v.At(i)
			if value != nil || slices.Contains(keep, key) {
				out.Set(key, drop(value, keep))
			}
		}
		return out
	}
	return v
}

// withoutFilling leaves members of arguments out that are null, but for those that the schema of the tool lets be null:
// null may be what was meant. schema is nil where none is known.
func withoutFilling(v jsontext.Value, schema *chat.Object) jsontext.Value {
	if !bytes.Contains(v, []byte("null")) {
		return v
	}
	value, err := chat.Decode(v, chat.DecodeOptions{LastWins: true})
	if err != nil {
		return v
	}
	out, err := chat.AppendJSON(nil, dropUnfilled(value, schema), chat.Format{KeepNumbers: true})
	if err != nil {
		return v
	}
	return out
}

func dropUnfilled(v chat.Value, schema *chat.Object) chat.Value {
	switch v := v.(type) {
	case []chat.Value:
		items := member(schema, "items")
		for i := range v {
			v[i] = dropUnfilled(v[i], items)
		}
	case *chat.Object:
		out, properties := &chat.Object{}, member(schema, "properties")
		var required []chat.Value
		if schema != nil {
			given, _ := schema.Get("required")
			required, _ = given.([]chat.Value)
		}
		for i := range v.Len() {
			key, value := v.At(i)
			own := member(properties, key)
			if value != nil || own != nil && (allowsNull(own) || slices.Contains(required, chat.Value(key))) {
				out.Set(key, dropUnfilled(value, own))
			}
		}
		return out
	}
	return v
}

// member is an object's member that is an object, else nil.
func member(o *chat.Object, name string) *chat.Object {
	if o == nil {
		return nil
	}
	v, _ := o.Get(name)
	out, _ := v.(*chat.Object)
	return out
}

// allowsNull reports whether a schema says by itself that null is a value.
func allowsNull(schema *chat.Object) bool {
	for i := range schema.Len() {
		switch key, v := schema.At(i); key {
		case "type":
			if list, several := v.([]chat.Value); v == "null" || several && slices.Contains(list, chat.Value("null")) {
				return true
			}
		case "nullable":
			if v == true {
				return true
			}
		case "enum":
			if list, _ := v.([]chat.Value); slices.Contains(list, nil) {
				return true
			}
		case "anyOf", "oneOf":
			list, _ := v.([]chat.Value)
			if slices.ContainsFunc(list,
				func(x chat.Value) bool { o, is := x.(*chat.Object); return is && allowsNull(o) }) {
				return true
			}
		}
	}
	return false
}

// argumentsSchema is the schema of the arguments of a tool, nil where none is known.
func argumentsSchema(tools []chat.Tool, name string) *chat.Object {
	i := slices.IndexFunc(tools, func(t chat.Tool) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	v, err := chat.Decode(tools[i].InputSchema, chat.DecodeOptions{LastWins: true})
	if err != nil {
		return nil
	}
	out, _ := v.(*chat.Object)
	return out
}
