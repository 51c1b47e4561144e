package grammar

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/chat/schema"
)

// maxDepth bounds schemas inside each other, maxCount the numbers of minItems, maxLength and their like.
const maxDepth, maxCount = 128, 1 << 20

// schema adds the rules of a JSON Schema, once for each part of a document. root is the document that references point
// into.
func (b *builder) schema(root, s chat.Value, at string, depth int) (symbol, error) {
	o, isObject := s.(*chat.Object)
	if s == true || isObject && o.Len() == 0 {
		return b.value(), nil
	}
	if !isObject {
		return symbol{}, fmt.Errorf("the schema at %s is no object", at)
	}
	if r, ok := b.made[o]; ok {
		return symbol{rule: r}, nil
	}
	if depth > maxDepth {
		return symbol{}, fmt.Errorf("the schema at %s lies too deep", at)
	}
	if err := b.large(); err != nil {
		return symbol{}, err
	}
	r := b.promise()
	b.made[o] = r
	x, err := b.whole(root, o, at, depth)
	if err == nil {
		b.define(r, one(x))
	}
	return symbol{rule: r}, err
}

// whole is a schema of several keywords, each of which demands something.
func (b *builder) whole(root chat.Value, o *chat.Object, at string, depth int) (symbol, error) {
	for _, key := range append(schema.References(), "allOf") {
		if v, ok := o.Get(key); ok {
			return b.all(root, o, key, v, at, depth)
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if v, ok := o.Get(key); ok {
			return b.anyOf(root, o, key, v, at, depth)
		}
	}
	b.note(o, at)
	if v, ok := o.Get("const"); ok {
		return b.constants([]chat.Value{v})
	}
	if v, ok := o.Get("enum"); ok {
		list, ok := v.([]chat.Value)
		if !ok || len(list) == 0 {
			return symbol{}, fmt.Errorf("enum at %s is no list", at)
		}
		return b.constants(list)
	}
	types, err := typesOf(o, at)
	if err != nil {
		return symbol{}, err
	}
	var alternatives []sequence
	for _, t := range types {
		x, err := b.typeSymbol(root, o, t, at, depth)
		if err != nil {
			return symbol{}, err
		}
		alternatives = append(alternatives, one(x))
	}
	return b.rule(alternatives...), nil
}

// note notes the keywords of a schema that the rules do not hold. Those that hold nothing by themselves are not among
// them.
func (b *builder) note(o *chat.Object, at string) {
	for _, key := range []string{
		"pattern", "patternProperties", "propertyNames", "multipleOf", "uniqueItems", "contains", "minContains",
		"maxContains", "minProperties", "maxProperties", "not", "if", "then", "else", "dependentRequired",
		"dependentSchemas", "dependencies", "unevaluatedProperties",
	} {
		if v, ok := o.Get(key); ok && v != false {
			b.unheld[key+" at "+at] = true
		}
	}
	for _, key := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"} {
		if _, ok := o.Get(key); ok {
			b.unheld[key+" at "+at] = true
		}
	}
}

func typesOf(o *chat.Object, at string) ([]string, error) {
	all := []string{"object", "array", "string", "number", "boolean", "null"}
	v, ok := o.Get("type")
	if !ok { // told from what else is said
		says := func(keys ...string) bool {
			return slices.ContainsFunc(keys, func(k string) bool { _, ok := o.Get(k); return ok })
		}
		var told []string
		if says("properties", "patternProperties", "required", "additionalProperties") {
			told = append(told, "object")
		}
		if says("items", "prefixItems") {
			told = append(told, "array")
		}
		if told == nil {
			return all, nil
		}
		return told, nil
	}
	var types []string
	switch v := v.(type) {
	case string:
		types = []string{v}
	case []chat.Value:
		for _, t := range v {
			name, _ := t.(string)
			types = append(types, name)
		}
	}
	for _, t := range types {
		if t != "integer" && !slices.Contains(all, t) {
			return nil, fmt.Errorf("type at %s is %q, which is none of JSON Schema's", at, t)
		}
	}
	if len(types) == 0 {
		return nil, fmt.Errorf("type at %s names no type", at)
	}
	return types, nil
}

func (b *builder) typeSymbol(root chat.Value, o *chat.Object, kind, at string, depth int) (symbol, error) {
	switch kind {
	case "null":
		return b.rule(bytes("null")), nil
	case "boolean":
		return b.rule(bytes("true"), bytes("false")), nil
	case "integer":
		return b.integerBetween(o, at), nil
	case "number":
		return b.number(), nil
	case "string":
		least, most := b.counts(o, "minLength", "maxLength", at)
		return b.text(least, most), nil
	case "array":
		return b.arrayOf(root, o, at, depth)
	}
	return b.object(root, o, at, depth)
}

// counts are bounds of a length; one too large to be counted is not held.
func (b *builder) counts(o *chat.Object, least, most, at string) (from, to int) {
	to = -1
	for key, n := range map[string]*int{least: &from, most: &to} {
		v, ok := o.Get(key)
		if !ok {
			continue
		}
		number, isNumber := v.(chat.Number)
		if x := number.Float(); isNumber && x >= 0 && x <= maxCount && x == float64(int(x)) {
			*n = int(x)
		} else {
			b.unheld[key+" at "+at] = true
		}
	}
	if to >= 0 && to < from {
		to = from
		b.unheld[most+" at "+at] = true
	}
	return from, to
}

