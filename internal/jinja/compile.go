package jinja

// The tree is compiled to functions, each for one way that an expression is used: for its value, for a condition, or to
// be printed. Whatever can be told from the template alone, such as where a variable stands or that a key is a
// constant, is told here once and not in each rendering.
type (
	code      func(r *run) value // may be markup
	condition func(r *run) bool
	action    func(r *run) flow
	// printer writes a str, or gives what is none, unwritten.
	printer func(r *run) (v value, written bool)
	// binder assigns what a target names.
	binder func(r *run, v value)
)

// compiler knows the body that is compiled.
type compiler struct{ layout *layout }

// layout is a body with a scope of its own: the variables that are assigned in it, by number, and where they stand.
type layout struct {
	parent *layout
	slots  map[int]int
	loop   *loopUse // of a loop's body
}

// loopUse is what a body does with the variable loop.
type loopUse struct {
	id    int
	reads bool // its attributes
	keeps bool // the variable itself, so that it may outlive the loop
}

func newLayout(parent *layout) *layout { return &layout{parent: parent, slots: map[int]int{}} }

// slot is where a variable of the body stands.
func (l *layout) slot(id int) int {
	i, ok := l.slots[id]
	if !ok {
		i = len(l.slots)
		l.slots[id] = i
	}
	return i
}

// collect gives slots to the names that statements assign in the body itself. All are known before any is read, since
// what is read first may be assigned in an earlier pass of a loop.
func (l *layout) collect(body []statement) {
	for _, s := range body {
		switch s := s.(type) {
		case *hideStatement:
			for _, id := range s.ids {
				l.slot(id)
			}
		case *setStatement:
			l.target(s.target)
		case *setBlockStatement:
			l.target(s.target)
		case *macroStatement:
			l.slot(s.id)
		case *ifStatement:
			for _, body := range s.bodies {
				l.collect(body)
			}
			l.collect(s.otherwise)
		}
	}
}

func (l *layout) target(e expression) {
	switch t := e.(type) {
	case *nameExpression:
		l.slot(t.id)
	case *tupleExpression:
		for _, item := range t.items {
			l.target(item)
		}
	}
}

// within compiles what stands in a scope inside of this one.
func (c *compiler) within(l *layout, compile func()) {
	outer := c.layout
	c.layout = l
	compile()
	c.layout = outer
}

// place is where a variable may be: in the slot of a scope so many around this one.
type place struct{ hops, slot int }

func (c *compiler) places(id int) []place {
	var list []place
	hops := 0
	for l := c.layout; l != nil; l = l.parent {
		if slot, ok := l.slots[id]; ok {
			list = append(list, place{hops, slot})
		}
		hops++
	}
	return list
}

// noteLoop records that the variable is read, for each loop whose it may be.
func (c *compiler) noteLoop(id int, keeps bool) {
	for l := c.layout; l != nil; l = l.parent {
		if l.loop != nil && l.loop.id == id {
			l.loop.reads, l.loop.keeps = true, l.loop.keeps || keeps
		}
	}
}

// variable returns what reads a variable: of the innermost scope where it is assigned by then.
func (c *compiler) variable(id int) code {
	places := c.places(id)
	switch {
	case len(places) == 0:
		return func(r *run) value { return r.root[id] }
	case places[0].hops == 0:
		slot, rest := places[0].slot, places[1:]
		return func(r *run) value {
			if v := r.scope.slots[slot]; v != (unassigned{}) {
				return v
			}
			return r.lookUp(id, rest)
		}
	}
	return func(r *run) value { return r.lookUp(id, places) }
}

// lookUp looks through the places where a variable may be; those that a value has been passed for are the last.
func (r *run) lookUp(id int, places []place) value {
	s, hops := r.scope, 0
	for _, p := range places {
		for ; hops < p.hops; hops++ {
			s = s.parent
		}
		if v := s.slots[p.slot]; v != (unassigned{}) {
			return v
		}
	}
	return r.root[id]
}

// value compiles an expression whose markup, if it has any, makes no difference.
func (c *compiler) value(e expression) code {
	v := e.compile(c)
	switch e.(type) {
	case *nameExpression, *attributeExpression, *filterExpression, *callExpression, *conditionalExpression,
		*binaryExpression, *namespaceExpression, bodyExpression:
		return func(r *run) value { return withoutMarkup(v(r)) }
	}
	return v // the others are never markup
}

func (c *compiler) values(list []expression) []code {
	codes := make([]code, len(list))
	for i, e := range list {
		codes[i] = c.value(e)
	}
	return codes
}

// body compiles statements in the scope where they stand.
func (c *compiler) body(list []statement) action {
	actions := make([]action, len(list))
	for i, s := range list {
		actions[i] = s.compile(c)
	}
	if len(actions) == 1 {
		only := actions[0]
		return func(r *run) flow { r.Step(); return only(r) }
	}
	return func(r *run) flow {
		for _, run := range actions {
			r.Step()
			if f := run(r); f != onward {
				return f
			}
		}
		return onward
	}
}

// compileScope compiles a body whose assignments are its own.
func (c *compiler) compileScope(list []statement) action {
	l := newLayout(c.layout)
	var body action
	c.within(l, func() {
		l.collect(list)
		body = c.body(list)
	})
	return func(r *run) flow {
		r.open(len(l.slots))
		f := body(r)
		r.close()
		return f
	}
}
