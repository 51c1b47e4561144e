package template

import (
	"fmt"

	"hone/internal/chat"
)

// statement is a node of the tree that Compile makes. run reports whether a loop is to be left or gone on with.
type statement interface{ run(r *run) flow }

type flow uint8

const (
	onward flow = iota
	leave       // {% break %}
	again       // {% continue %}
)

type (
	textStatement  string
	loopStatement  string // "break" or "continue"
	printStatement struct{ values []expression }

	ifStatement struct {
		tests     []expression
		bodies    [][]statement
		otherwise []statement
	}
	forStatement struct {
		target, sequence, test expression // test may be nil
		body, otherwise        []statement
		recursive              bool
		loop                   int
		at                     int
	}
	setStatement struct {
		target, value expression
		at            int
	}
	setBlockStatement struct {
		target, filter expression // filter may be nil
		body           []statement
		at             int
	}
	parameter struct {
		name  string
		id    int
		value expression // nil without a default
	}
	macroStatement struct {
		name                                string
		id                                  int
		parameters                          []parameter
		body                                []statement
		usesCaller, usesVarargs, usesKwargs bool
		caller, varargs, kwargs             int
		at                                  int
	}
	callStatement struct {
		call *callExpression
		body *macroStatement
	}
	filterStatement struct {
		filter expression
		body   []statement
	}
	withStatement struct {
		targets, values []expression
		body            []statement
		at              []int
	}
	generationStatement struct {
		body []statement
		at   int
	}
)

func (r *run) all(list []statement) flow {
	for _, s := range list {
		r.step()
		if f := s.run(r); f != onward {
			return f
		}
	}
	return onward
}

func (s textStatement) run(r *run) flow { r.write(string(s)); return onward }

func (s loopStatement) run(*run) flow {
	if s == "break" {
		return leave
	}
	return again
}

func (s *printStatement) run(r *run) flow {
	for _, e := range s.values {
		r.print(e)
	}
	return onward
}

// print writes an expression's text. What is put together is written piece by piece, without a string for the whole.
func (r *run) print(e expression) {
	switch e := e.(type) {
	case *concatExpression:
		for _, part := range e.parts {
			r.print(part)
		}
		return
	case *binaryExpression:
		if e.operator == "+" {
			var few [8]string
			parts, sum, ok := r.sum(e, few[:0])
			if !ok {
				parts = []string{r.text(unmarked(sum))}
			}
			for _, part := range parts {
				r.write(part)
			}
			return
		}
	case *callExpression:
		if name, ok := e.function.(*nameExpression); ok {
			if m, ok := r.lookup(name.id).(*macro); ok {
				a := r.arguments(e.arguments)
				r.at = e.at
				r.callMacro(m, a)
				return
			}
		}
	case *conditionalExpression:
		if branch := r.branch(e); branch != nil {
			r.print(branch)
		}
		return
	case *filterExpression:
		if e.name == "tojson" && e.arguments.none() { // most of a text with tools is made here
			v := r.eval(e.base)
			r.at = e.at
			r.out = r.appendJSON(r.out, v, chat.Format{})
			return
		}
	}
	r.write(r.text(r.eval(e)))
}

func (s *ifStatement) run(r *run) flow {
	for i, test := range s.tests {
		if r.truth(r.eval(test)) {
			return r.all(s.bodies[i])
		}
	}
	return r.all(s.otherwise)
}

func (s *forStatement) run(r *run) flow {
	sequence := r.eval(s.sequence)
	if list, ok := sequence.([]value); ok && len(list) == 0 {
		return s.otherwiseIn(r)
	}
	if s.recursive {
		r.scope.keep() // a loop that is kept may be called later
		r.write(r.recurse(s, r.scope, sequence, 0))
		return onward
	}
	return s.each(r, sequence, &loop{})
}

// recurse renders a recursive loop, or a call of it from its own body.
func (r *run) recurse(s *forStatement, defined *scope, sequence value, depth int) string {
	r.enter(s.at)
	start, outer := r.capture(), r.scope
	r.scope = defined
	s.each(r, sequence, &loop{depth: depth, again: func(inner value) string { return r.recurse(s, defined, inner, depth+1) }})
	r.scope = outer
	r.leave()
	return r.captured(start)
}

func (s *forStatement) each(r *run, sequence value, l *loop) flow {
	outer := r.scope
	r.at = s.at
	l.start(r, sequence)
	if s.test != nil {
		test := newScope(outer)
		test.keep() // a loop that is kept may ask for more items later
		l.filter(func(item value) bool {
			// The test sees the target in a scope of its own, at the time the loop asks for the item.
			saved := r.scope
			r.scope = test
			test.variables = test.variables[:0]
			r.assign(s.target, item, s.at)
			keep := r.truth(r.eval(s.test))
			r.scope = saved
			return keep
		})
	}
	inner, completed := r.borrow(outer), false
	for l.advance() {
		r.step()
		inner.variables = inner.variables[:0] // a macro of an earlier pass sees this one's, as Python's closures do
		r.scope = inner
		inner.set(s.loop, l)
		r.assign(s.target, l.current, s.at)
		f := r.all(s.body)
		r.scope = outer
		if f == leave {
			break
		}
		completed = completed || f == onward
	}
	r.scope = outer
	inner.variables = inner.variables[:0]
	r.giveBack(inner)
	if !completed { // jinja2 takes a loop whose only pass was cut short for an empty one
		return s.otherwiseIn(r)
	}
	return onward
}

