package jinja

// scope holds what is assigned in a body that keeps its assignments to itself.
type scope struct {
	parent *scope
	slots  []value
	kept   bool // something may outlive the body and see its variables: a macro, a loop
}

// unassigned is in the slots of variables that are not assigned yet.
type unassigned struct{}

// manyVariables are as much work to prepare, or names of a namespace to look through, as a step is.
const manyVariables = 32

// unset makes all variables unassigned.
func (r *run) unset(s *scope) {
	r.Steps += len(s.slots) / manyVariables
	for i := range s.slots {
		s.slots[i] = unassigned{}
	}
}

// keep says that something may outlive the scope; it sees those around it too.
func (s *scope) keep() {
	for ; s != nil && !s.kept; s = s.parent {
		s.kept = true
	}
}

// borrow returns a scope of so many variables, in the memory of one that is over; giveBack ends its use.
func (r *run) borrow(parent *scope, slots int) *scope {
	var s *scope
	if last := len(r.free) - 1; last >= 0 {
		s, r.free = r.free[last], r.free[:last]
	} else {
		s = &scope{}
	}
	if slots > cap(s.slots) {
		s.slots = make([]value, slots, max(slots, 6))
	}
	s.parent, s.slots = parent, s.slots[:slots]
	r.unset(s)
	return s
}

func (r *run) giveBack(s *scope) {
	if !s.kept {
		s.parent = nil
		r.free = append(r.free, s)
	}
}

// open begins a body in a scope of its own, and close ends it.
func (r *run) open(slots int) { r.scope = r.borrow(r.scope, slots) }

func (r *run) close() {
	s := r.scope
	r.scope = s.parent
	r.giveBack(s)
}
