package bfcl

import (
	"fmt"
	"iter"
	"math"
	"math/big"
	"strings"
	"unicode/utf8"

	"hone/internal/chat"
	"hone/internal/jinja/pyvalue"
)

// raised is what Python raises where its program goes on with a value of another type than it expects. It is panicked
// with, and ends in a verdict at Question.Judge.
type raised string

func raise(class, format string, arguments ...any) {
	panic(raised(class + ": " + fmt.Sprintf(format, arguments...)))
}

// kind is what Python's type gives.
type kind int

const (
	noKind kind = iota // where Python has None for a type
	noneKind
	boolKind
	intKind
	floatKind
	strKind
	listKind
	dictKind
	setKind
)

func (k kind) String() string {
	return [...]string{"None", "NoneType", "bool", "int", "float", "str", "list", "dict", "set"}[k]
}

// kindOf takes what Loads returns.
func kindOf(v any) kind {
	switch v.(type) {
	case nil:
		return noneKind
	case bool:
		return boolKind
	case int64, *big.Int:
		return intKind
	case float64:
		return floatKind
	case string:
		return strKind
	case []any:
		return listKind
	}
	return dictKind
}

// madeNaN is the bits of a NaN that float() made. Python's list and dict take an object for equal to itself, and all
// NaN that its JSON reader gives are one object; one that float() makes equals nothing.
const madeNaN = 0x7ff8_0000_0000_0b0b

// equal is Python's ==, as list and dict ask it of their items.
func equal(a, b any) bool {
	switch x := a.(type) {
	case nil:
		return b == nil
	case string:
		y, ok := b.(string)
		return ok && x == y
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equal(x[i], y[i]) {
				return false
			}
		}
		return true
	case *chat.Object:
		y, ok := b.(*chat.Object)
		if !ok || x.Len() != y.Len() {
			return false
		}
		for i := range x.Len() {
			key, v := x.At(i)
			if w, ok := y.Get(key); !ok || !equal(v, w) {
				return false
			}
		}
		return true
	}
	if !pyvalue.IsNumber(b) {
		return false
	}
	if x, ok := a.(float64); ok && math.IsNaN(x) {
		y, ok := b.(float64)
		return ok && math.IsNaN(y) && math.Float64bits(x) != madeNaN && math.Float64bits(y) != madeNaN
	}
	return pyvalue.CompareNumbers(a, b) == 0
}

// items is what a for loop goes through.
func items(v any) iter.Seq[any] {
	return func(yield func(any) bool) {
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				if !yield(item) {
					return
				}
			}
		case *chat.Object:
			for _, key := range v.Keys() {
				if !yield(key) {
					return
				}
			}
		case string:
			for char := range characters(v) {
				if !yield(char) {
					return
				}
			}
		default:
			raise("TypeError", "'%s' object is not iterable", pyvalue.TypeName(v))
		}
	}
}

// characters are the code points of a text, half a surrogate pair being one.
func characters(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(s) > 0 {
			n := sizeOfFirst(s)
			if !yield(s[:n]) {
				return
			}
			s = s[n:]
		}
	}
}

func sizeOfFirst(s string) int {
	_, size := utf8.DecodeRuneInString(s)
	if size == 1 && isSurrogate(s) {
		return 3
	}
	return size
}

// isSurrogate reports whether half a surrogate pair comes first. Loads writes it as UTF-8 would, were it allowed there.
func isSurrogate(s string) bool { return len(s) >= 3 && s[0] == 0xed && s[1] >= 0xa0 }

// inner is s[1:-1].
func inner(s string) string {
	if s == "" {
		return ""
	}
	s = s[sizeOfFirst(s):]
	end := len(s)
	if end >= 3 && isSurrogate(s[end-3:]) {
		return s[:end-3]
	}
	_, size := utf8.DecodeLastRuneInString(s)
	return s[:end-size]
}

// length is len.
func length(v any) int {
	switch v := v.(type) {
	case []any:
		return len(v)
	case *chat.Object:
		return v.Len()
	case string:
		n := 0
		for range characters(v) {
			n++
		}
		return n
	}
	raise("TypeError", "object of type '%s' has no len()", pyvalue.TypeName(v))
	return 0
}

// toList is [v[i] for i in range(len(v))].
func toList(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	if length(v) > 0 && kindOf(v) == dictKind {
		raise("KeyError", "0")
	}
	var list []any
	for item := range items(v) {
		list = append(list, item)
	}
	return list
}

// contains is `item in container`.
func contains(container, item any) bool {
	switch c := container.(type) {
	case string:
		s, ok := item.(string)
		if !ok {
			raise("TypeError", "'in <string>' requires string as left operand, not %s", pyvalue.TypeName(item))
		}
		return strings.Contains(c, s)
	case *chat.Object:
		switch k := item.(type) {
		case string:
			_, ok := c.Get(k)
			return ok
		case []any, *chat.Object:
			raise("TypeError", "unhashable type: '%s'", pyvalue.TypeName(item))
		}
		return false // keys of JSON are texts
	case []any:
		for _, v := range c {
			if equal(v, item) {
				return true
			}
		}
		return false
	}
	raise("TypeError", "argument of type '%s' is not iterable", pyvalue.TypeName(container))
	return false
}

// member is v[key].
func member(v any, key string) any {
	o, ok := v.(*chat.Object)
	if !ok {
		raise("TypeError", "'%s' has no items by name", pyvalue.TypeName(v))
	}
	value, ok := o.Get(key)
	if !ok {
		raise("KeyError", "'%s'", key)
	}
	return value
}

// dict is v where its methods are called.
func dict(v any) *chat.Object {
	o, ok := v.(*chat.Object)
	if !ok {
		raise("AttributeError", "'%s' object has no attribute 'items'", pyvalue.TypeName(v))
	}
	return o
}
