package jinja

import (
	"math"

	"hone/internal/chat"
	"hone/internal/jinja/pyvalue"
)

func (e constant) compile(*compiler) code { return func(*run) value { return e.value } }

func (bodyExpression) compile(*compiler) code { return func(r *run) value { return r.body } }

func (e *nameExpression) compile(c *compiler) code {
	if e.name == "loop" {
		c.noteLoop(e.id, true)
	}
	return c.variable(e.id)
}

func (e *namespaceExpression) compile(c *compiler) code {
	variable := c.variable(e.id)
	return func(r *run) value { return r.attribute(variable(r), e.attribute) }
}

func (r *run) evalAll(list []code) []value {
	r.Steps += len(list)
	r.Charge(pyvalue.ItemBytes * len(list))
	values := r.NewValues(len(list))
	for i, item := range list {
		values[i] = item(r)
	}
	return values
}

func (e *tupleExpression) compile(c *compiler) code {
	items := c.values(e.items)
	return func(r *run) value { r.Step(); return pyvalue.Tuple(r.evalAll(items)) }
}

func (e *listExpression) compile(c *compiler) code {
	items := c.values(e.items)
	return func(r *run) value { r.Step(); return r.evalAll(items) }
}

func (e *dictExpression) compile(c *compiler) code {
	keys, values := c.values(e.keys), c.values(e.values)
	return func(r *run) value {
		r.Step()
		d := &chat.Object{}
		d.Grow(len(keys))
		for i, k := range keys {
			key := k(r)
			v := values[i](r)
			r.At = e.at
			r.Set(d, key, v)
		}
		return d
	}
}

// What is put together from parts is written behind the text so far, and taken out again.
func (c *compiler) compileOutput(e expression) code {
	print := c.print(e)
	return func(r *run) value {
		start := r.capture()
		if v, written := print(r); !written {
			r.captures--
			return v
		}
		return r.endCapture(start)
	}
}

func (e *concatExpression) compile(c *compiler) code { return c.compileOutput(e) }

func (e *notExpression) compile(c *compiler) code { return c.truth(e) }

func (e *compareExpression) compile(c *compiler) code { return c.truth(e) }

func (e *testExpression) compile(c *compiler) code { return c.truth(e) }

// truth compiles what is always true or false.
func (c *compiler) truth(e expression) code {
	holds := c.condition(e)
	return func(r *run) value { return holds(r) }
}

func (e *andExpression) compile(c *compiler) code {
	left, right := c.value(e.left), c.value(e.right)
	return func(r *run) value {
		r.Step()
		if v := left(r); !r.Truth(v) {
			return v
		}
		return right(r)
	}
}

func (e *orExpression) compile(c *compiler) code {
	left, right := c.value(e.left), c.value(e.right)
	return func(r *run) value {
		r.Step()
		if v := left(r); r.Truth(v) {
			return v
		}
		return right(r)
	}
}

func (e *conditionalExpression) compile(c *compiler) code {
	test, then := c.condition(e.test), e.then.compile(c)
	missing := &pyvalue.Undefined{Message: "the inline if-expression evaluated to false and no else section " +
		"was defined."}
	otherwise := func(*run) value { return missing }
	if e.otherwise != nil {
		otherwise = e.otherwise.compile(c)
	}
	return func(r *run) value {
		r.Step()
		if test(r) {
			return then(r)
		}
		return otherwise(r)
	}
}

func (e *binaryExpression) compile(c *compiler) code {
	if e.operator == "+" {
		return c.compileOutput(e)
	}
	left, right := e.left.compile(c), e.right.compile(c)
	return func(r *run) value {
		r.Step()
		x := left(r)
		y := right(r)
		r.At = e.at
		if _, ok := x.(markup); ok && e.operator == "%" {
			pyvalue.Fail(e.at, pyvalue.Unsupported, "%% on what is marked safe")
		}
		return r.Binary(e.operator, withoutMarkup(x), withoutMarkup(y))
	}
}

// add is a + b, of which one may be markup.
func (r *run) add(a, b value) value {
	if joined, ok := r.joinMarkup(a, b); ok {
		return joined
	}
	return r.Binary("+", withoutMarkup(a), withoutMarkup(b))
}

func (e *signExpression) compile(c *compiler) code {
	operand := c.value(e.operand)
	return func(r *run) value {
		r.Step()
		v := operand(r)
		r.At = e.at
		r.Must(v)
		if !pyvalue.IsNumber(v) {
			pyvalue.Fail(e.at, pyvalue.TypeFault, "bad operand type for unary %s: '%s'", e.sign, pyvalue.TypeName(v))
		}
		if e.sign == "-" {
			return r.Binary("-", negativeZero(v), v)
		}
		return pyvalue.IntegerOf(v)
	}
}

// negativeZero is what a number is subtracted from to change its sign: -0.0 keeps that of a zero.
func negativeZero(v value) value {
	if _, ok := v.(float64); ok {
		return math.Copysign(0, -1)
	}
	return int64(0)
}

func (e *attributeExpression) compile(c *compiler) code {
	if name, ok := e.object.(*nameExpression); ok && name.name == "loop" {
		return c.loopAttribute(e, name)
	}
	object := e.object.compile(c)
	return func(r *run) value {
		r.Step()
		o := object(r)
		if d, ok := o.(*chat.Object); ok && e.member {
			return e.of(d)
		}
		r.At = e.at
		return r.attribute(withoutMarkup(o), e.name)
	}
}

