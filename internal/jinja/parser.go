package jinja

import (
	"slices"
	"strings"

	"hone/internal/jinja/pyvalue"
)

// Caps of the parser: no template in use comes near, and deeper ones would exhaust the stack later.
const (
	maxNesting   = 200  // statements and brackets inside each other
	maxOperators = 2000 // in one statement: a chain of them is as deep as it is long
)

type parser struct {
	tokens    []token
	at        int
	names     map[string]int // variables by name; the number is where Render finds them
	nesting   int
	operators int
	loops     int // for statements around this place, inside the same macro
	// Filters and tests that do not exist are an error of the template, but in the branches of a condition they are
	// one of reaching them, so that a template can ask first.
	missing, surelyMissing []token
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) take() token {
	t := p.tokens[p.at]
	if t.kind != endOfFile {
		p.at++
	}
	return t
}

func (p *parser) is(k kind, texts ...string) bool {
	t := p.tokens[p.at]
	return t.kind == k && (len(texts) == 0 || slices.Contains(texts, t.text))
}

func (p *parser) skip(k kind, text string) bool {
	if p.is(k, text) {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(k kind, text string) token {
	t := p.peek()
	if t.kind != k || text != "" && t.text != text {
		want := text
		if want == "" {
			want = k.String()
		}
		pyvalue.Fail(t.at, SyntaxFault, "expected token '%s', got '%s'", want, t.describe())
	}
	return p.take()
}

func (p *parser) nest() func() {
	p.nesting++
	if p.nesting > maxNesting {
		pyvalue.Fail(p.peek().at, pyvalue.LimitFault,
			"more than %d statements and brackets inside each other", maxNesting)
	}
	return func() { p.nesting-- }
}

func (p *parser) variable(name string) int {
	id, ok := p.names[name]
	if !ok {
		id = len(p.names)
		p.names[name] = id
	}
	return id
}

// template reads to the end of the source.
func (p *parser) template() []statement {
	body := p.body()
	if t := p.peek(); t.kind != endOfFile {
		pyvalue.Fail(t.at, SyntaxFault, "Encountered unknown tag '%s'", t.text)
	}
	if missing := append(p.surelyMissing, p.missing...); len(missing) > 0 {
		pyvalue.Fail(missing[0].at, AssertionFault, "No filter or test named '%s'.", missing[0].text)
	}
	return body
}

// body reads statements up to one of the tags, which is the next token then; to the end of the source without tags.
func (p *parser) body(ends ...string) []statement {
	defer p.nest()()
	var list []statement
	for {
		p.operators = 0
		switch t := p.peek(); t.kind {
		case endOfFile:
			if len(ends) > 0 {
				pyvalue.Fail(t.at, SyntaxFault, "Unexpected end of template. The innermost block needs '%s'.",
					strings.Join(ends, "' or '"))
			}
			return list
		case data:
			p.at++
			list = append(list, textStatement(t.text))
		case variableBegin:
			p.at++
			list = append(list, printOf(p.tuple(true)))
			p.expect(variableEnd, "")
		case blockBegin:
			p.at++
			if p.is(name, ends...) && len(ends) > 0 {
				return list
			}
			list = append(list, p.statement())
			p.expect(blockEnd, "")
		}
	}
}

// printOf is the statement {{ e }}.
func printOf(e expression) statement {
	if c, ok := e.(constant); ok {
		if text, ok := c.value.(string); ok {
			return textStatement(text)
		}
	}
	return &printStatement{[]expression{e}}
}

// block reads ":"? "%}" body, up to the end tag, which it takes.
func (p *parser) block(end string) []statement {
	p.skip(operator, ":")
	p.expect(blockEnd, "")
	body := p.body(end)
	p.at++
	return body
}

// parseScope is block for a body in which a missing filter is an error even inside a condition.
func (p *parser) parseScope(end string) []statement {
	mark := len(p.missing)
	body := p.block(end)
	p.settle(mark)
	return body
}

func (p *parser) settle(mark int) {
	p.surelyMissing = append(p.surelyMissing, p.missing[mark:]...)
	p.missing = p.missing[:mark]
}

func (p *parser) statement() statement {
	t := p.peek()
	if t.kind != name {
		pyvalue.Fail(t.at, SyntaxFault, "tag name expected")
	}
	p.at++
	switch t.text {
	case "if":
		return p.ifStatement()
	case "for":
		return p.forStatement()
	case "set":
		return p.setStatement()
	case "macro":
		return p.macroStatement()
	case "call":
		return p.callStatement(t)
	case "filter":
		return p.filterStatement()
	case "with":
		return p.withStatement()
	case "generation":
		return &generationStatement{p.parseScope("endgeneration"), t.at}
	case "print":
		s := &printStatement{[]expression{p.expression()}}
		for p.skip(operator, ",") {
			s.values = append(s.values, p.expression())
		}
		return s
	case "break", "continue":
		if p.loops == 0 {
			pyvalue.Fail(t.at, LoopFault, "'%s' outside loop", t.text)
		}
		return loopStatement(t.text)
	case "autoescape", "block", "extends", "include", "import", "from", "do", "trans", "debug":
		pyvalue.Fail(t.at, pyvalue.Unsupported, "the tag '%s'", t.text)
	}
	pyvalue.Fail(t.at, SyntaxFault, "Encountered unknown tag '%s'", t.text)
	return nil
}

func (p *parser) ifStatement() statement {
	mark := len(p.missing)
	s := &ifStatement{}
	for {
		p.operators = 0
		test := p.tuple(false)
		p.skip(operator, ":")
		p.expect(blockEnd, "")
		s.tests = append(s.tests, test)
		s.bodies = append(s.bodies, p.body("elif", "else", "endif"))
		switch p.take().text {
		case "elif":
			continue
		case "else":
			s.otherwise = p.block("endif")
		}
		p.missing = p.missing[:mark]
		return s
	}
}

func (p *parser) forStatement() statement {
	s := &forStatement{loop: p.variable("loop")}
	p.loops++
	s.target = p.target(false)
	p.loops--
	s.at = p.expect(name, "in").at
	s.sequence = p.tuple(false)
	mark := len(p.missing)
	if p.skip(name, "if") {
		s.test = p.expression()
	}
	s.recursive = p.skip(name, "recursive")
	p.skip(operator, ":")
	p.expect(blockEnd, "")
	p.loops++
	s.body = p.body("endfor", "else")
	p.loops--
	if p.take().text == "else" {
		s.otherwise = p.block("endfor")
	}
	p.settle(mark)
	return s
}

func (p *parser) setStatement() statement {
	at := p.peek().at
	target := p.target(true)
	if p.skip(operator, "=") {
		return &setStatement{target, p.tuple(true), at}
	}
	var filter expression
	if p.is(operator, "|") {
		filter = p.filters(bodyExpression{})
	}
	return &setBlockStatement{target, filter, p.parseScope("endset"), at}
}

func (p *parser) macroStatement() statement {
	t := p.expect(name, "")
	m := &macroStatement{name: t.text, id: p.variable(t.text), at: t.at}
	p.signature(m)
	p.macroBody(m, "endmacro")
	return m
}

// macroBody reads what is run on a call, in a scope of its own.
func (p *parser) macroBody(m *macroStatement, end string) {
	loops := p.loops
	p.loops = 0
	m.caller, m.varargs, m.kwargs = p.variable("caller"), p.variable("varargs"), p.variable("kwargs")
	from := p.at
	m.body = p.parseScope(end)
	for _, t := range p.tokens[from:p.at] {
		if t.kind == name {
			m.usesCaller = m.usesCaller || t.text == "caller"
			m.usesVarargs = m.usesVarargs || t.text == "varargs"
			m.usesKwargs = m.usesKwargs || t.text == "kwargs"
		}
	}
	p.loops = loops
}

func (p *parser) signature(m *macroStatement) {
	p.expect(operator, "(")
	for !p.is(operator, ")") {
		if len(m.parameters) > 0 {
			p.expect(operator, ",")
		}
		t := p.expect(name, "")
		q := parameter{name: t.text, id: p.variable(t.text)}
		if p.skip(operator, "=") {
			q.value = p.expression()
		} else if n := len(m.parameters); n > 0 && m.parameters[n-1].value != nil {
			pyvalue.Fail(t.at, SyntaxFault, "non-default argument follows default argument")
		}
		m.parameters = append(m.parameters, q)
	}
	p.expect(operator, ")")
}

func (p *parser) callStatement(t token) statement {
	m := &macroStatement{name: "caller", at: t.at}
	if p.is(operator, "(") {
		p.signature(m)
	}
	call, ok := p.expression().(*callExpression)
	if !ok {
		pyvalue.Fail(t.at, SyntaxFault, "expected call")
	}
	p.macroBody(m, "endcall")
	return &callStatement{call, m}
}

func (p *parser) filterStatement() statement {
	filter := p.filter(bodyExpression{})
	if p.is(operator, "|") {
		filter = p.filters(filter)
	}
	return &filterStatement{filter, p.parseScope("endfilter")}
}

func (p *parser) withStatement() statement {
	s := &withStatement{}
	for !p.is(blockEnd) {
		if len(s.targets) > 0 {
			p.expect(operator, ",")
		}
		s.at = append(s.at, p.peek().at)
		s.targets = append(s.targets, p.target(false))
		p.expect(operator, "=")
		s.values = append(s.values, p.expression())
	}
	s.body = p.parseScope("endwith")
	return s
}

// target reads what is assigned to: a name, names in a tuple, or an attribute of a namespace.
func (p *parser) target(attributes bool) expression {
	items := []expression{p.targetItem(attributes)}
	isTuple := p.is(operator, ",")
	for p.skip(operator, ",") && !p.is(blockEnd) {
		items = append(items, p.targetItem(attributes))
	}
	if isTuple {
		return &tupleExpression{items}
	}
	return items[0]
}

func (p *parser) targetItem(attributes bool) expression {
	defer p.nest()()
	if p.skip(operator, "(") {
		items := []expression{}
		for !p.is(operator, ")") {
			items = append(items, p.targetItem(attributes))
			if !p.skip(operator, ",") {
				break
			}
		}
		p.expect(operator, ")")
		return &tupleExpression{items}
	}
	t := p.peek()
	if t.kind != name || slices.Contains([]string{"true", "false", "none", "True", "False", "None"}, t.text) {
		pyvalue.Fail(t.at, SyntaxFault, "can't assign to '%s'", t.describe())
	}
	p.at++
	if attributes && p.skip(operator, ".") {
		return &namespaceExpression{p.variable(t.text), p.expect(name, "").text, t.at}
	}
	if t.text == "loop" && p.loops > 0 {
		pyvalue.Fail(t.at, AssertionFault, "Can't assign to special loop variable in for-loop target")
	}
	return &nameExpression{p.variable(t.text), t.text, t.at}
}
