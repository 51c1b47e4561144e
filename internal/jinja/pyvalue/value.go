// Package pyvalue holds Python's values and their rules: truth, comparison, text, numbers, sequences, and the methods
// of str, dict and list, as chat templates use them. The template room evaluates Jinja with them.
//
// Operations are methods of a Meter, which counts what they cost. What Python raises, they panic with as a *Failure.
package pyvalue

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"hone/internal/chat"
)

// Value is a value of Python. Its types are these here:
//
//	None, bool, str     nil, bool, string
//	int                 int64, and *big.Int outside of it
//	float               float64
//	list, tuple         []Value, Tuple
//	dict                *chat.Object, see Key
//	range, dict views   *Range, *View
//	generators          *Iterator
//
// Undefined is what is not there, and Foreign those that only the language above knows. Numbers of the input are
// chat.Number inside lists and dicts until they are taken out.
type Value = any

type (
	Tuple    []Value
	Iterator struct {
		Next func() (Value, bool)
		Name string // for str()
	}
	View struct {
		Name string // "dict_items"
		Dict *chat.Object
	}
	Range     struct{ start, stop, step, count int64 } // range(start, stop, step)
	Undefined struct {
		Message string // empty where it is that the type has not the attribute
		Type    string
		Name    string
		Class   Class // empty is UndefinedFault
	}
	Unset struct{} // a parameter that was not passed
)

// Foreign is a value of the language above. It may also be sized, iterable and shown.
type Foreign interface{ TypeName() string }

// Sized has a length; where that is 0, the value is false.
type Sized interface{ Len() int }

// Iterable gives its items one by one.
type Iterable interface {
	Iterate() func() (Value, bool)
}

// Shown writes its text, depth being how many values it stands within.
type Shown interface {
	AppendRepr(m *Meter, b *strings.Builder, depth int)
}

// Plain turns a number of the input into what is computed with.
func Plain(v Value) Value {
	if n, ok := v.(chat.Number); ok {
		return number(n)
	}
	return v
}

func number(n chat.Number) Value {
	if !n.IsInteger() {
		return n.Float()
	}
	var small int64
	for i := range len(n) {
		if n[i] == '-' {
			continue
		}
		if i == 18 {
			b, _ := new(big.Int).SetString(string(n), 10) // JSON's integers are Go's
			return Shrink(b)
		}
		small = small*10 + int64(n[i]-'0')
	}
	if n[0] == '-' {
		small = -small
	}
	return small
}

// Shrink keeps big.Int for what needs it.
func Shrink(n *big.Int) Value {
	if n.IsInt64() {
		return n.Int64()
	}
	return n
}

// TypeName is Python's.
func TypeName(v Value) string {
	switch v := v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int64, *big.Int:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case []Value:
		return "list"
	case Tuple:
		return "tuple"
	case *chat.Object:
		return "dict"
	case *Undefined:
		return "Undefined"
	case *Range:
		return "range"
	case *View:
		return v.Name
	case *Iterator:
		return v.Name
	case Foreign:
		return v.TypeName()
	}
	return fmt.Sprintf("%T", v)
}

// Truth is Python's bool().
func (m *Meter) Truth(v Value) bool {
	switch v := v.(type) {
	case nil, *Undefined:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case []Value:
		return len(v) > 0
	case Tuple:
		return len(v) > 0
	case *chat.Object:
		return v.Len() > 0
	case *View:
		return v.Dict.Len() > 0
	case *Range:
		return v.count > 0
	case Sized:
		return v.Len() > 0
	}
	return true
}

// Must fails where v is undefined, with what is undefined.
func (m *Meter) Must(v Value) {
	if u, ok := v.(*Undefined); ok {
		class := u.Class
		if class == "" {
			class = UndefinedFault
		}
		if u.Message == "" {
			Fail(m.At, class, "'%s object' has no attribute '%s'", u.Type, u.Name)
		}
		Fail(m.At, class, "%s", u.Message)
	}
}

// Length is Python's len, false where it is a TypeError.
func Length(v Value) (int, bool) {
	switch v := v.(type) {
	case string:
		return utf8.RuneCountInString(v), true
	case []Value:
		return len(v), true
	case Tuple:
		return len(v), true
	case *chat.Object:
		return v.Len(), true
	case *Undefined:
		return 0, true
	case *View:
		return v.Dict.Len(), true
	case *Range:
		return int(v.count), true
	case Sized:
		return v.Len(), true
	}
	return 0, false
}

// IsIterable reports whether iterate has items to give.
func IsIterable(v Value) bool {
	switch v.(type) {
	case []Value, Tuple, *chat.Object, *View, *Range, *Undefined, *Iterator, Iterable, string:
		return true
	}
	return false
}

func (s *Range) at(i int64) Value { return s.start + i*s.step }

// Iterate returns a function that gives the items one by one, nil where v has none to give.
func Iterate(v Value) func() (Value, bool) {
	i := -1
	each := func(n int, item func(i int) Value) func() (Value, bool) {
		return func() (Value, bool) {
			i++
			if i >= n {
				return nil, false
			}
			return item(i), true
		}
	}
	switch v := v.(type) {
	case []Value:
		return each(len(v), func(i int) Value { return Plain(v[i]) })
	case Tuple:
		return each(len(v), func(i int) Value { return Plain(v[i]) })
	case *chat.Object:
		return each(v.Len(), func(i int) Value { return Key(v.Keys()[i]) })
	case *View:
		items := v.List()
		return each(len(items), func(i int) Value { return items[i] })
	case *Range:
		return each(int(v.count), func(i int) Value { return v.at(int64(i)) })
	case *Undefined:
		return each(0, nil)
	case *Iterator:
		return v.Next
	case Iterable:
		return v.Iterate()
	case string:
		return func() (Value, bool) {
			if v == "" {
				return nil, false
			}
			_, size := utf8.DecodeRuneInString(v)
			char := v[:size]
			v = v[size:]
			return char, true
		}
	}
	return nil
}

// Each is iterate for a value that must have items.
func (m *Meter) Each(v Value) func() (Value, bool) {
	next := Iterate(v)
	if next == nil {
		Fail(m.At, TypeFault, "'%s' object is not iterable", TypeName(v))
	}
	return next
}

// ItemBytes is what a list costs for each item.
const ItemBytes = 16

// Clone copies a list, and not its items.
func (m *Meter) Clone(items []Value) []Value {
	m.Charge(ItemBytes * len(items))
	return slices.Clone(items)
}

// List returns all items. The result may be v's own: it is not written to.
func (m *Meter) List(v Value) []Value {
	switch v := v.(type) {
	case []Value:
		return v
	case Tuple:
		return v
	case *View:
		return v.List()
	}
	next := m.Each(v)
	items := []Value{}
	for item, ok := next(); ok; item, ok = next() {
		m.Step()
		m.Charge(ItemBytes)
		items = append(items, item)
	}
	return items
}
