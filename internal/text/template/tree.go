package template

import (
	"math"
	"strings"

	"hone/internal/chat"
)

// expression is a node of the tree that Compile makes.
type expression interface{ eval(r *run) value }

type (
	constant         struct{ value value }
	bodyExpression   struct{} // the text of the block that a filter follows
	tupleExpression  struct{ items []expression }
	listExpression   struct{ items []expression }
	concatExpression struct{ parts []expression }
	notExpression    struct{ operand expression }
	andExpression    struct{ left, right expression }
	orExpression     struct{ left, right expression }
	nameExpression   struct {
		id   int
		name string
		at   int
	}
	namespaceExpression struct { // ns.x on the left of =
		id        int
		attribute string
		at        int
	}
	dictExpression struct {
		keys, values []expression
		at           int
	}
	attributeExpression struct {
		object expression
		name   string
		at     int
		member bool       // of a dict, the name is a member's and nothing else
		absent *undefined // what a dict without that member gives
	}
	itemExpression struct {
		object, item expression
		at           int
	}
	sliceExpression struct {
		object expression
		bounds [3]expression // each may be nil
		at     int
	}
	callExpression struct {
		function  expression
		arguments arguments
		at        int
	}
	filterExpression struct {
		base      expression
		name      string
		run       filter // nil if it does not exist
		arguments arguments
		at        int
	}
	testExpression struct {
		base      expression
		name      string
		run       test // nil if it does not exist
		arguments arguments
		at        int
	}
	conditionalExpression struct{ test, then, otherwise expression } // otherwise may be nil
	signExpression        struct {
		sign    string
		operand expression
		at      int
	}
	binaryExpression struct {
		operator    string
		left, right expression
		at          int
	}
	comparison struct {
		operator string
		right    expression
		at       int
	}
	compareExpression struct {
		first expression
		links []comparison
	}
	arguments struct {
		positional []expression
		names      []string
		named      []expression
		list, dict expression // of * and **, or nil
		fixed      *args      // the values where all are constants; nobody writes to them
	}
)

func (r *run) eval(e expression) value {
	return unmarked(r.raw(e))
}

func (e constant) eval(*run) value          { return e.value }
func (bodyExpression) eval(r *run) value    { return r.body }
func (e *nameExpression) eval(r *run) value { return r.lookup(e.id) }

func (e *namespaceExpression) eval(r *run) value {
	return r.attribute(r.lookup(e.id), e.attribute)
}

func (r *run) evalAll(list []expression) []value {
	r.charge(itemBytes * len(list))
	values := r.newValues(len(list))
	for i, e := range list {
		values[i] = r.eval(e)
	}
	return values
}

func (e *tupleExpression) eval(r *run) value { return tuple(r.evalAll(e.items)) }
func (e *listExpression) eval(r *run) value  { return r.evalAll(e.items) }

func (e *dictExpression) eval(r *run) value {
	d := &chat.Object{}
	d.Grow(len(e.keys))
	for i, k := range e.keys {
		key := r.eval(k)
		v := r.eval(e.values[i])
		r.at = e.at
		r.set(d, key, v)
	}
	return d
}

func (e *concatExpression) eval(r *run) value {
	var few [8]string
	parts := few[:0]
	for _, part := range e.parts {
		text := r.text(r.eval(part))
		r.charge(len(text))
		parts = append(parts, text)
	}
	return strings.Join(parts, "")
}

func (e *notExpression) eval(r *run) value { return !r.truth(r.eval(e.operand)) }

func (e *andExpression) eval(r *run) value {
	if v := r.eval(e.left); !r.truth(v) {
		return v
	}
	return r.eval(e.right)
}

func (e *orExpression) eval(r *run) value {
	if v := r.eval(e.left); r.truth(v) {
		return v
	}
	return r.eval(e.right)
}

func (e *conditionalExpression) eval(r *run) value {
	if branch := r.branch(e); branch != nil {
		return r.raw(branch)
	}
	return &undefined{message: "the inline if-expression evaluated to false and no else section was defined."}
}

// branch is the part of a condition that counts, nil for an else that is not there.
func (r *run) branch(e *conditionalExpression) expression {
	if r.truth(r.eval(e.test)) {
		return e.then
	}
	return e.otherwise
}

func (e *compareExpression) eval(r *run) value {
	left := r.eval(e.first)
	for _, link := range e.links {
		right := r.eval(link.right)
		r.at = link.at
		if !r.compares(link.operator, left, right) {
			return false
		}
		left = right
	}
	return true
}

func (e *binaryExpression) eval(r *run) value {
	if e.operator == "+" {
		var few [8]string
		parts, sum, ok := r.sum(e, few[:0])
		if ok {
			return strings.Join(parts, "")
		}
		return sum
	}
	left := r.raw(e.left)
	right := r.raw(e.right)
	r.at = e.at
	if _, ok := left.(markup); ok && e.operator == "%" {
		fail(e.at, Unsupported, "%% on what is marked safe")
	}
	return r.binary(e.operator, unmarked(left), unmarked(right))
}

