package pyvalue

import (
	"math"
	"math/big"
	"reflect"
	"strings"

	"hone/internal/chat"
)

// Equal is Python's ==.
func (m *Meter) Equal(a, b Value) bool {
	if x, ok := a.(string); ok { // as most comparisons are
		y, ok := b.(string)
		m.Scan(len(x))
		return ok && x == y
	}
	return m.equalAt(a, b, 0)
}

func (m *Meter) equalAt(a, b Value, depth int) bool {
	if depth > maxRepr {
		Fail(m.At, RecursionFault, "maximum recursion depth exceeded in comparison")
	}
	a, b = Plain(a), Plain(b)
	switch x := a.(type) {
	case string:
		y, ok := b.(string)
		m.Scan(len(x))
		return ok && x == y
	case nil:
		return b == nil
	case *Undefined:
		_, ok := b.(*Undefined)
		return ok
	case []Value:
		y, ok := b.([]Value)
		return ok && m.equalLists(x, y, depth)
	case Tuple:
		y, ok := b.(Tuple)
		return ok && m.equalLists(x, y, depth)
	case *chat.Object:
		y, ok := b.(*chat.Object)
		if !ok || x.Len() != y.Len() {
			return false
		}
		for i := range x.Len() {
			m.Step()
			key, v := x.At(i)
			if w, ok := y.Get(key); !ok || !m.equalAt(v, w, depth+1) {
				return false
			}
		}
		return true
	case *Range:
		y, ok := b.(*Range)
		return ok && x.count == y.count && (x.count == 0 || x.start == y.start && (x.count == 1 || x.step == y.step))
	case Unset:
		return false
	case Foreign:
		if !reflect.TypeOf(a).Comparable() {
			return false
		}
	}
	if IsNumber(a) {
		return IsNumber(b) && CompareNumbers(a, b) == 0
	}
	return a == b // the rest are pointers
}

func (m *Meter) equalLists(a, b []Value, depth int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		m.Step()
		if !m.equalAt(a[i], b[i], depth+1) {
			return false
		}
	}
	return true
}

// IsNumber holds for bool, int and float.
func IsNumber(v Value) bool {
	switch v.(type) {
	case bool, int64, *big.Int, float64:
		return true
	}
	return false
}

// Unordered is what compareNumbers gives where one is NaN.
const Unordered = 2

// CompareNumbers is exact: 2**53 + 1 and its nearest float differ.
func CompareNumbers(a, b Value) int {
	a, b = IntegerOf(a), IntegerOf(b)
	x, xIsInt := a.(int64)
	y, yIsInt := b.(int64)
	if xIsInt && yIsInt {
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	}
	for _, v := range []Value{a, b} {
		if f, ok := v.(float64); ok && math.IsNaN(f) {
			return Unordered
		}
	}
	return bigFloat(a).Cmp(bigFloat(b))
}

func bigFloat(v Value) *big.Float {
	switch v := v.(type) {
	case float64:
		return big.NewFloat(v)
	case *big.Int:
		return new(big.Float).SetInt(v)
	}
	return new(big.Float).SetInt64(v.(int64))
}

// IntegerOf makes a bool the number it is in Python.
func IntegerOf(v Value) Value {
	if b, ok := v.(bool); ok {
		if b {
			return int64(1)
		}
		return int64(0)
	}
	return v
}

// Order is -1, 0 or 1 as a is less than, equal to or more than b, or unordered; op is for the error of values that
// have no order.
func (m *Meter) Order(a, b Value, op string) int {
	a, b = Plain(a), Plain(b)
	m.Must(a)
	m.Must(b)
	m.Step()
	if IsNumber(a) && IsNumber(b) {
		return CompareNumbers(a, b)
	}
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			m.Scan(min(len(x), len(y)))
			return strings.Compare(x, y)
		}
	case []Value:
		if y, ok := b.([]Value); ok {
			return m.orderLists(x, y, op)
		}
	case Tuple:
		if y, ok := b.(Tuple); ok {
			return m.orderLists(x, y, op)
		}
	}
	Fail(m.At, TypeFault, "'%s' not supported between instances of '%s' and '%s'", op, TypeName(a), TypeName(b))
	return 0
}

func (m *Meter) orderLists(a, b []Value, op string) int {
	m.Enter(m.At)
	defer m.Leave()
	for i := range min(len(a), len(b)) {
		if !m.Equal(a[i], b[i]) {
			return m.Order(a[i], b[i], op)
		}
	}
	return CompareNumbers(int64(len(a)), int64(len(b)))
}

// Comparer runs one of Python's comparison operators.
type Comparer func(m *Meter, a, b Value) bool

// Comparing is the comparison of Python's operator: == != < <= > >= in, not in.
func Comparing(op string) Comparer {
	switch op {
	case "==":
		return (*Meter).Equal
	case "!=":
		return func(m *Meter, a, b Value) bool { return !m.Equal(a, b) }
	case "in":
		return func(m *Meter, a, b Value) bool { return m.Contains(b, a) }
	case "not in":
		return func(m *Meter, a, b Value) bool { return !m.Contains(b, a) }
	case "<":
		return func(m *Meter, a, b Value) bool { return m.Order(a, b, op) == -1 }
	case "<=":
		return func(m *Meter, a, b Value) bool { c := m.Order(a, b, op); return c == -1 || c == 0 }
	case ">":
		return func(m *Meter, a, b Value) bool { return m.Order(a, b, op) == 1 }
	}
	return func(m *Meter, a, b Value) bool { c := m.Order(a, b, op); return c == 0 || c == 1 }
}

// Contains is Python's item in container.
func (m *Meter) Contains(container, item Value) bool {
	switch c := container.(type) {
	case string:
		s, ok := item.(string)
		if !ok {
			Fail(m.At, TypeFault, "'in <string>' requires string as left operand, not %s", TypeName(item))
		}
		m.Scan(len(c))
		return strings.Contains(c, s)
	case *chat.Object:
		m.Hashable(item)
		_, ok := m.Get(c, item)
		return ok
	}
	if list, ok := container.([]Value); ok {
		if s, ok := item.(string); ok { // the usual case, without the detours
			return m.hasString(list, s)
		}
	}
	next := Iterate(container)
	if next == nil {
		Fail(m.At, TypeFault, "argument of type '%s' is not iterable", TypeName(container))
	}
	for v, ok := next(); ok; v, ok = next() {
		m.Step()
		if m.Equal(v, item) {
			return true
		}
	}
	return false
}

func (m *Meter) hasString(list []Value, s string) bool {
	for _, v := range list {
		m.Step()
		if t, ok := v.(string); ok && len(t) == len(s) {
			m.Scan(len(s))
			if t == s {
				return true
			}
		}
	}
	return false
}

// Hashable fails for what cannot be a key.
func (m *Meter) Hashable(v Value) {
	switch v := v.(type) {
	case []Value, *chat.Object:
		Fail(m.At, TypeFault, "unhashable type: '%s'", TypeName(v))
	case Tuple:
		m.Enter(m.At)
		defer m.Leave()
		for _, item := range v {
			m.Hashable(item)
		}
	}
}

// IsInteger holds for bool and int.
func IsInteger(v Value) bool {
	switch v.(type) {
	case bool, int64, *big.Int:
		return true
	}
	return false
}
