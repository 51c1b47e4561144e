package dataset

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/chat"
	"hone/internal/chat/schema"
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
// null may be what was meant. of is empty where none is known.
func withoutFilling(v jsontext.Value, of *schema.Document) jsontext.Value {
	if !bytes.Contains(v, []byte("null")) {
		return v
	}
	value, err := chat.Decode(v, chat.DecodeOptions{LastWins: true})
	if err != nil {
		return v
	}
	out, err := chat.AppendJSON(nil, dropUnfilled(value, of, of.Object()), chat.Format{KeepNumbers: true})
	if err != nil {
		return v
	}
	return out
}

// dropUnfilled drops from a value of a part of a schema.
func dropUnfilled(v chat.Value, of *schema.Document, part *chat.Object) chat.Value {
	part = of.Follow(part)
	switch v := v.(type) {
	case []chat.Value:
		var items *chat.Object
		if part != nil {
			given, _ := part.Get("items")
			items, _ = given.(*chat.Object)
		}
		for i := range v {
			v[i] = dropUnfilled(v[i], of, items)
		}
	case *chat.Object:
		out := &chat.Object{}
		var required []chat.Value
		if part != nil {
			given, _ := part.Get("required")
			required, _ = given.([]chat.Value)
		}
		for i := range v.Len() {
			key, value := v.At(i)
			own, _ := schema.Member(part, key)
			if value != nil || own != nil && (allowsNull(of, own, 0) || slices.Contains(required, chat.Value(key))) {
				out.Set(key, dropUnfilled(value, of, own))
			}
		}
		return out
	}
	return v
}

// allowsNull reports whether a schema says that null is a value.
func allowsNull(of *schema.Document, part *chat.Object, depth int) bool {
	const deepest = 8
	if part = of.Follow(part); part == nil || depth > deepest {
		return false
	}
	for i := range part.Len() {
		switch key, v := part.At(i); key {
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
			if slices.ContainsFunc(list, func(x chat.Value) bool {
				o, is := x.(*chat.Object)
				return is && allowsNull(of, o, depth+1)
			}) {
				return true
			}
		}
	}
	return false
}

// argumentsSchema is the schema of the arguments of a tool, an empty one where none is known.
func argumentsSchema(tools []chat.Tool, name string) *schema.Document {
	i := slices.IndexFunc(tools, func(t chat.Tool) bool { return t.Name == name })
	if i < 0 {
		return &schema.Document{}
	}
	return schema.ReadDocument(tools[i].InputSchema)
}
