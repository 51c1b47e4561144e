package jinja

import (
	"math/big"
	"strconv"

	"hone/internal/chat"
	"hone/internal/jinja/pyvalue"
)

// expression reads one expression; each level below binds tighter, in jinja2's order (its ** is left-associative).
func (p *parser) expression() expression {
	defer p.nest()()
	mark := len(p.missing)
	left := p.or()
	for p.skip(name, "if") {
		e := &conditionalExpression{test: p.or(), then: left}
		if p.skip(name, "else") {
			e.otherwise = p.expression()
		}
		left = e
		p.missing = p.missing[:mark]
		p.operator()
	}
	return left
}

func (p *parser) operator() {
	p.operators++
	if p.operators > maxOperators {
		pyvalue.Fail(p.peek().at, pyvalue.LimitFault, "more than %d operators in one statement", maxOperators)
	}
}

// tuple reads an expression, or several with commas between them, which make a tuple.
func (p *parser) tuple(conditional bool) expression {
	one := p.expression
	if !conditional {
		one = p.or
	}
	at := p.peek()
	var items []expression
	for {
		if p.is(variableEnd) || p.is(blockEnd) || p.is(operator, ")") {
			break
		}
		items = append(items, one())
		if !p.skip(operator, ",") {
			if len(items) == 1 {
				return items[0]
			}
			break
		}
	}
	if len(items) == 0 {
		pyvalue.Fail(at.at, SyntaxFault, "Expected an expression, got '%s'", at.describe())
	}
	return &tupleExpression{items}
}

func (p *parser) or() expression {
	left := p.and()
	for p.skip(name, "or") {
		p.operator()
		left = &orExpression{left, p.and()}
	}
	return left
}

func (p *parser) and() expression {
	left := p.not()
	for p.skip(name, "and") {
		p.operator()
		left = &andExpression{left, p.not()}
	}
	return left
}

func (p *parser) not() expression {
	if p.skip(name, "not") {
		defer p.nest()()
		return &notExpression{p.not()}
	}
	return p.compare()
}

func (p *parser) compare() expression {
	first := p.arithmetic(0)
	var links []comparison
	for {
		t := p.peek()
		switch {
		case p.is(operator, "==", "!=", "<", "<=", ">", ">=") || p.is(name, "in"):
			p.at++
		case p.is(name, "not") && p.tokens[p.at+1].kind == name && p.tokens[p.at+1].text == "in":
			p.at += 2
			t.text = "not in"
		default:
			if links == nil {
				return first
			}
			return &compareExpression{first, links}
		}
		p.operator()
		links = append(links, comparison{t.text, p.arithmetic(0), t.at})
	}
}

// arithmetic reads the levels + -, ~, * / // %, and **.
func (p *parser) arithmetic(level int) expression {
	operators := [][]string{{"+", "-"}, {"~"}, {"*", "/", "//", "%"}, {"**"}}
	if level == len(operators) {
		return p.unary(true)
	}
	left := p.arithmetic(level + 1)
	if level == 1 && p.is(operator, "~") {
		parts := []expression{left}
		for p.skip(operator, "~") {
			parts = append(parts, p.arithmetic(level+1))
		}
		return &concatExpression{parts}
	}
	for p.is(operator, operators[level]...) {
		p.operator()
		t := p.take()
		left = &binaryExpression{t.text, left, p.arithmetic(level + 1), t.at}
	}
	return left
}

func (p *parser) unary(filters bool) expression {
	defer p.nest()()
	var e expression
	if p.is(operator, "-", "+") {
		t := p.take()
		e = &signExpression{t.text, p.unary(false), t.at}
	} else {
		e = p.primary()
	}
	e = p.postfix(e)
	if filters {
		e = p.filters(e)
	}
	return e
}

func (p *parser) primary() expression {
	t := p.take()
	switch t.kind {
	case name:
		switch t.text {
		case "true", "True":
			return constant{true}
		case "false", "False":
			return constant{false}
		case "none", "None":
			return constant{nil}
		}
		return &nameExpression{p.variable(t.text), t.text, t.at}
	case stringLiteral:
		text := t.text
		for p.is(stringLiteral) {
			text += p.take().text
		}
		return constant{text}
	case integer:
		return constant{integerLiteral(t)}
	case float:
		f, _ := strconv.ParseFloat(t.text, 64) // out of range is the infinity
		return constant{f}
	case operator:
		switch t.text {
		case "(":
			if p.skip(operator, ")") {
				return &tupleExpression{}
			}
			e := p.tuple(true)
			p.expect(operator, ")")
			return e
		case "[":
			items := []expression{}
			p.list("]", func() { items = append(items, p.expression()) })
			if values, ok := constants(items); ok {
				return constant{values} // no template changes a list
			}
			return &listExpression{items}
		case "{":
			d := &dictExpression{at: t.at}
			p.list("}", func() {
				d.keys = append(d.keys, p.expression())
				p.expect(operator, ":")
				d.values = append(d.values, p.expression())
			})
			return d.fold()
		}
	}
	pyvalue.Fail(t.at, SyntaxFault, "unexpected '%s'", t.describe())
	return nil
}

// fold makes a constant of a dict whose keys are strings and whose values are constants: no template changes one.
func (d *dictExpression) fold() expression {
	keys, ok := constants(d.keys)
	values, all := constants(d.values)
	if !ok || !all {
		return d
	}
	o := &chat.Object{}
	for i, k := range keys {
		name, ok := k.(string)
		if !ok {
			return d
		}
		o.Set(name, values[i])
	}
	return constant{o}
}

