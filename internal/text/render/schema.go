package render

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// node is a JSON value that keeps the order of its members and the text of its numbers.
type node struct {
	text   string // compact JSON
	kind   jsontext.Kind
	keys   []string // of an object
	values []*node  // of an object or array
}

// parseNode reads one value; a repeated key is an error.
func parseNode(value jsontext.Value) (*node, error) {
	value = value.Clone()
	if err := value.Compact(); err != nil {
		return nil, err
	}
	return readNode(value, maxDepth)
}

// maxDepth bounds how deep a schema nests, as chat.Decode bounds messages: each level is copied.
const maxDepth = 500

func readNode(value jsontext.Value, depth int) (*node, error) {
	if depth == 0 {
		return nil, fmt.Errorf("it nests deeper than %d levels", maxDepth)
	}
	n := &node{text: string(value), kind: value.Kind()}
	if n.kind != '{' && n.kind != '[' {
		return n, nil
	}
	dec := jsontext.NewDecoder(strings.NewReader(n.text))
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	for dec.PeekKind() != '}' && dec.PeekKind() != ']' {
		if n.kind == '{' {
			key, err := dec.ReadToken()
			if err != nil {
				return nil, err
			}
			n.keys = append(n.keys, key.String())
		}
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		child, err := readNode(value, depth-1)
		if err != nil {
			return nil, err
		}
		n.values = append(n.values, child)
	}
	return n, nil
}

// get returns a member of an object, nil where there is none.
func (n *node) get(key string) *node {
	if i := slices.Index(n.keys, key); i >= 0 {
		return n.values[i]
	}
	return nil
}

// string is a JSON string's text, "" for other values.
func (n *node) string() string {
	if n == nil || n.kind != '"' {
		return ""
	}
	text, err := jsontext.AppendUnquote(nil, n.text)
	if err != nil {
		return ""
	}
	return string(text)
}

// typeWriter writes JSON schemas as types in a notation near TypeScript's.
type typeWriter struct {
	root     *node    // what local references point into
	refs     []string // references being written, to stop at a recursive one
	followed int      // references written so far
}

// parameters writes an object schema's properties: "a: string, b?: integer = 3".
func (w *typeWriter) parameters(schema *node) string {
	properties, required := schema.get("properties"), schema.get("required")
	if properties == nil {
		return ""
	}
	var parts []string
	for i, key := range properties.keys {
		property := properties.values[i]
		part := parameterName(key)
		if required == nil || !slices.ContainsFunc(required.values, func(r *node) bool { return r.string() == key }) {
			part += "?"
		}
		part += ": " + w.typeOf(property)
		if value := property.get("default"); value != nil {
			part += " = " + value.text
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// parameterName is the key, quoted where it could be taken for something else.
func parameterName(key string) string {
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsNumber(r) || strings.ContainsRune("_$-.", r)
	}
	if key != "" && !strings.ContainsFunc(key, func(r rune) bool { return !plain(r) }) {
		return key
	}
	quoted, err := jsontext.AppendQuote(nil, key)
	if err != nil {
		return key
	}
	return string(quoted)
}

func (w *typeWriter) typeOf(schema *node) string {
	if ref := schema.get("$ref").string(); ref != "" {
		return w.reference(ref)
	}
	if value := schema.get("const"); value != nil {
		return value.text
	}
	if enum := schema.get("enum"); enum != nil && len(enum.values) > 0 {
		var texts []string
		for _, value := range enum.values {
			texts = append(texts, value.text)
		}
		return strings.Join(texts, "|")
	}
	for _, of := range []struct{ key, join string }{{"anyOf", "|"}, {"oneOf", "|"}, {"allOf", "&"}} {
		if all := schema.get(of.key); all != nil && len(all.values) > 0 {
			return w.join(all.values, of.join)
		}
	}
	kinds := schema.get("type")
	if kinds == nil {
		return w.anyType(schema)
	}
	if kinds.kind == '[' {
		var texts []string
		for _, kind := range kinds.values {
			texts = append(texts, w.namedType(schema, kind.string()))
		}
		return strings.Join(texts, "|")
	}
	return w.namedType(schema, kinds.string())
}

// join writes alternatives, each once.
func (w *typeWriter) join(schemas []*node, sep string) string {
	var texts []string
	for _, s := range schemas {
		if text := w.typeOf(s); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, sep)
}

func (w *typeWriter) anyType(schema *node) string {
	switch {
	case schema.get("properties") != nil:
		return w.namedType(schema, "object")
	case schema.get("items") != nil:
		return w.namedType(schema, "array")
	}
	return "any"
}

// namedType writes a schema of one named type.
func (w *typeWriter) namedType(schema *node, kind string) string {
	switch kind {
	case "array":
		items := schema.get("items")
		if items == nil {
			return "array"
		}
		text := w.typeOf(items)
		if strings.ContainsAny(text, "|&") && !strings.HasPrefix(text, "{") {
			text = "(" + text + ")"
		}
		return text + "[]"
	case "object":
		if p := w.parameters(schema); p != "" {
			return "{" + p + "}"
		}
		if values := schema.get("additionalProperties"); values != nil && len(values.keys) > 0 {
			return "{[key]: " + w.typeOf(values) + "}"
		}
		return "object"
	case "":
		return "any"
	}
	return kind
}

// References are written out so deep, and so many in a tool: schemas whose definitions each use the next one twice, or a
// hundred times, would otherwise grow without bound.
const (
	maxReferences = 4
	maxFollowed   = 256
)

// reference follows "#/$defs/Name". Any other, one that is being written already, and one too deep or too many are
// written as "any".
func (w *typeWriter) reference(ref string) string {
	path, local := strings.CutPrefix(ref, "#/")
	if !local || len(w.refs) == maxReferences || w.followed == maxFollowed || slices.Contains(w.refs, ref) {
		return "any"
	}
	target := w.root
	for _, key := range strings.Split(path, "/") {
		target = target.get(strings.NewReplacer("~1", "/", "~0", "~").Replace(key))
		if target == nil {
			return "any"
		}
	}
	w.followed++
	w.refs = append(w.refs, ref)
	text := w.typeOf(target)
	w.refs = w.refs[:len(w.refs)-1]
	return text
}
