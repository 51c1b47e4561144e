package pyvalue

import "hone/internal/chat"

// maxRange is the sandbox's MAX_RANGE.
const maxRange = 100_000

// NewRange is Python's range(), of at most MAX_RANGE items.
func (m *Meter) NewRange(a *Args) Value {
	if len(a.Names) > 0 {
		Fail(m.At, TypeFault, "range() takes no keyword arguments")
	}
	v := m.Bind(a, "range", 1, "start", "stop", "step")
	s := &Range{step: 1}
	if v[1] == (Unset{}) {
		s.stop = int64(m.Integer(v[0]))
	} else {
		s.start, s.stop = int64(m.Integer(v[0])), int64(m.Integer(v[1]))
	}
	if v[2] != (Unset{}) {
		if s.step = int64(m.Integer(v[2])); s.step == 0 {
			Fail(m.At, ValueFault, "range() arg 3 must not be zero")
		}
	}
	switch {
	case s.step > 0 && s.start < s.stop:
		s.count = (s.stop - s.start + s.step - 1) / s.step
	case s.step < 0 && s.start > s.stop:
		s.count = (s.start - s.stop - s.step - 1) / -s.step
	}
	if s.count > maxRange {
		Fail(m.At, OverflowFault, "Range too big. The sandbox blocks ranges larger than MAX_RANGE (%d).", maxRange)
	}
	return s
}

// Dict makes one from a mapping or pairs, and keyword arguments.
func (m *Meter) Dict(a *Args) *chat.Object {
	d := &chat.Object{}
	d.Grow(len(a.Names))
	if len(a.Positional) > 1 {
		Fail(m.At, TypeFault, "dict expected at most 1 argument, got %d", len(a.Positional))
	}
	for _, from := range a.Positional {
		if source, ok := from.(*chat.Object); ok {
			for i := range source.Len() {
				m.Charge(ItemBytes)
				d.Set(source.At(i))
			}
			continue
		}
		for _, pair := range m.List(from) {
			two := m.List(Plain(pair))
			if len(two) != 2 {
				Fail(m.At, ValueFault, "dictionary update sequence element has length %d; 2 is required", len(two))
			}
			m.Set(d, Plain(two[0]), two[1])
		}
	}
	for i, name := range a.Names {
		d.Set(name, a.Named[i])
	}
	return d
}
