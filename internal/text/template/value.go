package template

import (
	"fmt"
	"math/big"
	"slices"
	"unicode/utf8"

	"hone/internal/chat"
)

// value is what an expression gives. Python's types are these here:
//
//	None, bool, str     nil, bool, string
//	int                 int64, and *big.Int outside of it
//	float               float64
//	list, tuple         []value, tuple
//	dict                *chat.Object, see key
//	range, dict views   *span, *view
//	generators          *iterator
//
// and those only templates know: *undefined, *namespace, *macro, function, *method, *loop. Numbers of the input are
// chat.Number inside lists and dicts until they are taken out.
type value = any

type (
	tuple    []value
	iterator struct {
		next func() (value, bool)
		name string // for str()
	}
	view struct {
		name string // "dict_items"
		dict *chat.Object
	}
	span      struct{ start, stop, step, count int64 } // range(start, stop, step)
	undefined struct {
		message string // empty where it is that the type has not the attribute
		typ     string
		name    string
		class   Class // empty is UndefinedFault
	}
	namespace struct {
		names  []string
		values []value
	}
	macro struct {
		code  *macroCode
		scope *scope
	}
	function func(r *run, a *args) value
	method   struct {
		object value
		name   string
	}
	unset struct{} // a parameter that was not passed
)

// plain turns a number of the input into what is computed with.
func plain(v value) value {
	if n, ok := v.(chat.Number); ok {
		return number(n)
	}
	return v
}

func number(n chat.Number) value {
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
			return shrink(b)
		}
		small = small*10 + int64(n[i]-'0')
	}
	if n[0] == '-' {
		small = -small
	}
	return small
}

// shrink keeps big.Int for what needs it.
func shrink(n *big.Int) value {
	if n.IsInt64() {
		return n.Int64()
	}
	return n
}

// typeName is Python's.
func typeName(v value) string {
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
	case []value:
		return "list"
	case tuple:
		return "tuple"
	case *chat.Object:
		return "dict"
	case *undefined:
		return "Undefined"
	case *namespace:
		return "Namespace"
	case *macro:
		return "Macro"
	case *loop:
		return "LoopContext"
	case *span:
		return "range"
	case *view:
		return v.name
	case *iterator:
		return v.name
	case *cycler:
		return "Cycler"
	case function:
		return "function"
	case *method:
		return "builtin_function_or_method"
	}
	return fmt.Sprintf("%T", v)
}

func (r *run) truth(v value) bool {
	switch v := v.(type) {
	case nil, *undefined:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case []value:
		return len(v) > 0
	case tuple:
		return len(v) > 0
	case *chat.Object:
		return v.Len() > 0
	case *view:
		return v.dict.Len() > 0
	case *span:
		return v.count > 0
	case *loop:
		return v.length() > 0
	}
	return true
}

// must fails where v is undefined, with what is undefined.
func (r *run) must(v value) {
	if u, ok := v.(*undefined); ok {
		class := u.class
		if class == "" {
			class = UndefinedFault
		}
		if u.message == "" {
			fail(r.at, class, "'%s object' has no attribute '%s'", u.typ, u.name)
		}
		fail(r.at, class, "%s", u.message)
	}
}

// length is Python's len, false where it is a TypeError.
func length(v value) (int, bool) {
	switch v := v.(type) {
	case string:
		return utf8.RuneCountInString(v), true
	case []value:
		return len(v), true
	case tuple:
		return len(v), true
	case *chat.Object:
		return v.Len(), true
	case *undefined:
		return 0, true
	case *view:
		return v.dict.Len(), true
	case *span:
		return int(v.count), true
	case *loop:
		return v.length(), true
	}
	return 0, false
}

// isIterable reports whether iterate has items to give.
func isIterable(v value) bool {
	switch v.(type) {
	case []value, tuple, *chat.Object, *view, *span, *undefined, *iterator, *loop, string:
		return true
	}
	return false
}

func (n *namespace) get(name string) (value, bool) {
	if i := slices.Index(n.names, name); i >= 0 {
		return n.values[i], true
	}
	return nil, false
}

func (n *namespace) set(name string, v value) {
	if i := slices.Index(n.names, name); i >= 0 {
		n.values[i] = v
		return
	}
	n.names, n.values = append(slices.Clip(n.names), name), append(n.values, v)
}

func (s *span) at(i int64) value { return s.start + i*s.step }

// iterate returns a function that gives the items one by one, nil where v has none to give.
func iterate(v value) func() (value, bool) {
	i := -1
	each := func(n int, item func(i int) value) func() (value, bool) {
		return func() (value, bool) {
			i++
			if i >= n {
				return nil, false
			}
			return item(i), true
		}
	}
	switch v := v.(type) {
	case []value:
		return each(len(v), func(i int) value { return plain(v[i]) })
	case tuple:
		return each(len(v), func(i int) value { return plain(v[i]) })
	case *chat.Object:
		return each(v.Len(), func(i int) value { return key(v.Keys()[i]) })
	case *view:
		items := v.list()
		return each(len(items), func(i int) value { return items[i] })
	case *span:
		return each(int(v.count), func(i int) value { return v.at(int64(i)) })
	case *undefined:
		return each(0, nil)
	case *iterator:
		return v.next
	case *loop:
		return func() (value, bool) {
			if !v.advance() {
				return nil, false
			}
			return tuple{v.item(v.index), v}, true
		}
	case string:
		return func() (value, bool) {
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

// each is iterate for a value that must have items.
func (r *run) each(v value) func() (value, bool) {
	next := iterate(v)
	if next == nil {
		fail(r.at, TypeFault, "'%s' object is not iterable", typeName(v))
	}
	return next
}

// itemBytes is what a list costs for each item.
const itemBytes = 16

func (r *run) clone(items []value) []value {
	r.charge(itemBytes * len(items))
	return slices.Clone(items)
}

// list returns all items. The result may be v's own: it is not written to.
func (r *run) list(v value) []value {
	switch v := v.(type) {
	case []value:
		return v
	case tuple:
		return v
	case *view:
		return v.list()
	}
	next := r.each(v)
	items := []value{}
	for item, ok := next(); ok; item, ok = next() {
		r.step()
		r.charge(itemBytes)
		items = append(items, item)
	}
	return items
}
