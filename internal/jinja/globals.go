package jinja

import "hone/internal/jinja/pyvalue"

// globalByName returns the function that a name means where no value has it, else nil.
func globalByName(name string) value {
	switch name {
	case "range":
		return function(func(r *run, a *pyvalue.Args) value { return r.NewRange(a) })
	case "dict":
		return function(func(r *run, a *pyvalue.Args) value { return r.Dict(a) })
	case "namespace":
		return function(func(r *run, a *pyvalue.Args) value { return r.newNamespace(a) })
	case "raise_exception":
		return function(func(r *run, a *pyvalue.Args) value {
			pyvalue.Fail(r.At, RaisedFault, "%s", r.Text(r.Bind(a, name, 1, "message")[0]))
			return nil
		})
	case "strftime_now":
		return function(func(r *run, a *pyvalue.Args) value {
			return r.strftime(r.Str(r.Bind(a, name, 1, "format")[0]))
		})
	case "cycler":
		return function(func(r *run, a *pyvalue.Args) value {
			if len(a.Positional) == 0 {
				pyvalue.Fail(r.At, RuntimeFault, "at least one item has to be provided")
			}
			return &cycler{items: a.Positional}
		})
	case "joiner":
		return function(func(r *run, a *pyvalue.Args) value {
			separator, used := pyvalue.Or(r.Bind(a, name, 0, "sep")[0], ", "), false
			return function(func(*run, *pyvalue.Args) value {
				if used {
					return separator
				}
				used = true
				return ""
			})
		})
	case "lipsum", "self":
		return function(func(r *run, _ *pyvalue.Args) value {
			pyvalue.Fail(r.At, pyvalue.Unsupported, "the function '%s'", name)
			return nil
		})
	}
	return nil
}

func (r *run) newNamespace(a *pyvalue.Args) value {
	n := &r.spaces.Take(1)[0]
	if len(a.Positional) == 0 {
		n.names, n.values = a.Names, append(r.NewValues(len(a.Named))[:0], a.Named...)
		return n
	}
	d := r.Dict(a)
	for i := range d.Len() {
		name, v := d.At(i)
		n.names, n.values = append(n.names, name), append(n.values, v)
	}
	return n
}

// cycler gives its items in turn, over and over.
type cycler struct {
	items []value
	at    int
}

func (c *cycler) call(r *run, name string, a *pyvalue.Args) value {
	r.Bind(a, name, 0)
	current := c.items[c.at]
	if name == "reset" {
		c.at = 0
		return nil
	}
	c.at = (c.at + 1) % len(c.items)
	return current
}
