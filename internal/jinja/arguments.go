package jinja

import "hone/internal/jinja/pyvalue"

// constant are the values of arguments that are all constants, nil for others; nobody writes to them.
func (a arguments) constant() *pyvalue.Args {
	positional, ok := constants(a.positional)
	named, all := constants(a.named)
	if !ok || !all || a.list != nil || a.dict != nil {
		return nil
	}
	return &pyvalue.Args{Positional: positional, Names: a.names, Named: named}
}

// constants are the values of expressions, false if they are not all constants.
func constants(list []expression) ([]value, bool) {
	values := make([]value, len(list))
	for i, e := range list {
		c, ok := e.(constant)
		if !ok {
			return nil, false
		}
		values[i] = c.value
	}
	return values, true
}

// none are the arguments of most filters and tests.
func (a arguments) none() bool {
	return a.positional == nil && a.names == nil && a.list == nil && a.dict == nil
}

func (c *compiler) arguments(e arguments) func(r *run) *pyvalue.Args {
	if e.none() {
		return func(r *run) *pyvalue.Args { return &r.noArgs }
	}
	if fixed := e.constant(); fixed != nil {
		return func(*run) *pyvalue.Args { return fixed }
	}
	positional, named := c.values(e.positional), c.values(e.named)
	var list, dict code
	if e.list != nil {
		list = c.value(e.list)
	}
	if e.dict != nil {
		dict = c.value(e.dict)
	}
	return func(r *run) *pyvalue.Args {
		a := &r.args.Take(1)[0]
		a.Positional = r.evalAll(positional)
		if len(named) > 0 {
			a.Names, a.Named = e.names, r.evalAll(named)
		}
		if list != nil {
			a.Positional = append(a.Positional, r.List(list(r))...)
		}
		if dict != nil {
			r.Unpack(a, dict(r))
		}
		return a
	}
}
