package jinja

import (
	"hone/internal/chat"
	"hone/internal/jinja/pyvalue"
)

// loop is the variable loop of a for statement. It holds the items it has read, and reads further ones when the body
// advances or asks ahead, since a filter on the loop may depend on what the body does.
type loop struct {
	items []value
	pairs *chat.Object             // the items are this dict's, and made where one is asked for
	more  func() (value, bool)     // nil once all are read
	index int                      // from 0; -1 before the first item
	depth int                      // of recursion, from 0
	again func(inner value) string // of a recursive loop
	last  []value                  // what changed() saw
	seen  bool                     // changed() was called
}

func (l *loop) start(r *run, sequence value) {
	l.index = -1
	switch s := sequence.(type) {
	case []value:
		l.items = s
	case pyvalue.Tuple:
		l.items = s
	case *pyvalue.View:
		l.items = s.List()
	case *chat.Object:
		l.items = r.NewValues(s.Len())
		for i, name := range s.Keys() {
			l.items[i] = r.Key(name)
		}
	default:
		if l.pairs == nil {
			l.more = r.Each(sequence)
		}
	}
}

// borrowLoop returns a loop that nothing keeps; giveBackLoop ends its use.
func (m *memory) borrowLoop() *loop {
	last := len(m.loops) - 1
	if last < 0 {
		return &loop{}
	}
	l := m.loops[last]
	m.loops = m.loops[:last]
	return l
}

func (m *memory) giveBackLoop(l *loop) {
	*l = loop{}
	m.loops = append(m.loops, l)
}

// filter keeps the items for which keep is true.
func (l *loop) filter(keep func(value) bool) {
	next := l.more
	if next == nil {
		next = pyvalue.Iterate(l.items)
	}
	l.items = make([]value, 0, 8)
	l.more = func() (value, bool) {
		for {
			item, ok := next()
			if !ok || keep(item) {
				return item, ok
			}
		}
	}
}

// has reads up to the i-th item and reports whether there is one.
func (l *loop) has(i int) bool {
	if l.pairs != nil {
		return i < l.pairs.Len()
	}
	for i >= len(l.items) && l.more != nil {
		item, ok := l.more()
		if !ok {
			l.more = nil
			break
		}
		l.items = append(l.items, item)
	}
	return i < len(l.items)
}

func (l *loop) advance() bool {
	if !l.has(l.index + 1) {
		return false
	}
	l.index++
	return true
}

// item is one that has been read.
func (l *loop) item(i int) value {
	if l.pairs == nil {
		return pyvalue.Plain(l.items[i])
	}
	name, v := l.pairs.At(i)
	return pyvalue.Tuple{pyvalue.Key(name), pyvalue.Plain(v)}
}

func (l *loop) length() int {
	if l.pairs != nil {
		return l.pairs.Len()
	}
	for l.has(len(l.items)) {
	}
	return len(l.items)
}

// attribute returns one of loop's own, false for an unknown name.
func (l *loop) attribute(name string) (value, bool) {
	switch name {
	case "index":
		return int64(l.index + 1), true
	case "index0":
		return int64(l.index), true
	case "first":
		return l.index == 0, true
	case "last":
		return !l.has(l.index + 1), true
	case "length":
		return int64(l.length()), true
	case "revindex":
		return int64(l.length() - l.index), true
	case "revindex0":
		return int64(l.length() - l.index - 1), true
	case "depth":
		return int64(l.depth + 1), true
	case "depth0":
		return int64(l.depth), true
	case "previtem":
		if l.index == 0 {
			return &pyvalue.Undefined{Message: "there is no previous item"}, true
		}
		return l.item(l.index - 1), true
	case "nextitem":
		if !l.has(l.index + 1) {
			return &pyvalue.Undefined{Message: "there is no next item"}, true
		}
		return l.item(l.index + 1), true
	case "cycle", "changed":
		return &method{l, name}, true
	}
	return nil, false
}

func (l *loop) call(r *run, name string, a *pyvalue.Args) value {
	if name == "cycle" {
		if len(a.Positional) == 0 {
			pyvalue.Fail(r.At, pyvalue.TypeFault, "no items for cycling given")
		}
		return a.Positional[l.index%len(a.Positional)]
	}
	if l.seen && r.Equal(pyvalue.Tuple(l.last), pyvalue.Tuple(a.Positional)) {
		return false
	}
	l.seen, l.last = true, a.Positional
	return true
}
