package bfcl

import (
	"slices"

	"hone/internal/chat"
)

// Language is whose literals the values of a call are.
type Language string

// The languages of BFCL's categories. In Java and JavaScript each value of a call is a text that holds a literal.
const (
	Python     Language = "python"
	Java       Language = "java"
	JavaScript Language = "javascript"
)

// LanguageOf is the language whose types the tools have: Python's, unless some are of Java or JavaScript alone. Types
// that both of those have count as Java's.
func LanguageOf(tools []Tool) Language {
	for _, l := range []Language{Python, Java, JavaScript} {
		if !slices.ContainsFunc(tools, func(t Tool) bool { return !l.hasTypesOf(t) }) {
			return l
		}
	}
	return Python
}

func (l Language) hasTypesOf(t Tool) bool {
	properties, ok := t.properties.(*chat.Object)
	for i := 0; ok && i < properties.Len(); i++ {
		_, schema := properties.At(i)
		if name, stated := l.schemaType(schema); stated && l.typeNames()[name] == noKind {
			return false
		}
	}
	return true
}

// typeNames are the types of a language's tools, and what their values become in Python.
func (l Language) typeNames() map[string]kind {
	switch l {
	case Java:
		return map[string]kind{
			"byte": intKind, "short": intKind, "integer": intKind, "float": floatKind, "double": floatKind,
			"long": intKind, "boolean": boolKind, "char": strKind, "Array": listKind, "ArrayList": listKind,
			"Set": setKind, "HashMap": dictKind, "Hashtable": dictKind, "Queue": listKind, "Stack": listKind,
			"String": strKind,
			"any":    strKind,
		}
	case JavaScript:
		return map[string]kind{
			"String": strKind, "integer": intKind, "float": floatKind, "Bigint": intKind, "Boolean": boolKind,
			"dict": dictKind, "array": listKind, "any": strKind,
		}
	}
	return map[string]kind{
		"string": strKind, "integer": intKind, "float": floatKind, "boolean": boolKind, "array": listKind,
		"tuple": listKind, "dict": dictKind, "any": strKind,
		// BFCL ends with an error at these two of JSON Schema. They are what it makes its own types into for a model.
		"number": floatKind, "object": dictKind,
	}
}

// expected is what a parameter's value must be.
type expected struct {
	name   string // of the type; empty where the schema states none, or several
	kind   kind
	nested kind // of a list's items, noKind where they are not looked at
	items  string
}

// readSchema reads a parameter's schema.
func (l Language) readSchema(schema any) expected {
	name, stated := l.schemaType(schema)
	if !stated {
		return expected{}
	}
	e := expected{name: name, kind: l.kindByName(name)}
	nests := name == "array"
	switch l {
	case Python:
		nests = nests || name == "tuple"
	case Java, JavaScript:
		nests = nests || name == "Array" || name == "ArrayList"
	}
	if !nests {
		return e
	}
	of, _ := schema.(*chat.Object).Get("items")
	if e.items, stated = l.schemaType(of); stated {
		e.nested = l.kindByName(e.items)
	}
	return e
}

// schemaType is the type that a schema states. JSON Schema need not state one, and may state several; BFCL ends with an
// error at both, and here the accepted values say what is expected.
func (l Language) schemaType(schema any) (string, bool) {
	o, ok := schema.(*chat.Object)
	if !ok {
		return "", false
	}
	v, _ := o.Get("type")
	name, ok := v.(string)
	return name, ok && !(l == Python && name == "null")
}

func (l Language) kindByName(name string) kind {
	k, ok := l.typeNames()[name]
	if !ok {
		raise("KeyError", "'%s'", name)
	}
	return k
}

// acceptedKind is the type of the first accepted value that is not "", noKind where there is none.
func acceptedKind(accepted any) kind {
	for answer := range items(accepted) {
		if !equal(answer, "") {
			return kindOf(answer)
		}
	}
	return noKind
}

// ofType reports whether a value has the expected type or, being the name of a variable, that of the accepted values.
// Items of a list are looked at one level deep.
func ofType(value, accepted any, want expected) (ok, variable bool) {
	from := acceptedKind(accepted)
	ok = true
	if kindOf(value) == want.kind {
		if want.nested == noKind || anyItemsFit(value, accepted, want.nested) {
			return true, from != noKind && from != want.kind
		}
		ok = false
	}
	if kindOf(value) == from {
		return ok, true
	}
	return false, false
}

// anyItemsFit reports whether the items of a list have the nested type by one of the accepted values. One that is no
// list, such as the "" of what may be left out, asks nothing of them.
func anyItemsFit(value, accepted any, nested kind) bool {
	for answer := range items(accepted) {
		list, ok := answer.([]any)
		if !ok || itemsFit(value, list, nested) {
			return true
		}
	}
	return false
}

func itemsFit(value any, answer []any, nested kind) bool {
	from := acceptedKind(answer)
	for item := range items(value) {
		if k := kindOf(item); k != nested && k != from {
			return false
		}
	}
	return true
}
