package revise

import (
	"math/big"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/chat/schema"
)

// Bounds of coercion: objects inside each other, and passes until nothing changes.
const (
	maxCoerceDepth  = 8
	maxCoercePasses = 4
)

// coerce makes arguments fit the tool's schema, where each value has one reading only. Arguments that it cannot make
// better are returned as they are, with no change: fewer violations are better, none is valid.
func (t *tool) coerce(arguments string) (string, []Change) {
	verdict, reasons := t.schema.Validate(arguments)
	if verdict != schema.Invalid || t.document.Object() == nil {
		return arguments, nil
	}
	v, err := chat.Decode([]byte(arguments), chat.DecodeOptions{})
	object, ok := v.(*chat.Object)
	if err != nil || !ok {
		return arguments, nil
	}
	c := coercion{document: t.document}
	for range maxCoercePasses {
		before := len(c.changes)
		object = c.object(t.document.Follow(t.document.Object()), object, "", 0)
		if len(c.changes) == before {
			break
		}
	}
	text, err := chat.AppendJSON(nil, object, chat.Format{KeepNumbers: true})
	if err != nil || len(c.changes) == 0 {
		return arguments, nil
	}
	after, left := t.schema.Validate(string(text))
	if after == schema.Invalid && len(left) >= len(reasons) {
		return arguments, nil
	}
	return string(text), c.changes
}

type coercion struct {
	document *schema.Document
	changes  []Change
}

func (c *coercion) did(kind, where string) { c.changes = append(c.changes, Change{kind, where}) }

// object mends names first, then values.
func (c *coercion) object(shape, o *chat.Object, at string, depth int) *chat.Object {
	if shape == nil || depth > maxCoerceDepth {
		return o
	}
	properties := objectAt(shape, "properties")
	if at == "" && o.Len() == 1 {
		key, inner := o.At(0)
		if below, ok := inner.(*chat.Object); ok &&
			slices.Contains([]string{"arguments", "parameters", "args", "params", "input"}, key) {
			if _, its := schema.Member(shape, key); !its && properties != nil {
				c.did(Unwrapped, "/"+key)
				o = below
			}
		}
	}
	out := &chat.Object{}
	for i := range o.Len() {
		key, value := o.At(i)
		below, known := schema.Member(shape, key)
		if !known {
			name, ok := nearest(key, missing(properties, o))
			switch {
			case ok:
				c.did(ArgumentName, at+"/"+name)
				key = name
				below, _ = schema.Member(shape, key)
			case forbidden(shape) && (properties != nil || objectAt(shape, "patternProperties") != nil):
				c.did(Dropped, at+"/"+key)
				continue
			}
		}
		if _, twice := out.Get(key); twice {
			continue
		}
		if below = c.document.Follow(below); below != nil {
			value = c.value(below, value, at+"/"+key, depth+1)
			if value == nil && !nullable(below) && !isRequired(shape, key) {
				c.did(Dropped, at+"/"+key)
				continue
			}
		}
		out.Set(key, value)
	}
	return out
}

// value mends one value by its schema.
func (c *coercion) value(shape *chat.Object, v chat.Value, at string, depth int) chat.Value {
	if shape == nil || depth > maxCoerceDepth {
		return v
	}
	if options := listAt(shape, "enum"); options != nil {
		return c.enumerate(options, v, at)
	}
	types := typesOf(shape)
	if len(types) == 0 {
		return v
	}
	switch v := v.(type) {
	case *chat.Object:
		if slices.Contains(types, "object") {
			return c.object(shape, v, at, depth)
		}
	case []chat.Value:
		if !slices.Contains(types, "array") && len(v) == 1 {
			if one := c.value(shape, v[0], at, depth+1); fitsType(types, one) {
				c.did(Coerced, at)
				return one
			}
		}
		items := c.document.Follow(objectAt(shape, "items"))
		for i := range v {
			v[i] = c.value(items, v[i], at, depth+1)
		}
		return v
	}
	if fitsType(types, v) || len(types) > 1 && slices.Contains(types, "string") {
		return v
	}
	if mended, ok := c.retype(types, shape, v, at, depth); ok {
		return mended
	}
	return v
}

// retype reads a value of a wrong type as one of the types, if exactly one reading fits.
func (c *coercion) retype(types []string, shape *chat.Object, v chat.Value, at string, depth int) (chat.Value, bool) {
	took := func(x chat.Value) (chat.Value, bool) { c.did(Coerced, at); return x, true }
	text, isText := v.(string)
	if isText {
		text = strings.TrimSpace(text)
		if parsed, err := chat.Decode([]byte(text), chat.DecodeOptions{}); err == nil && fitsType(types, parsed) &&
			parsed != nil {
			return took(parsed)
		}
		if low := strings.ToLower(text); slices.Contains(types, "boolean") && (low == "true" || low == "false") {
			return took(low == "true")
		}
		if plain := strings.ReplaceAll(text, ",", ""); isNumber(plain) && fitsType(types, chat.Number(plain)) &&
			hasGroups(text) {
			return took(chat.Number(plain))
		}
	}
	if slices.Contains(types, "string") {
		switch x := v.(type) {
		case chat.Number:
			return took(string(x))
		case bool:
			if x {
				return took("true")
			}
			return took("false")
		}
	}
	if slices.Contains(types, "array") && v != nil {
		items := c.document.Follow(objectAt(shape, "items"))
		if one := c.value(items, v, at, depth+1); items == nil || len(typesOf(items)) == 0 ||
			fitsType(typesOf(items), one) {
			return took([]chat.Value{one})
		}
	}
	return nil, false
}

// enumerate reads a value as the one of an enumeration that it is but for case, quotes or separators.
func (c *coercion) enumerate(options []chat.Value, v chat.Value, at string) chat.Value {
	switch v.(type) {
	case []chat.Value, *chat.Object:
		return v
	}
	text, isText := v.(string)
	var found []chat.Value
	for _, o := range options {
		if o == v {
			return v
		}
		switch o := o.(type) {
		case string:
			if isText && foldName(o) == foldName(text) && foldName(o) != "" {
				found = append(found, o)
			} else if n, ok := v.(chat.Number); ok && string(n) == o {
				found = append(found, o)
			}
		case chat.Number:
			if isText && string(o) == strings.TrimSpace(text) {
				found = append(found, o)
			}
		}
	}
	if len(found) != 1 {
		return v
	}
	c.did(EnumCase, at)
	return found[0]
}

func isNumber(text string) bool {
	v, err := chat.Decode([]byte(text), chat.DecodeOptions{})
	_, ok := v.(chat.Number)
	return err == nil && ok
}

// hasGroups reports whether the commas of a number stand before groups of three digits, as in 1,000.
func hasGroups(text string) bool {
	groups := strings.Split(strings.SplitN(strings.TrimPrefix(text, "-"), ".", 2)[0], ",")
	for i, g := range groups {
		if len(g) > 3 && len(groups) > 1 || len(g) != 3 && i > 0 || g == "" {
			return false
		}
	}
	return true
}

func isWhole(n chat.Number) bool {
	if len(n) > 40 {
		return false
	}
	r, ok := new(big.Rat).SetString(string(n))
	return ok && !strings.ContainsAny(string(n), "eE") && r.IsInt()
}
