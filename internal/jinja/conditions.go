package jinja

import "hone/internal/jinja/pyvalue"

// condition compiles an expression of which only the truth counts.
func (c *compiler) condition(e expression) condition {
	switch e := e.(type) {
	case *notExpression:
		operand := c.condition(e.operand)
		return func(r *run) bool { r.Step(); return !operand(r) }
	case *andExpression:
		left, right := c.condition(e.left), c.condition(e.right)
		return func(r *run) bool { r.Step(); return left(r) && right(r) }
	case *orExpression:
		left, right := c.condition(e.left), c.condition(e.right)
		return func(r *run) bool { r.Step(); return left(r) || right(r) }
	case *compareExpression:
		return c.compare(e)
	case *testExpression:
		return c.test(e)
	}
	v := c.value(e)
	return func(r *run) bool { return r.Truth(v(r)) }
}

func (c *compiler) compare(e *compareExpression) condition {
	first := c.value(e.first)
	if len(e.links) == 1 {
		return c.compareTwo(first, e.links[0])
	}
	rights, compares := make([]code, len(e.links)), make([]pyvalue.Comparer, len(e.links))
	for i, link := range e.links {
		rights[i], compares[i] = c.value(link.right), pyvalue.Comparing(link.operator)
	}
	return func(r *run) bool {
		left := first(r)
		for i, link := range e.links {
			r.Step()
			right := rights[i](r)
			r.At = link.at
			if !compares[i](&r.Meter, left, right) {
				return false
			}
			left = right
		}
		return true
	}
}

func (c *compiler) compareTwo(first code, link comparison) condition {
	if k, ok := link.right.(constant); ok && (link.operator == "==" || link.operator == "!=") {
		if text, ok := k.value.(string); ok { // as most comparisons are
			return equalText(first, text, link.operator == "==")
		}
	}
	right, compares := c.value(link.right), pyvalue.Comparing(link.operator)
	return func(r *run) bool {
		r.Step()
		a := first(r)
		b := right(r)
		r.At = link.at
		return compares(&r.Meter, a, b)
	}
}

func equalText(v code, text string, want bool) condition {
	steps := len(text) / 64
	return func(r *run) bool {
		r.Steps += steps
		r.Step()
		s, ok := v(r).(string)
		return (ok && s == text) == want
	}
}

func (c *compiler) test(e *testExpression) condition {
	base := e.base.compile(c)
	if is := typeTest(e.name); is != nil && e.arguments.none() {
		return func(r *run) bool {
			r.Step()
			v := base(r)
			if m, marked := v.(markup); marked {
				v = string(m)
				if e.name == "escaped" {
					return true
				}
			}
			return is(v)
		}
	}
	arguments := c.arguments(e.arguments)
	return func(r *run) bool {
		r.Step()
		v := base(r)
		a := arguments(r)
		r.At = e.at
		if m, marked := v.(markup); marked {
			if e.name == "escaped" {
				return true
			}
			v = string(m)
		}
		if e.run == nil {
			pyvalue.Fail(e.at, RuntimeFault, "No test named '%s' found.", e.name)
		}
		return e.run(r, v, a)
	}
}