func (s *forStatement) otherwiseIn(r *run) flow {
	if len(s.otherwise) == 0 {
		return onward
	}
	return r.scoped(s.otherwise)
}

// scoped runs a body whose assignments are its own.
func (r *run) scoped(body []statement) flow {
	outer := r.scope
	inner := r.borrow(outer)
	r.scope = inner
	f := r.all(body)
	r.scope = outer
	r.giveBack(inner)
	return f
}

func (s *setStatement) run(r *run) flow {
	r.assign(s.target, r.raw(s.value), s.at)
	return onward
}

// assign binds a name, the names of a tuple, or an attribute of a namespace.
func (r *run) assign(target expression, v value, at int) {
	switch t := target.(type) {
	case *nameExpression:
		r.define(t.id, v)
	case *namespaceExpression:
		n, ok := r.lookup(t.id).(*namespace)
		if !ok {
			fail(t.at, RuntimeFault, "cannot assign attribute on non-namespace object")
		}
		n.attributes.Set(t.attribute, v)
	case *tupleExpression:
		r.at = at
		items := r.list(unmarked(v))
		if len(items) != len(t.items) {
			few := "too many values to unpack (expected %d)"
			if len(items) < len(t.items) {
				few = fmt.Sprintf("not enough values to unpack (expected %%d, got %d)", len(items))
			}
			fail(at, ValueFault, few, len(t.items))
		}
		for i, item := range items {
			r.assign(t.items[i], item, at)
		}
	}
}

func (s *setBlockStatement) run(r *run) flow {
	start := r.capture()
	r.scoped(s.body)
	var v value = r.captured(start)
	if s.filter != nil {
		r.body = v
		v = r.eval(s.filter)
	}
	r.assign(s.target, v, s.at)
	return onward
}

func (s *filterStatement) run(r *run) flow {
	start := r.capture()
	r.scoped(s.body)
	r.body = r.captured(start)
	r.write(r.text(r.eval(s.filter)))
	return onward
}

func (s *withStatement) run(r *run) flow {
	values := make([]value, len(s.values))
	for i, e := range s.values {
		values[i] = r.eval(e)
	}
	outer := r.scope
	inner := r.borrow(outer)
	r.scope = inner
	for i, target := range s.targets {
		r.assign(target, values[i], s.at[i])
	}
	f := r.all(s.body)
	r.scope = outer
	r.giveBack(inner)
	return f
}

func (s *generationStatement) run(r *run) flow {
	if r.captures > 0 {
		fail(s.at, Unsupported, "{%% generation %%} inside a macro or block: where its text will stand is not known there")
	}
	start := len(r.out)
	f := r.scoped(s.body)
	if f != onward {
		fail(s.at, SyntaxFault, "break or continue leaves {%% generation %%}")
	}
	r.spans = append(r.spans, Span{start, len(r.out)})
	return onward
}

func (s *macroStatement) run(r *run) flow {
	r.scope.keep()
	r.scope.set(s.id, &macro{s, r.scope})
	return onward
}

func (s *callStatement) run(r *run) flow {
	r.scope.keep()
	fn := r.eval(s.call.function)
	a := r.arguments(s.call.arguments).clone()
	a.names, a.named = append(a.names, "caller"), append(a.named, &macro{s.body, r.scope})
	r.at = s.call.at
	r.write(r.text(r.call(fn, a)))
	return onward
}

// callMacro writes what a macro gives, with the arguments in the order jinja2 fills them in.
func (r *run) callMacro(m *macro, a *args) {
	s, at := m.statement, r.at
	r.enter(at)
	inner := r.borrow(m.scope)
	explicitCaller := false
	for i, q := range s.parameters {
		explicitCaller = explicitCaller || q.name == "caller"
		v := value(unset{})
		if i < len(a.positional) {
			v = a.positional[i]
		} else if named, ok := a.take(q.name); ok {
			v = named
		}
		inner.set(q.id, v)
	}
	if s.usesCaller && !explicitCaller {
		caller, ok := a.take("caller")
		if !ok || caller == nil {
			caller = &undefined{message: "No caller defined"}
		}
		inner.set(s.caller, caller)
	}
	if s.usesKwargs {
		inner.set(s.kwargs, a.rest())
	} else if len(a.names) > 0 {
		fail(at, TypeFault, "macro '%s' takes no keyword argument '%s'", s.name, a.names[0])
	}
	if extra := len(a.positional) - len(s.parameters); s.usesVarargs {
		inner.set(s.varargs, tuple(a.positional[min(len(s.parameters), len(a.positional)):]))
	} else if extra > 0 {
		fail(at, TypeFault, "macro '%s' takes not more than %d argument(s)", s.name, len(s.parameters))
	}
	outer := r.scope
	r.scope = inner
	for _, q := range s.parameters {
		if _, missing := inner.get(q.id).(unset); !missing {
			continue
		}
		if q.value == nil {
			inner.set(q.id, &undefined{message: fmt.Sprintf("parameter '%s' was not provided", q.name)})
			continue
		}
		inner.set(q.id, r.eval(q.value))
	}
	r.captures++
	r.all(s.body)
	r.captures--
	r.scope = outer
	r.giveBack(inner)
	r.leave()
}
