package jinja

import (
	"hone/internal/chat"
	"hone/internal/jinja/pyvalue"
)

// test is what {{ v is name(a) }} runs.
type test func(r *run, v value, a *pyvalue.Args) bool

// testByName returns nil for a name that jinja2 does not know either.
func testByName(name string) test {
	if t := typeTest(name); t != nil {
		return func(r *run, v value, a *pyvalue.Args) bool { r.Bind(a, name, 0); return t(v) }
	}
	switch name {
	case "==", "eq", "equalto":
		return comparisonTest("==")
	case "!=", "ne":
		return comparisonTest("!=")
	case ">", "gt", "greaterthan":
		return comparisonTest(">")
	case ">=", "ge":
		return comparisonTest(">=")
	case "<", "lt", "lessthan":
		return comparisonTest("<")
	case "<=", "le":
		return comparisonTest("<=")
	case "in":
		return comparisonTest("in")
	case "odd", "even":
		return func(r *run, v value, a *pyvalue.Args) bool {
			r.Bind(a, name, 0)
			rest := map[string]int64{"even": 0, "odd": 1}[name]
			return r.Equal(r.Binary("%", v, int64(2)), rest)
		}
	case "divisibleby":
		return func(r *run, v value, a *pyvalue.Args) bool {
			return r.Equal(r.Binary("%", v, r.Bind(a, name, 1, "num")[0]), int64(0))
		}
	case "lower", "upper":
		return func(r *run, v value, a *pyvalue.Args) bool {
			r.Bind(a, name, 0)
			text := r.Text(v)
			r.Scan(len(text))
			return pyvalue.CaseTest(text, "is"+name)
		}
	case "filter":
		return func(r *run, v value, a *pyvalue.Args) bool {
			r.Bind(a, name, 0)
			r.Hashable(v)
			s, ok := v.(string)
			return ok && filterByName(s) != nil
		}
	case "test":
		return func(r *run, v value, a *pyvalue.Args) bool {
			r.Bind(a, name, 0)
			r.Hashable(v)
			s, ok := v.(string)
			return ok && testByName(s) != nil
		}
	case "sameas":
		return func(r *run, v value, a *pyvalue.Args) bool { return same(v, r.Bind(a, name, 1, "other")[0]) }
	}
	return nil
}

func comparisonTest(op string) test {
	compares := pyvalue.Comparing(op)
	return func(r *run, v value, a *pyvalue.Args) bool {
		return compares(&r.Meter, v, r.Bind(a, op, 1, "other")[0])
	}
}

// typeTest returns the tests that look at the kind of a value alone.
func typeTest(name string) func(v value) bool {
	switch name {
	case "defined":
		return func(v value) bool { _, missing := v.(*pyvalue.Undefined); return !missing }
	case "undefined":
		return func(v value) bool { _, missing := v.(*pyvalue.Undefined); return missing }
	case "none":
		return func(v value) bool { return v == nil }
	case "true":
		return func(v value) bool { return v == true }
	case "false":
		return func(v value) bool { return v == false }
	case "boolean":
		return func(v value) bool { _, ok := v.(bool); return ok }
	case "integer":
		return func(v value) bool { _, isBool := v.(bool); return !isBool && pyvalue.IsInteger(v) }
	case "float":
		return func(v value) bool { _, ok := v.(float64); return ok }
	case "number":
		return pyvalue.IsNumber
	case "string":
		return func(v value) bool { _, ok := v.(string); return ok }
	case "mapping":
		return func(v value) bool { _, ok := v.(*chat.Object); return ok }
	case "iterable":
		return pyvalue.IsIterable
	case "sequence":
		return func(v value) bool {
			switch v.(type) {
			case string, []value, pyvalue.Tuple, *chat.Object, *pyvalue.Range, *pyvalue.Undefined:
				return true
			}
			return false
		}
	case "callable":
		return isCallable
	case "escaped":
		// nothing is Markup without autoescape, but |safe, whose text is the same
		return func(value) bool { return false }
	}
	return nil
}

// same is Python's "is", as far as a template can rely on it: constants, and one object with itself.
func same(a, b value) bool {
	switch x := a.(type) {
	case []value:
		y, ok := b.([]value)
		return ok && len(x) == len(y) && len(x) > 0 && &x[0] == &y[0]
	case pyvalue.Tuple:
		y, ok := b.(pyvalue.Tuple)
		return ok && len(x) == len(y) && (len(x) == 0 || &x[0] == &y[0])
	case function:
		return false
	case *pyvalue.Undefined:
		return false
	}
	switch b.(type) {
	case []value, pyvalue.Tuple, function:
		return false
	}
	return a == b
}
