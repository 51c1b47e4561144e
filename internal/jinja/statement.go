package jinja

import (
	"fmt"

	"hone/internal/chat"
	"hone/internal/jinja/pyvalue"
)

// flow tells whether a loop is to be left or gone on with.
type flow uint8

const (
	onward flow = iota
	leave       // {% break %}
	again       // {% continue %}
)

func (s textStatement) compile(*compiler) action {
	text := string(s)
	return func(r *run) flow { r.write(text); return onward }
}

func (s loopStatement) compile(*compiler) action {
	f := again
	if s == "break" {
		f = leave
	}
	return func(*run) flow { return f }
}

func (s *hideStatement) compile(c *compiler) action {
	slots := make([]int, len(s.ids))
	for i, id := range s.ids {
		slots[i] = c.layout.slots[id]
	}
	return func(r *run) flow {
		r.Steps += len(slots)
		for i, slot := range slots {
			r.scope.slots[slot] = s.value[i]
		}
		return onward
	}
}

func (s *printStatement) compile(c *compiler) action {
	if len(s.values) == 1 {
		print := c.compilePrint(s.values[0])
		return func(r *run) flow { print(r); return onward }
	}
	print := c.printConcat(&concatExpression{s.values})
	return func(r *run) flow { print(r); return onward }
}

func (s *ifStatement) compile(c *compiler) action {
	tests, bodies := make([]condition, len(s.tests)), make([]action, len(s.tests))
	for i, test := range s.tests {
		tests[i], bodies[i] = c.condition(test), c.body(s.bodies[i])
	}
	otherwise := c.body(s.otherwise)
	return func(r *run) flow {
		for i, test := range tests {
			r.Step()
			if test(r) {
				return bodies[i](r)
			}
		}
		return otherwise(r)
	}
}

func (s *setStatement) compile(c *compiler) action {
	v, bind := s.value.compile(c), c.binder(s.target, s.at)
	return func(r *run) flow { bind(r, v(r)); return onward }
}

// binder assigns a name, the names of a tuple, or an attribute of a namespace.
func (c *compiler) binder(target expression, at int) binder {
	switch t := target.(type) {
	case *nameExpression:
		slot := c.layout.slots[t.id]
		return func(r *run, v value) { r.scope.slots[slot] = v }
	case *namespaceExpression:
		variable := c.variable(t.id)
		return func(r *run, v value) {
			n, ok := variable(r).(*namespace)
			if !ok {
				pyvalue.Fail(t.at, RuntimeFault, "cannot assign attribute on non-namespace object")
			}
			r.Steps += len(n.names) / manyVariables
			n.set(t.attribute, v)
		}
	}
	t := target.(*tupleExpression)
	binders := make([]binder, len(t.items))
	for i, item := range t.items {
		binders[i] = c.binder(item, at)
	}
	return func(r *run, v value) {
		r.At = at
		items := r.List(withoutMarkup(v))
		if len(items) != len(binders) {
			few := "too many values to unpack (expected %d)"
			if len(items) < len(binders) {
				few = fmt.Sprintf("not enough values to unpack (expected %%d, got %d)", len(items))
			}
			pyvalue.Fail(at, pyvalue.ValueFault, few, len(binders))
		}
		for i, item := range items {
			binders[i](r, item)
		}
	}
}

func (s *setBlockStatement) compile(c *compiler) action {
	body, bind := c.compileScope(s.body), c.binder(s.target, s.at)
	var filter code
	if s.filter != nil {
		filter = c.value(s.filter)
	}
	return func(r *run) flow {
		start := r.capture()
		body(r)
		var v value = r.endCapture(start)
		if filter != nil {
			r.body = v
			v = filter(r)
		}
		bind(r, v)
		return onward
	}
}

func (s *filterStatement) compile(c *compiler) action {
	body, filter := c.compileScope(s.body), c.value(s.filter)
	return func(r *run) flow {
		start := r.capture()
		body(r)
		r.body = r.endCapture(start)
		r.write(r.Text(filter(r)))
		return onward
	}
}

func (s *withStatement) compile(c *compiler) action {
	values, binders := c.values(s.values), make([]binder, len(s.targets))
	l := newLayout(c.layout)
	var body action
	c.within(l, func() {
		for _, target := range s.targets {
			l.target(target)
		}
		l.collect(s.body)
		for i, target := range s.targets {
			binders[i] = c.binder(target, s.at[i])
		}
		body = c.body(s.body)
	})
	return func(r *run) flow {
		list := make([]value, len(values))
		for i, v := range values {
			list[i] = v(r)
		}
		r.open(len(l.slots))
		for i, bind := range binders {
			bind(r, list[i])
		}
		f := body(r)
		r.close()
		return f
	}
}

func (s *generationStatement) compile(c *compiler) action {
	body := c.compileScope(s.body)
	return func(r *run) flow {
		if r.captures > 0 {
			pyvalue.Fail(s.at, pyvalue.Unsupported,
				"{%% generation %%} inside a macro or block: where its text will stand is not known there")
		}
		start := len(r.out)
		if f := body(r); f != onward {
			pyvalue.Fail(s.at, SyntaxFault, "break or continue leaves {%% generation %%}")
		}
		r.spans = append(r.spans, Span{start, len(r.out)})
		return onward
	}
}

// forLoop is a compiled for statement.
type forLoop struct {
	sequence        code
	pairs           code // in place of a sequence: a dict whose items it goes through
	bind            binder
	two             [2]int // slots of the names of a pair
	isPair          bool   // the target is two names
	body, otherwise action
	use             *loopUse
	loop            int // slot
	slots           int
	testBind        binder
	test            condition // nil without one
	testSlots       int
	at              int
	itemsAt         int // where the filter of pairs stands
}

