package template

import (
	"hone/internal/chat"
)

// maxRange is the sandbox's MAX_RANGE.
const maxRange = 100_000

// globalNamed returns the function that a name means where no value has it, else nil.
func globalNamed(name string) value {
	switch name {
	case "range":
		return function(rangeGlobal)
	case "dict":
		return function(func(r *run, a *args) value { return r.dict(a) })
	case "namespace":
		return function(func(r *run, a *args) value { return r.newNamespace(a) })
	case "raise_exception":
		return function(func(r *run, a *args) value {
			fail(r.at, RaisedFault, "%s", r.text(a.bind(r, name, 1, "message")[0]))
			return nil
		})
	case "strftime_now":
		return function(func(r *run, a *args) value { return r.strftime(r.string(a.bind(r, name, 1, "format")[0])) })
	case "cycler":
		return function(func(r *run, a *args) value {
			if len(a.positional) == 0 {
				fail(r.at, RuntimeFault, "at least one item has to be provided")
			}
			return &cycler{items: a.positional}
		})
	case "joiner":
		return function(func(r *run, a *args) value {
			separator, used := or(a.bind(r, name, 0, "sep")[0], ", "), false
			return function(func(*run, *args) value {
				if used {
					return separator
				}
				used = true
				return ""
			})
		})
	case "lipsum", "self":
		return function(func(r *run, _ *args) value {
			fail(r.at, Unsupported, "the function '%s'", name)
			return nil
		})
	}
	return nil
}

func rangeGlobal(r *run, a *args) value {
	if len(a.names) > 0 {
		fail(r.at, TypeFault, "range() takes no keyword arguments")
	}
	v := a.bind(r, "range", 1, "start", "stop", "step")
	s := &span{step: 1}
	if v[1] == (unset{}) {
		s.stop = int64(r.integer(v[0]))
	} else {
		s.start, s.stop = int64(r.integer(v[0])), int64(r.integer(v[1]))
	}
	if v[2] != (unset{}) {
		if s.step = int64(r.integer(v[2])); s.step == 0 {
			fail(r.at, ValueFault, "range() arg 3 must not be zero")
		}
	}
	switch {
	case s.step > 0 && s.start < s.stop:
		s.count = (s.stop - s.start + s.step - 1) / s.step
	case s.step < 0 && s.start > s.stop:
		s.count = (s.start - s.stop - s.step - 1) / -s.step
	}
	if s.count > maxRange {
		fail(r.at, OverflowFault, "Range too big. The sandbox blocks ranges larger than MAX_RANGE (%d).", maxRange)
	}
	return s
}

func (r *run) newNamespace(a *args) value {
	n := &r.spaces.take(1)[0]
	if len(a.positional) == 0 {
		n.names, n.values = a.names, append(r.newValues(len(a.named))[:0], a.named...)
		return n
	}
	d := r.dict(a)
	for i := range d.Len() {
		name, v := d.At(i)
		n.names, n.values = append(n.names, name), append(n.values, v)
	}
	return n
}

// dict makes one from a mapping or pairs, and keyword arguments.
func (r *run) dict(a *args) *chat.Object {
	d := &chat.Object{}
	d.Grow(len(a.names))
	if len(a.positional) > 1 {
		fail(r.at, TypeFault, "dict expected at most 1 argument, got %d", len(a.positional))
	}
	for _, from := range a.positional {
		if source, ok := from.(*chat.Object); ok {
			for i := range source.Len() {
				r.charge(itemBytes)
				d.Set(source.At(i))
			}
			continue
		}
		for _, pair := range r.list(from) {
			two := r.list(plain(pair))
			if len(two) != 2 {
				fail(r.at, ValueFault, "dictionary update sequence element has length %d; 2 is required", len(two))
			}
			r.set(d, plain(two[0]), two[1])
		}
	}
	for i, name := range a.names {
		d.Set(name, a.named[i])
	}
	return d
}

// cycler gives its items in turn, over and over.
type cycler struct {
	items []value
	at    int
}

func (c *cycler) call(r *run, name string, a *args) value {
	a.bind(r, name, 0)
	current := c.items[c.at]
	if name == "reset" {
		c.at = 0
		return nil
	}
	c.at = (c.at + 1) % len(c.items)
	return current
}
