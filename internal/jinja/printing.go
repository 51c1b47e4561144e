package jinja

// print compiles an expression that is printed, or part of what is put together: text is written where it is made,
// without a string for it.
func (c *compiler) print(e expression) printer {
	switch e := e.(type) {
	case constant:
		if text, ok := e.value.(string); ok {
			return func(r *run) (value, bool) { r.write(text); return nil, true }
		}
	case *concatExpression:
		return c.printConcat(e)
	case *binaryExpression:
		if e.operator == "+" {
			return c.printSum(e)
		}
	case *callExpression:
		if name, ok := e.function.(*nameExpression); ok {
			return c.printCall(e, name)
		}
	case *conditionalExpression:
		if e.otherwise != nil {
			return c.printConditional(e)
		}
	case *filterExpression:
		if e.name == "tojson" {
			return c.printJSON(e)
		}
		if e.write != nil {
			return c.printFilter(e)
		}
	}
	v := e.compile(c)
	return func(r *run) (value, bool) {
		v := v(r)
		if text, ok := v.(string); ok {
			r.write(text)
			return nil, true
		}
		return v, false
	}
}

// compilePrint compiles an expression that is printed whatever its type.
func (c *compiler) compilePrint(e expression) func(r *run) {
	at := -1
	for {
		f, ok := e.(*filterExpression)
		if !ok || f.name != "safe" && f.name != "string" || !f.arguments.none() {
			break
		}
		e, at = f.base, f.at // its text is the same
	}
	print := c.print(e)
	return func(r *run) {
		if v, written := print(r); !written {
			if at >= 0 {
				r.At = at
			}
			r.write(r.Text(withoutMarkup(v)))
		}
	}
}

func (c *compiler) printConcat(e *concatExpression) printer {
	parts := make([]func(r *run), len(e.parts))
	for i, part := range e.parts {
		parts[i] = c.compilePrint(part)
	}
	return func(r *run) (value, bool) {
		r.Steps += len(parts)
		r.Step()
		for _, part := range parts {
			part(r)
		}
		return nil, true
	}
}

// printSum adds from left to right. As long as all are strings they are only written.
func (c *compiler) printSum(e *binaryExpression) printer {
	var operands []printer
	var at []int
	var add func(e expression)
	add = func(e expression) {
		b, ok := e.(*binaryExpression)
		if !ok || b.operator != "+" {
			operands, at = append(operands, c.print(e)), append(at, 0)
			return
		}
		add(b.left)
		operands, at = append(operands, c.print(b.right)), append(at, b.at)
	}
	add(e)
	return func(r *run) (value, bool) {
		start := len(r.out)
		for i, print := range operands {
			r.Step()
			if v, written := print(r); !written {
				return r.sum(start, v, i, operands, at), false
			}
		}
		return nil, true
	}
}

// sum goes on where the i-th operand v is no str. What those before it wrote is taken back.
func (r *run) sum(start int, v value, i int, operands []printer, at []int) value {
	total := v
	if i > 0 {
		text := string(r.out[start:])
		r.out = r.out[:start]
		r.At = at[i]
		total = r.add(text, v)
	}
	for i++; i < len(operands); i++ {
		r.Step()
		start = len(r.out)
		v, written := operands[i](r)
		if written {
			v = string(r.out[start:])
			r.out = r.out[:start]
		}
		r.At = at[i]
		total = r.add(total, v)
	}
	return total
}

func (c *compiler) printCall(e *callExpression, name *nameExpression) printer {
	function, arguments := c.value(name), c.arguments(e.arguments)
	return func(r *run) (value, bool) {
		r.Step()
		fn := function(r)
		a := arguments(r)
		r.At = e.at
		if m, ok := fn.(*macro); ok {
			r.callMacro(m, a)
			return nil, true
		}
		v := r.call(fn, a)
		if text, ok := v.(string); ok {
			r.write(text)
			return nil, true
		}
		return v, false
	}
}

func (c *compiler) printConditional(e *conditionalExpression) printer {
	test, then, otherwise := c.condition(e.test), c.print(e.then), c.print(e.otherwise)
	return func(r *run) (value, bool) {
		r.Step()
		if test(r) {
			return then(r)
		}
		return otherwise(r)
	}
}

// printJSON is most of a text with tools.
func (c *compiler) printJSON(e *filterExpression) printer {
	base, arguments := c.value(e.base), c.arguments(e.arguments)
	return func(r *run) (value, bool) {
		r.Step()
		v := base(r)
		a := arguments(r)
		r.At = e.at
		r.out = r.appendJSON(r.out, v, r.jsonFormat(a))
		return nil, true
	}
}

// printFilter is a filter that makes text, unless of markup, which may stay markup.
func (c *compiler) printFilter(e *filterExpression) printer {
	base, arguments := e.base.compile(c), c.arguments(e.arguments)
	return func(r *run) (value, bool) {
		r.Step()
		v := base(r)
		a := arguments(r)
		r.At = e.at
		if _, marked := v.(markup); marked {
			v = e.apply(r, v, a)
			if text, ok := v.(string); ok {
				r.write(text)
				return nil, true
			}
			return v, false
		}
		r.write(e.write(r, v, a))
		return nil, true
	}
}