// sum adds from left to right. While all operands are strings it only collects them, for one join at the end, and
// reports true; else the sum is the value.
func (r *run) sum(e expression, parts []string) ([]string, value, bool) {
	b, ok := e.(*binaryExpression)
	if !ok || b.operator != "+" {
		v := r.raw(e)
		if s, ok := v.(string); ok {
			return append(parts, s), nil, true
		}
		return parts, v, false
	}
	r.step()
	parts, left, ok := r.sum(b.left, parts)
	right := r.raw(b.right)
	r.at = b.at
	if ok {
		if s, isString := right.(string); isString {
			r.charge(len(s))
			return append(parts, s), nil, true
		}
		left = strings.Join(parts, "")
		parts = parts[:0]
	}
	if joined, ok := r.joinMarkup(left, right); ok {
		return parts, joined, false
	}
	return parts, r.binary("+", unmarked(left), unmarked(right)), false
}

func (e *signExpression) eval(r *run) value {
	v := r.eval(e.operand)
	r.at = e.at
	r.must(v)
	if !isNumber(v) {
		fail(e.at, TypeFault, "bad operand type for unary %s: '%s'", e.sign, typeName(v))
	}
	if e.sign == "-" {
		return r.binary("-", negativeZero(v), v)
	}
	return integerOf(v)
}

// negativeZero is what a number is subtracted from to change its sign: -0.0 keeps that of a zero.
func negativeZero(v value) value {
	if _, ok := v.(float64); ok {
		return math.Copysign(0, -1)
	}
	return int64(0)
}

func (e *attributeExpression) eval(r *run) value {
	object := r.eval(e.object)
	if d, ok := object.(*chat.Object); ok && e.member {
		if v, ok := d.Get(e.name); ok {
			return plain(v)
		}
		return e.absent
	}
	r.at = e.at
	return r.attribute(object, e.name)
}

func (e *itemExpression) eval(r *run) value {
	object := r.whole(e.object, e.at)
	item := r.eval(e.item)
	r.at = e.at
	return r.item(object, item)
}

func (e *sliceExpression) eval(r *run) value {
	object := r.whole(e.object, e.at)
	var bounds [3]value
	for i, b := range e.bounds {
		if b != nil {
			bounds[i] = r.eval(b)
		}
	}
	r.at = e.at
	return r.slice(object, bounds)
}

func (e *filterExpression) eval(r *run) value {
	base := r.raw(e.base)
	a := r.arguments(e.arguments)
	r.at = e.at
	if e.run == nil {
		fail(e.at, RuntimeFault, "No filter named '%s' found.", e.name)
	}
	m, marked := base.(markup)
	if !marked {
		return e.run(r, base, a)
	}
	if e.name == "e" || e.name == "escape" {
		return m
	}
	return e.remark(e.run(r, string(m), a))
}

func (e *testExpression) eval(r *run) value {
	base := r.raw(e.base)
	a := r.arguments(e.arguments)
	r.at = e.at
	if m, marked := base.(markup); marked {
		if e.name == "escaped" {
			return true
		}
		base = string(m)
	}
	if e.run == nil {
		fail(e.at, RuntimeFault, "No test named '%s' found.", e.name)
	}
	return e.run(r, base, a)
}

// eval calls methods without making a value of them first.
func (e *callExpression) eval(r *run) value {
	if m, ok := e.function.(*attributeExpression); ok {
		object := r.whole(m.object, m.at)
		r.at = m.at
		if hasMethod(object, m.name) {
			a := r.arguments(e.arguments)
			r.at = e.at
			return r.callMethod(object, m.name, a)
		}
		fn := r.attribute(object, m.name)
		a := r.arguments(e.arguments)
		r.at = e.at
		return r.call(fn, a)
	}
	fn := r.eval(e.function)
	a := r.arguments(e.arguments)
	r.at = e.at
	return r.call(fn, a)
}

func (r *run) call(fn value, a *args) value {
	switch f := fn.(type) {
	case function:
		return f(r, a)
	case *method:
		return r.callMethod(f.object, f.name, a)
	case *macro:
		start := r.capture()
		r.callMacro(f, a)
		return r.captured(start)
	case *loop:
		if f.again == nil {
			fail(r.at, TypeFault, "The loop must have the 'recursive' marker to be called recursively.")
		}
		return f.again(a.bind(r, "loop", 1, "iterable")[0])
	}
	r.must(fn)
	fail(r.at, TypeFault, "'%s' object is not callable", typeName(fn))
	return nil
}

func isCallable(v value) bool {
	switch v.(type) {
	case function, *method, *macro, *loop, *undefined:
		return true
	}
	return false
}