// list reads items with commas between them, and one after them perhaps, up to and with the end.
func (p *parser) list(end string, item func()) {
	for first := true; !p.is(operator, end); first = false {
		if !first {
			p.expect(operator, ",")
			if p.is(operator, end) {
				break
			}
		}
		item()
	}
	p.expect(operator, end)
}

func integerLiteral(t token) value {
	if n, err := strconv.ParseInt(t.text, 0, 64); err == nil {
		return n
	}
	n, ok := new(big.Int).SetString(t.text, 0)
	if !ok {
		pyvalue.Fail(t.at, SyntaxFault, "invalid number %s", t.text)
	}
	return pyvalue.Shrink(n)
}

func (p *parser) postfix(e expression) expression {
	for {
		t := p.peek()
		switch {
		case p.skip(operator, "."):
			p.operator()
			switch a := p.take(); a.kind {
			case name:
				e = newAttribute(e, a.text, t.at)
			case integer:
				e = &itemExpression{e, constant{integerLiteral(a)}, t.at}
			default:
				pyvalue.Fail(a.at, SyntaxFault, "expected name or number")
			}
		case p.skip(operator, "["):
			p.operator()
			e = p.subscript(e, t.at)
		case p.is(operator, "("):
			p.operator()
			e = &callExpression{e, p.arguments(), t.at}
		default:
			return e
		}
	}
}

func newAttribute(object expression, name string, at int) *attributeExpression {
	d := &chat.Object{}
	return &attributeExpression{object: object, name: name, at: at,
		absent: &pyvalue.Undefined{Type: pyvalue.TypeName(d), Name: name}, member: !pyvalue.HasMethod(d, name) &&
			!isForbidden(d, name) && !isLacking(d, name)}
}

func (p *parser) subscript(object expression, at int) expression {
	var items []expression
	for !p.is(operator, "]") {
		if len(items) > 0 {
			p.expect(operator, ",")
		}
		items = append(items, p.parseSubscript())
	}
	p.expect(operator, "]")
	if len(items) == 1 {
		if s, ok := items[0].(*sliceExpression); ok {
			s.object, s.at = object, at
			return s
		}
		return &itemExpression{object, items[0], at}
	}
	for _, item := range items {
		if _, ok := item.(*sliceExpression); ok {
			pyvalue.Fail(at, pyvalue.Unsupported, "a slice among several subscripts")
		}
	}
	return &itemExpression{object, &tupleExpression{items}, at}
}

func (p *parser) parseSubscript() expression {
	s := &sliceExpression{}
	if !p.is(operator, ":") {
		e := p.expression()
		if !p.is(operator, ":") {
			return e
		}
		s.bounds[0] = e
	}
	for i := 1; i < 3 && p.skip(operator, ":"); i++ {
		if !p.is(operator, ":", "]", ",") {
			s.bounds[i] = p.expression()
		}
	}
	return s
}

func (p *parser) arguments() arguments {
	open := p.expect(operator, "(")
	var a arguments
	ensure := func(ok bool) {
		if !ok {
			pyvalue.Fail(open.at, SyntaxFault, "invalid syntax for function call expression")
		}
	}
	p.list(")", func() {
		switch {
		case p.skip(operator, "*"):
			ensure(a.list == nil && a.dict == nil)
			a.list = p.expression()
		case p.skip(operator, "**"):
			ensure(a.dict == nil)
			a.dict = p.expression()
		case p.is(name) && p.tokens[p.at+1].kind == operator && p.tokens[p.at+1].text == "=":
			ensure(a.dict == nil)
			a.names = append(a.names, p.take().text)
			p.at++
			a.named = append(a.named, p.expression())
		default:
			ensure(a.list == nil && a.dict == nil && a.names == nil)
			a.positional = append(a.positional, p.expression())
		}
	})
	return a
}

// filters reads what may follow an operand: filters, tests and calls.
func (p *parser) filters(e expression) expression {
	for {
		t := p.peek()
		switch {
		case p.skip(operator, "|"):
			e = p.filter(e)
		case p.skip(name, "is"):
			e = p.test(e)
		case p.is(operator, "("):
			p.operator()
			e = &callExpression{e, p.arguments(), t.at}
		default:
			return e
		}
	}
}

func (p *parser) parseAttribute() token {
	t := p.expect(name, "")
	for p.skip(operator, ".") {
		t.text += "." + p.expect(name, "").text
	}
	return t
}

func (p *parser) filter(base expression) expression {
	p.operator()
	t := p.parseAttribute()
	e := &filterExpression{base: base, name: t.text, run: filterByName(t.text), write: textFilter(t.text), at: t.at}
	if e.run == nil {
		p.missing = append(p.missing, t)
	}
	if p.is(operator, "(") {
		e.arguments = p.arguments()
	}
	return e
}

func (p *parser) test(base expression) expression {
	p.operator()
	negated := p.skip(name, "not")
	t := p.parseAttribute()
	e := &testExpression{base: base, name: t.text, run: testByName(t.text), at: t.at}
	if e.run == nil {
		p.missing = append(p.missing, t)
	}
	switch {
	case p.is(operator, "("):
		e.arguments = p.arguments()
	case p.is(name, "else", "or", "and"):
	case p.is(name, "is"):
		pyvalue.Fail(p.peek().at, SyntaxFault, "You cannot chain multiple tests with is")
	case p.is(name), p.is(stringLiteral), p.is(integer), p.is(float), p.is(operator, "[", "{"):
		e.arguments = arguments{positional: []expression{p.postfix(p.primary())}}
	}
	if negated {
		return &notExpression{e}
	}
	return e
}