func (b *builder) arrayOf(root chat.Value, o *chat.Object, at string, depth int) (symbol, error) {
	least, most := b.counts(o, "minItems", "maxItems", at)
	items, hasItems := o.Get("items")
	prefix, _ := o.Get("prefixItems")
	if list, ok := prefix.([]chat.Value); ok && len(list) > 0 {
		out, sp := bytes("["), one(b.space())
		for i, p := range list {
			x, err := b.schema(root, p, fmt.Sprintf("%s/prefixItems/%d", at, i), depth+1)
			if err != nil {
				return symbol{}, err
			}
			if i > 0 {
				out = append(out, bytes(",")...)
			}
			out = join(out, sp, one(x))
		}
		if least > len(list) {
			b.unheld["minItems at "+at] = true
		}
		return b.rule(join(out, sp, bytes("]"))), nil
	}
	item := b.value()
	if hasItems && items != true {
		var err error
		if item, err = b.schema(root, items, at+"/items", depth+1); err != nil {
			return symbol{}, err
		}
	}
	return b.array(func() symbol { return item }, least, most), nil
}

// object is one whose properties come in the schema's order, those that are not required or not. Others are written
// only where the schema names none.
func (b *builder) object(root chat.Value, o *chat.Object, at string, depth int) (symbol, error) {
	properties, _ := o.Get("properties")
	named, _ := properties.(*chat.Object)
	if named == nil {
		named = &chat.Object{}
	}
	required := map[string]bool{}
	list, _ := o.Get("required")
	names, _ := list.([]chat.Value)
	keys := slices.Clone(named.Keys())
	for _, n := range names {
		name, ok := n.(string)
		if !ok {
			return symbol{}, fmt.Errorf("required at %s holds what is no name", at)
		}
		required[name] = true
		if !slices.Contains(keys, name) {
			keys = append(keys, name)
		}
	}
	if len(keys) == 0 {
		return b.free(root, o, at, depth)
	}
	sp := one(b.space())
	// rest[written] is what may stand from a property on, by whether one was written before it.
	var rest [2]symbol
	for i := range rest {
		rest[i] = b.rule(join(sp, bytes("}")))
	}
	for i := len(keys) - 1; i >= 0; i-- {
		x := b.value()
		if property, ok := named.Get(keys[i]); ok {
			var err error
			if x, err = b.schema(root, property, at+"/properties/"+keys[i], depth+1); err != nil {
				return symbol{}, err
			}
		}
		member := join(sp, jsonText(keys[i]), bytes(":"), sp, one(x), one(rest[1]))
		next := [2][]sequence{{member}, {join(bytes(","), member)}}
		for written := range next {
			if !required[keys[i]] {
				next[written] = append(next[written], one(rest[written]))
			}
		}
		rest = [2]symbol{b.rule(next[0]...), b.rule(next[1]...)}
	}
	return b.rule(join(bytes("{"), one(rest[0]))), nil
}

// free is an object of which no property is named. Its members have a schema of those whose names match a pattern, or
// that of others; whether the name matches is not held.
func (b *builder) free(root chat.Value, o *chat.Object, at string, depth int) (symbol, error) {
	more, ok := o.Get("additionalProperties")
	of, _ := o.Get("patternProperties")
	patterns, _ := of.(*chat.Object)
	_, named := o.Get("properties")
	var schemas []sequence
	for i := 0; patterns != nil && i < patterns.Len(); i++ {
		pattern, below := patterns.At(i)
		if below == false {
			continue
		}
		x, err := b.schema(root, below, at+"/patternProperties/"+pattern, depth+1)
		if err != nil {
			return symbol{}, err
		}
		schemas = append(schemas, one(x))
	}
	switch _, is := more.(*chat.Object); {
	case is:
		x, err := b.schema(root, more, at+"/additionalProperties", depth+1)
		if err != nil {
			return symbol{}, err
		}
		schemas = append(schemas, one(x))
	case ok && more != true && more != false:
		return symbol{}, fmt.Errorf("the schema at %s/additionalProperties is no object", at)
	case more == true, !ok && !named && len(schemas) == 0:
		return b.anyObject(), nil
	case len(schemas) == 0:
		return b.rule(join(bytes("{"), one(b.space()), bytes("}"))), nil
	}
	return b.rule(b.members(one(b.text(0, -1)), b.rule(schemas...))...), nil
}

// constants is one of several values. Their numbers are written as the schema writes them.
func (b *builder) constants(values []chat.Value) (symbol, error) {
	var alternatives []sequence
	for _, v := range values {
		x := b.constant(v)
		if b.size += len(x); b.size > maxSize {
			return symbol{}, b.large()
		}
		alternatives = append(alternatives, x)
	}
	return b.rule(alternatives...), nil
}

func (b *builder) constant(v chat.Value) (out sequence) {
	sp := one(b.space())
	switch v := v.(type) {
	case string:
		return jsonText(v)
	case []chat.Value:
		out = bytes("[")
		for i, x := range v {
			if i > 0 {
				out = append(out, bytes(",")...)
			}
			out = join(out, sp, b.constant(x))
		}
		return join(out, sp, bytes("]"))
	case *chat.Object:
		out = bytes("{")
		for i := range v.Len() {
			key, x := v.At(i)
			if i > 0 {
				out = append(out, bytes(",")...)
			}
			out = join(out, sp, jsonText(key), bytes(":"), sp, b.constant(x))
		}
		return join(out, sp, bytes("}"))
	case nil:
		return bytes("null")
	}
	return bytes(fmt.Sprint(v)) // a number as it was written, or a truth value
}

// decode reads a schema with the order of its keys.
func decode(schema json.RawMessage) (chat.Value, error) {
	if text := strings.TrimSpace(string(schema)); text == "" || text == "null" {
		return chat.NewObject("type", "object"), nil
	}
	v, err := chat.Decode(schema, chat.DecodeOptions{MaxDepth: 2 * maxDepth})
	if err != nil {
		return nil, err
	}
	if _, ok := v.(*chat.Object); !ok {
		return nil, errors.New("the schema is no object")
	}
	return v, nil
}