func (s *forStatement) compile(c *compiler) action {
	f := &forLoop{sequence: c.value(s.sequence), use: &loopUse{id: s.loop}, at: s.at}
	l := newLayout(c.layout)
	l.loop, f.loop = f.use, l.slot(s.loop)
	c.within(l, func() {
		l.target(s.target)
		l.collect(s.body)
		f.bind, f.body = c.binder(s.target, s.at), c.body(s.body)
	})
	f.slots = len(l.slots)
	if s.test != nil {
		l := newLayout(c.layout)
		c.within(l, func() {
			l.target(s.target)
			f.testBind, f.test = c.binder(s.target, s.at), c.condition(s.test)
		})
		f.testSlots = len(l.slots)
	}
	if len(s.otherwise) > 0 {
		f.otherwise = c.compileScope(s.otherwise)
	}
	c.pair(f, s, l)
	if s.recursive {
		return func(r *run) flow {
			sequence := f.sequence(r)
			if list, ok := sequence.([]value); ok && len(list) == 0 {
				return f.none(r)
			}
			r.scope.keep() // a loop that is kept may be called later
			r.write(r.recurse(f, r.scope, sequence, 0))
			return onward
		}
	}
	return f.run
}

// pair finds loops over the items of a dict, of which no pairs need be made.
func (c *compiler) pair(f *forLoop, s *forStatement, l *layout) {
	t, ok := s.target.(*tupleExpression)
	if !ok || len(t.items) != 2 || s.test != nil || s.recursive || f.use.keeps {
		return
	}
	for i, item := range t.items {
		name, ok := item.(*nameExpression)
		if !ok {
			return
		}
		f.two[i] = l.slots[name.id]
	}
	f.isPair = true
	if e, ok := s.sequence.(*filterExpression); ok && e.name == "items" && e.arguments.none() {
		f.pairs, f.itemsAt = c.value(e.base), e.at
	}
}

// dict is the one whose items the loop goes through, nil if it goes through something else: the sequence.
func (f *forLoop) dict(r *run) (*chat.Object, value) {
	if f.pairs != nil {
		v := f.pairs(r)
		r.At = f.itemsAt
		return dictOf(r, v), nil
	}
	sequence := f.sequence(r)
	if v, ok := sequence.(*pyvalue.View); ok && f.isPair && v.Name == "dict_items" {
		return v.Dict, nil
	}
	return nil, sequence
}

func (f *forLoop) run(r *run) flow {
	dict, sequence := f.dict(r)
	if list, ok := sequence.([]value); ok && len(list) == 0 || dict != nil && dict.Len() == 0 {
		return f.none(r)
	}
	if f.use.keeps {
		return f.each(r, sequence, &loop{})
	}
	l := r.borrowLoop()
	l.pairs = dict
	flow := f.each(r, sequence, l)
	r.giveBackLoop(l)
	return flow
}

func (f *forLoop) none(r *run) flow {
	if f.otherwise == nil {
		return onward
	}
	return f.otherwise(r)
}

// recurse renders a recursive loop, or a call of it from its own body.
func (r *run) recurse(f *forLoop, defined *scope, sequence value, depth int) string {
	r.Enter(f.at)
	start, outer := r.capture(), r.scope
	r.scope = defined
	f.each(r, sequence,
		&loop{depth: depth, again: func(inner value) string { return r.recurse(f, defined, inner, depth+1) }})
	r.scope = outer
	r.Leave()
	return r.endCapture(start)
}

func (f *forLoop) each(r *run, sequence value, l *loop) flow {
	r.At = f.at
	l.start(r, sequence)
	var test *scope
	if f.test != nil {
		test = r.borrow(r.scope, f.testSlots)
		if f.use.keeps {
			test.keep() // a loop that is kept may ask for more items later
		}
		if f.use.reads {
			l.filter(func(item value) bool { return f.holds(r, test, item) })
		}
	}
	r.open(f.slots)
	inner, fresh, completed := r.scope, true, false
	for l.advance() {
		r.Step()
		if f.test != nil && !f.use.reads && !f.holds(r, test, pyvalue.Plain(l.items[l.index])) {
			continue
		}
		if !fresh {
			r.unset(inner) // a macro of an earlier pass sees this one's, as Python's closures do
		}
		fresh = false
		if f.use.reads {
			inner.slots[f.loop] = l
		}
		if l.pairs != nil {
			name, v := l.pairs.At(l.index)
			inner.slots[f.two[0]], inner.slots[f.two[1]] = r.Key(name), pyvalue.Plain(v)
		} else {
			f.bind(r, pyvalue.Plain(l.items[l.index]))
		}
		flow := f.body(r)
		if flow == leave {
			break
		}
		completed = completed || flow == onward
	}
	if inner.kept {
		r.unset(inner)
	}
	r.close()
	if test != nil {
		r.giveBack(test)
	}
	if !completed { // jinja2 takes a loop whose only pass was cut short for an empty one
		return f.none(r)
	}
	return onward
}

// holds reports whether the loop's test lets an item through. It sees the target in a scope of its own, at the time the
// loop asks for the item.
func (f *forLoop) holds(r *run, test *scope, item value) bool {
	saved := r.scope
	r.scope = test
	r.unset(test)
	f.testBind(r, item)
	keep := f.test(r)
	r.scope = saved
	return keep
}
