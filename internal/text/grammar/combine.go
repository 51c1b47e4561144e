package grammar

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/chat/schema"
)

// resolve finds the part of a document that a reference names.
func (b *builder) resolve(root chat.Value, ref chat.Value, at string) (chat.Value, error) {
	o, _ := root.(*chat.Object)
	d := b.documents[o]
	if d == nil {
		d = &schema.Document{Root: root}
		b.documents[o] = d
	}
	name, _ := ref.(string)
	switch v, ok := d.At(name); {
	case ok && name != "":
		return v, nil
	case strings.HasPrefix(name, "#"):
		return nil, fmt.Errorf("$ref at %s points to %q, where nothing is", at, name)
	}
	return nil, fmt.Errorf("$ref at %s points to %q, which is in another document", at, name)
}

// silent reports whether a keyword demands nothing by itself.
func silent(key string) bool {
	return slices.Contains([]string{
		"title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly", "$comment",
		"$id", "id", "$schema", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$defs",
		"definitions", "discriminator", "format",
	}, key)
}

// beside are the keywords of a schema that demand something beside one of them.
func beside(o *chat.Object, but string) *chat.Object {
	out := &chat.Object{}
	for i := range o.Len() {
		if key, v := o.At(i); key != but && !silent(key) {
			out.Set(key, v)
		}
	}
	return out
}

// all is a schema that holds others to be met too: one alone is itself, more are put into one.
func (b *builder) all(root chat.Value, o *chat.Object, key string, v chat.Value, at string, depth int) (symbol, error) {
	alone := beside(o, key).Len() == 0
	if slices.Contains(schema.References(), key) && alone {
		target, err := b.resolve(root, v, at)
		if err != nil {
			return symbol{}, err
		}
		pointer, _ := v.(string)
		return b.schema(root, target, pointer, depth+1)
	}
	list, isList := v.([]chat.Value)
	if key == "allOf" && !isList {
		return symbol{}, fmt.Errorf("allOf at %s is no list", at)
	}
	if key == "allOf" && alone && len(list) == 1 {
		return b.schema(root, list[0], at+"/allOf/0", depth+1)
	}
	m := merger{b: b, root: root, out: &chat.Object{}}
	if err := m.add(o, at, 0); err != nil {
		return symbol{}, err
	}
	return m.schema(at, depth)
}

// anyOf is one of several schemas, each together with what stands beside them.
func (b *builder) anyOf(
	root chat.Value, o *chat.Object, key string, v chat.Value, at string, depth int,
) (symbol, error) {
	list, ok := v.([]chat.Value)
	if !ok || len(list) == 0 {
		return symbol{}, fmt.Errorf("%s/%s is no list", at, key)
	}
	rest := beside(o, key)
	var alternatives []sequence
	for i, s := range list {
		where := fmt.Sprintf("%s/%s/%d", at, key, i)
		var x symbol
		var err error
		if rest.Len() == 0 {
			x, err = b.schema(root, s, where, depth+1)
		} else {
			m := merger{b: b, root: root, out: &chat.Object{}}
			if err = m.add(rest, at, 0); err == nil {
				if err = m.add(s, where, 0); err == nil {
					x, err = m.schema(where, depth)
				}
			}
		}
		if err != nil {
			return symbol{}, err
		}
		alternatives = append(alternatives, one(x))
	}
	return b.rule(alternatives...), nil
}

// merger puts schemas into one that demands what each of them does. Where it cannot, what the earlier one demanded is
// noted as not held.
type merger struct {
	b    *builder
	root chat.Value
	out  *chat.Object
	none bool // nothing meets all of them
	// closed are those that allow no properties but their own.
	closed []*chat.Object
}

func (m *merger) schema(at string, depth int) (symbol, error) {
	if m.none {
		return m.b.rule(), nil
	}
	for _, c := range m.closed {
		if keysOf(m.out)-keysOf(c) > 0 {
			m.b.unheld["additionalProperties at "+at] = true
		}
	}
	return m.b.schema(m.root, m.out, at, depth+1)
}

// keysOf counts the properties that a schema names.
func keysOf(o *chat.Object) int {
	v, _ := o.Get("properties")
	properties, _ := v.(*chat.Object)
	if properties == nil {
		return 0
	}
	return properties.Len()
}

