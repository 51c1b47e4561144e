package template

import (
	"math"
	"math/big"
	"strings"

	"hone/internal/chat"
)

// equal is Python's ==.
func (r *run) equal(a, b value) bool {
	if x, ok := a.(string); ok { // as most comparisons are
		y, ok := b.(string)
		r.scan(len(x))
		return ok && x == y
	}
	return r.equalAt(a, b, 0)
}

func (r *run) equalAt(a, b value, depth int) bool {
	if depth > maxRepr {
		fail(r.at, RecursionFault, "maximum recursion depth exceeded in comparison")
	}
	a, b = plain(a), plain(b)
	switch x := a.(type) {
	case string:
		y, ok := b.(string)
		r.scan(len(x))
		return ok && x == y
	case nil:
		return b == nil
	case *undefined:
		_, ok := b.(*undefined)
		return ok
	case []value:
		y, ok := b.([]value)
		return ok && r.equalLists(x, y, depth)
	case tuple:
		y, ok := b.(tuple)
		return ok && r.equalLists(x, y, depth)
	case *chat.Object:
		y, ok := b.(*chat.Object)
		if !ok || x.Len() != y.Len() {
			return false
		}
		for i := range x.Len() {
			r.step()
			key, v := x.At(i)
			if w, ok := y.Get(key); !ok || !r.equalAt(v, w, depth+1) {
				return false
			}
		}
		return true
	case *span:
		y, ok := b.(*span)
		return ok && x.count == y.count && (x.count == 0 || x.start == y.start && (x.count == 1 || x.step == y.step))
	case function, unset:
		return false
	}
	if isNumber(a) {
		return isNumber(b) && compareNumbers(a, b) == 0
	}
	return a == b // the rest are pointers
}

func (r *run) equalLists(a, b []value, depth int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		r.step()
		if !r.equalAt(a[i], b[i], depth+1) {
			return false
		}
	}
	return true
}

func isNumber(v value) bool {
	switch v.(type) {
	case bool, int64, *big.Int, float64:
		return true
	}
	return false
}

// unordered is what compareNumbers gives where one is NaN.
const unordered = 2

// compareNumbers is exact: 2**53 + 1 and its nearest float differ.
func compareNumbers(a, b value) int {
	a, b = integerOf(a), integerOf(b)
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
	for _, v := range []value{a, b} {
		if f, ok := v.(float64); ok && math.IsNaN(f) {
			return unordered
		}
	}
	return bigFloat(a).Cmp(bigFloat(b))
}

func bigFloat(v value) *big.Float {
	switch v := v.(type) {
	case float64:
		return big.NewFloat(v)
	case *big.Int:
		return new(big.Float).SetInt(v)
	}
	return new(big.Float).SetInt64(v.(int64))
}

// integerOf makes a bool the number it is in Python.
func integerOf(v value) value {
	if b, ok := v.(bool); ok {
		if b {
			return int64(1)
		}
		return int64(0)
	}
	return v
}

// order is -1, 0 or 1 as a is less than, equal to or more than b, or unordered; op is for the error of values that
// have no order.
func (r *run) order(a, b value, op string) int {
	a, b = plain(a), plain(b)
	r.must(a)
	r.must(b)
	r.step()
	if isNumber(a) && isNumber(b) {
		return compareNumbers(a, b)
	}
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			r.scan(min(len(x), len(y)))
			return strings.Compare(x, y)
		}
	case []value:
		if y, ok := b.([]value); ok {
			return r.orderLists(x, y, op)
		}
	case tuple:
		if y, ok := b.(tuple); ok {
			return r.orderLists(x, y, op)
		}
	}
	fail(r.at, TypeFault, "'%s' not supported between instances of '%s' and '%s'", op, typeName(a), typeName(b))
	return 0
}

func (r *run) orderLists(a, b []value, op string) int {
	r.enter(r.at)
	defer r.leave()
	for i := range min(len(a), len(b)) {
		if !r.equal(a[i], b[i]) {
			return r.order(a[i], b[i], op)
		}
	}
	return compareNumbers(int64(len(a)), int64(len(b)))
}

// comparer runs one of Python's comparison operators.
type comparer func(r *run, a, b value) bool

func comparing(op string) comparer {
	switch op {
	case "==":
		return (*run).equal
	case "!=":
		return func(r *run, a, b value) bool { return !r.equal(a, b) }
	case "in":
		return func(r *run, a, b value) bool { return r.contains(b, a) }
	case "not in":
		return func(r *run, a, b value) bool { return !r.contains(b, a) }
	case "<":
		return func(r *run, a, b value) bool { return r.order(a, b, op) == -1 }
	case "<=":
		return func(r *run, a, b value) bool { c := r.order(a, b, op); return c == -1 || c == 0 }
	case ">":
		return func(r *run, a, b value) bool { return r.order(a, b, op) == 1 }
	}
	return func(r *run, a, b value) bool { c := r.order(a, b, op); return c == 0 || c == 1 }
}

// contains is Python's item in container.
func (r *run) contains(container, item value) bool {
	switch c := container.(type) {
	case string:
		s, ok := item.(string)
		if !ok {
			fail(r.at, TypeFault, "'in <string>' requires string as left operand, not %s", typeName(item))
		}
		r.scan(len(c))
		return strings.Contains(c, s)
	case *chat.Object:
		r.hashable(item)
		_, ok := r.get(c, item)
		return ok
	}
	if list, ok := container.([]value); ok {
		if s, ok := item.(string); ok { // the usual case, without the detours
			return r.hasString(list, s)
		}
	}
	next := iterate(container)
	if next == nil {
		fail(r.at, TypeFault, "argument of type '%s' is not iterable", typeName(container))
	}
	for v, ok := next(); ok; v, ok = next() {
		r.step()
		if r.equal(v, item) {
			return true
		}
	}
	return false
}

func (r *run) hasString(list []value, s string) bool {
	for _, v := range list {
		r.step()
		if t, ok := v.(string); ok && len(t) == len(s) {
			r.scan(len(s))
			if t == s {
				return true
			}
		}
	}
	return false
}

// hashable fails for what cannot be a key.
func (r *run) hashable(v value) {
	switch v := v.(type) {
	case []value, *chat.Object:
		fail(r.at, TypeFault, "unhashable type: '%s'", typeName(v))
	case tuple:
		r.enter(r.at)
		defer r.leave()
		for _, item := range v {
			r.hashable(item)
		}
	}
}