// of is the member of a dict.
func (e *attributeExpression) of(d *chat.Object) value {
	if v, ok := d.Get(e.name); ok {
		return pyvalue.Plain(v)
	}
	return e.absent
}

func (c *compiler) loopAttribute(e *attributeExpression, name *nameExpression) code {
	c.noteLoop(name.id, e.name == "cycle" || e.name == "changed")
	object := c.variable(name.id)
	return func(r *run) value {
		r.Step()
		o := withoutMarkup(object(r))
		r.At = e.at
		return r.attribute(o, e.name)
	}
}

// whole compiles an expression of which a part is to be taken: a part of markup would be markup too.
func (c *compiler) whole(e expression, at int) code {
	v := e.compile(c)
	return func(r *run) value {
		object := v(r)
		mustBeWhole(object, at)
		return object
	}
}

func mustBeWhole(object value, at int) {
	if _, marked := object.(markup); marked {
		pyvalue.Fail(at, pyvalue.Unsupported, "a part or method of what is marked safe")
	}
}

func (e *itemExpression) compile(c *compiler) code {
	if k, ok := e.item.(constant); ok {
		if name, ok := k.value.(string); ok {
			return newAttribute(e.object, name, e.at).item(e.object.compile(c))
		}
	}
	object := c.whole(e.object, e.at)
	item := c.value(e.item)
	return func(r *run) value {
		r.Step()
		o := object(r)
		i := item(r)
		r.At = e.at
		return r.item(o, i)
	}
}

// item is object["name"].
func (e *attributeExpression) item(object code) code {
	var key value = e.name
	return func(r *run) value {
		r.Step()
		o := object(r)
		if d, ok := o.(*chat.Object); ok {
			if v, ok := d.Get(e.name); ok {
				return pyvalue.Plain(v)
			}
			if e.member {
				return e.absent
			}
		}
		mustBeWhole(o, e.at)
		r.At = e.at
		return r.item(o, key)
	}
}

func (e *sliceExpression) compile(c *compiler) code {
	object := c.whole(e.object, e.at)
	var bounds [3]code
	for i, b := range e.bounds {
		if b != nil {
			bounds[i] = c.value(b)
		}
	}
	return func(r *run) value {
		r.Step()
		o := object(r)
		var values [3]value
		for i, b := range bounds {
			if b != nil {
				values[i] = b(r)
			}
		}
		r.At = e.at
		return r.Slice(o, values)
	}
}

func (e *filterExpression) compile(c *compiler) code {
	base, arguments := e.base.compile(c), c.arguments(e.arguments)
	return func(r *run) value {
		r.Step()
		v := base(r)
		a := arguments(r)
		r.At = e.at
		return e.apply(r, v, a)
	}
}

func (e *filterExpression) apply(r *run, v value, a *pyvalue.Args) value {
	if e.run == nil {
		pyvalue.Fail(e.at, RuntimeFault, "No filter named '%s' found.", e.name)
	}
	m, marked := v.(markup)
	if !marked {
		return e.run(r, v, a)
	}
	if e.name == "e" || e.name == "escape" {
		return m
	}
	return e.remark(e.run(r, string(m), a))
}

// compile calls methods without making a value of them first.
func (e *callExpression) compile(c *compiler) code {
	arguments := c.arguments(e.arguments)
	if m, ok := e.function.(*attributeExpression); ok {
		object := c.whole(m.object, m.at)
		return func(r *run) value {
			r.Step()
			o := object(r)
			r.At = m.at
			if pyvalue.HasMethod(o, m.name) {
				a := arguments(r)
				r.At = e.at
				return r.callOn(o, m.name, a)
			}
			fn := r.attribute(o, m.name)
			a := arguments(r)
			r.At = e.at
			return r.call(fn, a)
		}
	}
	function := c.value(e.function)
	return func(r *run) value {
		r.Step()
		fn := function(r)
		a := arguments(r)
		r.At = e.at
		return r.call(fn, a)
	}
}

func (r *run) call(fn value, a *pyvalue.Args) value {
	switch f := fn.(type) {
	case function:
		return f(r, a)
	case *method:
		return r.callOn(f.object, f.name, a)
	case *macro:
		start := r.capture()
		r.callMacro(f, a)
		return r.endCapture(start)
	case *loop:
		if f.again == nil {
			pyvalue.Fail(r.At, pyvalue.TypeFault, "The loop must have the 'recursive' marker to be called recursively.")
		}
		return f.again(r.Bind(a, "loop", 1, "iterable")[0])
	}
	r.Must(fn)
	pyvalue.Fail(r.At, pyvalue.TypeFault, "'%s' object is not callable", pyvalue.TypeName(fn))
	return nil
}

// callOn calls a method of a value.
func (r *run) callOn(object value, name string, a *pyvalue.Args) value {
	switch o := object.(type) {
	case *loop:
		return o.call(r, name, a)
	case *cycler:
		return o.call(r, name, a)
	}
	return r.CallMethod(object, name, a)
}

func isCallable(v value) bool {
	switch v.(type) {
	case function, *method, *macro, *loop, *pyvalue.Undefined:
		return true
	}
	return false
}
