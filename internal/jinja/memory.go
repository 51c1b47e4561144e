package jinja

import "hone/internal/jinja/pyvalue"

// memory is what renderings leave to the next one.
type memory struct {
	args   pyvalue.Pieces[pyvalue.Args]
	spaces pyvalue.Pieces[namespace]
	free   []*scope
	loops  []*loop
}

func (m *memory) reset() {
	m.args.Reset()
	m.spaces.Reset()
	for _, s := range m.free {
		clear(s.slots[:cap(s.slots)])
	}
}