func (m *merger) add(s chat.Value, at string, depth int) error {
	if s == true {
		return nil
	}
	o, isObject := s.(*chat.Object)
	switch {
	case !isObject:
		return fmt.Errorf("the schema at %s is no object", at)
	case depth > maxDepth:
		return fmt.Errorf("the schema at %s lies too deep", at)
	}
	if err := m.b.large(); err != nil {
		return err
	}
	if v, _ := o.Get("additionalProperties"); v == false {
		m.closed = append(m.closed, o)
	}
	m.b.size += 16 * (1 + o.Len()) // so that parts which are put together again and again cost what they cost
	for i := range o.Len() {
		key, v := o.At(i)
		switch key {
		case "$ref", "$dynamicRef", "$recursiveRef":
			target, err := m.b.resolve(m.root, v, at)
			if err != nil {
				return err
			}
			if err := m.add(target, at, depth+1); err != nil {
				return err
			}
		case "allOf":
			list, ok := v.([]chat.Value)
			if !ok {
				return fmt.Errorf("allOf at %s is no list", at)
			}
			for j, x := range list {
				if err := m.add(x, fmt.Sprintf("%s/allOf/%d", at, j), depth+1); err != nil {
					return err
				}
			}
		default:
			m.put(key, v, at)
		}
	}
	return nil
}

// put adds a keyword to those that are there.
func (m *merger) put(key string, v chat.Value, at string) {
	old, both := m.out.Get(key)
	if !both || reflect.DeepEqual(old, v) || silent(key) {
		m.out.Set(key, v)
		return
	}
	switch x := v.(type) {
	case *chat.Object:
		if before, ok := old.(*chat.Object); ok && key == "properties" {
			m.out.Set(key, m.properties(before, x))
			return
		}
	case []chat.Value:
		before, ok := old.([]chat.Value)
		switch {
		case ok && key == "required":
			m.out.Set(key, append(slices.Clone(before), x...))
			return
		case ok && key == "enum":
			kept := slices.DeleteFunc(slices.Clone(before), func(a chat.Value) bool {
				return !slices.ContainsFunc(x, func(b chat.Value) bool { return reflect.DeepEqual(a, b) })
			})
			m.none = m.none || len(kept) == 0
			m.out.Set(key, kept)
			return
		}
	case chat.Number:
		if before, ok := old.(chat.Number); ok {
			if tighter, known := tighter(key, before, x); known {
				m.out.Set(key, tighter)
				return
			}
		}
	}
	switch {
	case key == "type":
		types := common(old, v)
		m.none = m.none || len(types) == 0
		m.out.Set(key, types)
	case key == "additionalProperties" && (old == false || v == false):
		m.out.Set(key, false)
	default:
		m.b.unheld[key+" at "+at] = true
		m.out.Set(key, v)
	}
}

// properties are those of two schemas; one of both is to meet both.
func (m *merger) properties(a, b *chat.Object) *chat.Object {
	out := &chat.Object{}
	for i := range a.Len() {
		out.Set(a.At(i))
	}
	m.b.size += a.Len() + b.Len()
	for i := range b.Len() {
		name, v := b.At(i)
		if old, ok := out.Get(name); ok && !reflect.DeepEqual(old, v) {
			v = chat.NewObject("allOf", []chat.Value{old, v})
		}
		out.Set(name, v)
	}
	return out
}

// tighter is the bound that demands more.
func tighter(key string, a, b chat.Number) (bound chat.Number, known bool) {
	lower := a.Float() < b.Float()
	switch key {
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
		lower = !lower
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
	default:
		return "", false
	}
	if lower {
		return a, true
	}
	return b, true
}

// common are the types that two of JSON Schema's "type" both have.
func common(a, b chat.Value) (out []chat.Value) {
	names := func(v chat.Value) []chat.Value {
		if list, ok := v.([]chat.Value); ok {
			return list
		}
		return []chat.Value{v}
	}
	has := func(list []chat.Value, name chat.Value) bool {
		return slices.ContainsFunc(list, func(x chat.Value) bool { return reflect.DeepEqual(x, name) })
	}
	first, second := names(a), names(b)
	for _, name := range first {
		switch {
		case has(second, name) || name == "integer" && has(second, "number"):
			out = append(out, name)
		case name == "number" && has(second, "integer"):
			out = append(out, "integer")
		}
	}
	return out
}

// prune takes out what leads to no end: a property that no value fits would else be begun.
func (b *builder) prune() {
	fruitful := make([]bool, len(b.rules))
	ends := func(x sequence) bool {
		return !slices.ContainsFunc(x, func(s symbol) bool {
			return s.rule > 0 && (s.most == 0 || s.least > 0) && !fruitful[s.rule-1]
		})
	}
	for changed := true; changed; {
		changed = false
		for pass := range 2 {
			for i := range b.rules {
				if pass == 1 {
					i = len(b.rules) - 1 - i
				}
				if !fruitful[i] && slices.ContainsFunc(b.rules[i], ends) {
					fruitful[i], changed = true, true
				}
			}
		}
	}
	for i, alternatives := range b.rules {
		b.rules[i] = slices.DeleteFunc(alternatives, func(x sequence) bool { return !ends(x) })
	}
}
