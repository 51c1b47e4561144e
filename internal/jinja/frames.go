package jinja

import (
	"slices"

	"hone/internal/jinja/pyvalue"
)

// In jinja2 a name that a body assigns is the body's own from its beginning: what stands inside (a loop, a macro, the
// block of a filter) sees it undefined until the assignment is run, even where the template was given a variable of
// that name. It is not so where the body has read the name before, where only a branch of an if assigns it, or where a
// body around this one has the name too. This is how jinja2.idtracking comes out; frames finds such names when
// compiling.

// hideStatement begins a body: the names are undefined in it until they are assigned.
type hideStatement struct {
	ids   []int
	value []*pyvalue.Undefined
}

// frame is a body with a scope of its own.
type frame struct {
	parent   *frame
	known    map[int]bool // names that the body itself reads or assigns
	reads    *reads       // of all frames
	began    int          // the number of reads before this frame
	hidden   []nameAt     // names to hide, unless a frame around has them
	branches int          // if statements around what is visited
	inner    []*frame     // of the bodies inside
	body     *[]statement // where to put what hides
}

// reads tell when a name was last read by a frame that has it from outside. While a frame is visited, those after it
// began are its own or of frames inside.
type reads struct {
	count int
	last  map[int]int
}

type nameAt struct {
	id   int
	name string
}

// hideNames puts a hideStatement before each body that needs one.
func hideNames(body *[]statement) {
	root := newFrame(nil, body)
	root.reads = &reads{last: map[int]int{}}
	root.all(*body)
	root.finish()
}

func newFrame(parent *frame, body *[]statement) *frame {
	f := &frame{parent: parent, known: map[int]bool{}, body: body}
	if parent != nil {
		f.reads, f.began = parent.reads, parent.reads.count
		parent.inner = append(parent.inner, f)
	}
	return f
}

// finish is called when the names of all frames are known.
func (f *frame) finish() {
	for _, inner := range f.inner {
		inner.finish()
	}
	s := &hideStatement{}
	for _, n := range f.hidden {
		around := f.parent
		for around != nil && !around.known[n.id] {
			around = around.parent
		}
		if around == nil {
			s.ids, s.value = append(s.ids, n.id), append(s.value,
				&pyvalue.Undefined{Message: pyvalue.Quote(n.name) + " is undefined"})
		}
	}
	if len(s.ids) > 0 {
		*f.body = slices.Insert(*f.body, 0, statement(s))
	}
}

// read notes that the body reads a name.
func (f *frame) read(id int) {
	if f.known[id] {
		return
	}
	f.reads.count++
	f.reads.last[id] = f.reads.count
	f.known[id] = true
}

// assign notes that the body assigns a name.
func (f *frame) assign(target expression) {
	switch t := target.(type) {
	case *nameExpression:
		if !f.known[t.id] && f.reads.last[t.id] > f.began && f.branches == 0 {
			f.hidden = append(f.hidden, nameAt{t.id, t.name})
		}
		f.known[t.id] = true
	case *namespaceExpression:
		f.read(t.id)
	case *tupleExpression:
		for _, item := range t.items {
			f.assign(item)
		}
	}
}

func (f *frame) all(list []statement) {
	for _, s := range list {
		f.statement(s)
	}
}

// within visits a body with a scope of its own. The targets are assigned before it is run.
func (f *frame) within(body *[]statement, targets ...expression) *frame {
	inner := newFrame(f, body)
	for _, t := range targets {
		inner.assign(t)
	}
	inner.all(*body)
	return inner
}

func (f *frame) macro(m *macroStatement) {
	inner := newFrame(f, &m.body)
	for _, q := range m.parameters {
		inner.known[q.id] = true
	}
	for _, id := range []int{m.caller, m.varargs, m.kwargs} {
		inner.known[id] = true
	}
	for _, q := range m.parameters {
		inner.expression(q.value)
	}
	inner.all(m.body)
}

func (f *frame) statement(s statement) {
	switch s := s.(type) {
	case *printStatement:
		f.expressions(s.values)
	case *ifStatement:
		f.expression(s.tests[0])
		f.branches++
		for i := range s.bodies {
			if i > 0 {
				f.expression(s.tests[i])
			}
			f.all(s.bodies[i])
		}
		f.all(s.otherwise)
		f.branches--
	case *forStatement:
		f.expression(s.sequence)
		if s.test != nil {
			f.within(&[]statement{&printStatement{[]expression{s.test}}}, s.target)
		}
		inner := newFrame(f, &s.body)
		inner.known[s.loop] = true
		inner.assign(s.target)
		inner.all(s.body)
		f.within(&s.otherwise)
	case *setStatement:
		f.expression(s.value)
		f.assign(s.target)
	case *setBlockStatement:
		inner := f.within(&s.body)
		inner.expression(s.filter)
		f.assign(s.target)
	case *macroStatement:
		f.macro(s)
		f.assign(&nameExpression{id: s.id, name: s.name})
	case *callStatement:
		f.expression(s.call)
		f.macro(s.body)
	case *filterStatement:
		f.expression(s.filter)
		f.within(&s.body)
	case *withStatement:
		f.expressions(s.values)
		f.within(&s.body, s.targets...)
	case *generationStatement:
		f.within(&s.body)
	}
}

func (f *frame) expressions(list []expression) {
	for _, e := range list {
		f.expression(e)
	}
}

// expression visits the names that an expression reads; nil has none.
func (f *frame) expression(e expression) {
	switch e := e.(type) {
	case *nameExpression:
		f.read(e.id)
	case *namespaceExpression:
		f.read(e.id)
	case *tupleExpression:
		f.expressions(e.items)
	case *listExpression:
		f.expressions(e.items)
	case *concatExpression:
		f.expressions(e.parts)
	case *notExpression:
		f.expression(e.operand)
	case *andExpression:
		f.expressions([]expression{e.left, e.right})
	case *orExpression:
		f.expressions([]expression{e.left, e.right})
	case *dictExpression:
		f.expressions(e.keys)
		f.expressions(e.values)
	case *attributeExpression:
		f.expression(e.object)
	case *itemExpression:
		f.expressions([]expression{e.object, e.item})
	case *sliceExpression:
		f.expression(e.object)
		f.expressions(e.bounds[:])
	case *callExpression:
		f.expression(e.function)
		f.arguments(e.arguments)
	case *filterExpression:
		f.expression(e.base)
		f.arguments(e.arguments)
	case *testExpression:
		f.expression(e.base)
		f.arguments(e.arguments)
	case *conditionalExpression:
		f.expressions([]expression{e.test, e.then, e.otherwise})
	case *signExpression:
		f.expression(e.operand)
	case *binaryExpression:
		f.expressions([]expression{e.left, e.right})
	case *compareExpression:
		f.expression(e.first)
		for _, link := range e.links {
			f.expression(link.right)
		}
	}
}

func (f *frame) arguments(a arguments) {
	f.expressions(a.positional)
	f.expressions(a.named)
	f.expressions([]expression{a.list, a.dict})
}
