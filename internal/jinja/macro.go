package jinja

import (
	"fmt"
	"slices"

	"hone/internal/jinja/pyvalue"
)

// macroCode is a compiled macro.
type macroCode struct {
	*macroStatement
	slots                 []int // of the parameters, in the scope of a call
	values                []code
	body                  action
	caller, varargs, keys int // slots
	size                  int
}

func (m *macroStatement) code(c *compiler) *macroCode {
	k := &macroCode{macroStatement: m}
	l := newLayout(c.layout)
	c.within(l, func() {
		for _, q := range m.parameters {
			k.slots = append(k.slots, l.slot(q.id))
		}
		k.caller, k.varargs, k.keys = l.macroSlots(m)
		l.collect(m.body)
		for _, q := range m.parameters {
			if q.value == nil {
				missing := &pyvalue.Undefined{Message: fmt.Sprintf("parameter '%s' was not provided", q.name)}
				k.values = append(k.values, func(*run) value { return missing })
				continue
			}
			k.values = append(k.values, c.value(q.value))
		}
		k.body = c.body(m.body)
	})
	k.size = len(l.slots)
	return k
}

// macroSlots gives slots to the names that a macro has without naming them as parameters.
func (l *layout) macroSlots(m *macroStatement) (caller, varargs, kwargs int) {
	for _, n := range []struct {
		uses bool
		id   int
		slot *int
	}{{m.usesCaller, m.caller, &caller}, {m.usesVarargs, m.varargs, &varargs}, {m.usesKwargs, m.kwargs, &kwargs}} {
		if n.uses {
			*n.slot = l.slot(n.id)
		}
	}
	return caller, varargs, kwargs
}

func (m *macroStatement) compile(c *compiler) action {
	k, slot := m.code(c), c.layout.slots[m.id]
	return func(r *run) flow {
		r.scope.keep()
		r.scope.slots[slot] = &macro{k, r.scope}
		return onward
	}
}

func (s *callStatement) compile(c *compiler) action {
	function, arguments, body := c.value(s.call.function), c.arguments(s.call.arguments), s.body.code(c)
	return func(r *run) flow {
		r.scope.keep()
		fn := function(r)
		a := arguments(r).Clone()
		a.Names, a.Named = append(a.Names, "caller"), append(a.Named, &macro{body, r.scope})
		r.At = s.call.at
		r.write(r.Text(r.call(fn, a)))
		return onward
	}
}

// callMacro writes what a macro gives, with the arguments in the order jinja2 fills them in.
func (r *run) callMacro(m *macro, a *pyvalue.Args) {
	k, at := m.code, r.At
	r.Enter(at)
	inner := r.borrow(m.scope, k.size)
	r.passArguments(k, inner, a)
	outer := r.scope
	r.scope = inner
	for i, slot := range k.slots {
		if inner.slots[slot] == (pyvalue.Unset{}) {
			inner.slots[slot] = k.values[i](r)
		}
	}
	r.captures++
	k.body(r)
	r.captures--
	r.scope = outer
	r.giveBack(inner)
	r.Leave()
}

// passArguments fills the slots of a call; parameters that are not passed are unset.
func (r *run) passArguments(k *macroCode, inner *scope, a *pyvalue.Args) {
	explicitCaller, taken := false, 0
	for i, q := range k.parameters {
		explicitCaller = explicitCaller || q.name == "caller"
		v := value(pyvalue.Unset{})
		if i < len(a.Positional) {
			v = a.Positional[i]
		} else if j := slices.Index(a.Names, q.name); j >= 0 {
			v, taken = a.Named[j], taken+1
		}
		inner.slots[k.slots[i]] = v
	}
	if k.usesCaller && !explicitCaller {
		var caller value
		if j := slices.Index(a.Names, "caller"); j >= 0 {
			caller, taken = a.Named[j], taken+1
		}
		if caller == nil {
			caller = &pyvalue.Undefined{Message: "No caller defined"}
		}
		inner.slots[k.caller] = caller
	}
	if k.usesKwargs || taken < len(a.Names) {
		r.passOthers(k, inner, a.Clone(), !explicitCaller)
	}
	if extra := len(a.Positional) - len(k.parameters); k.usesVarargs {
		inner.slots[k.varargs] = pyvalue.Tuple(a.Positional[min(len(k.parameters), len(a.Positional)):])
	} else if extra > 0 {
		pyvalue.Fail(r.At, pyvalue.TypeFault, "macro '%s' takes not more than %d argument(s)", k.name,
			len(k.parameters))
	}
}

// passOthers passes the keyword arguments that no parameter takes.
func (r *run) passOthers(k *macroCode, inner *scope, a *pyvalue.Args, takesCaller bool) {
	for i, q := range k.parameters {
		if i >= len(a.Positional) {
			a.Take(q.name)
		}
	}
	if k.usesCaller && takesCaller {
		a.Take("caller")
	}
	if k.usesKwargs {
		inner.slots[k.keys] = a.Rest()
	} else if len(a.Names) > 0 {
		pyvalue.Fail(r.At, pyvalue.TypeFault, "macro '%s' takes no keyword argument '%s'", k.name, a.Names[0])
	}
}
