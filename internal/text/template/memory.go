package template

// What a rendering makes on its way dies with it: nothing but text leaves. So its memory is cut from pieces that the next
// rendering uses again.

const (
	firstPiece = 32      // items in the first piece
	lastPiece  = 1 << 14 // items in the largest one, which is kept
	longList   = 64      // values of a list that is allocated by itself
)

// memory is what renderings leave to the next one.
type memory struct {
	args   pieces[args]
	values pieces[value]
	spaces pieces[namespace]
	free   []*scope
	loops  []*loop
	boxes  [256]value // short strings that were seen
}

// pieces are items of one type, given out once each until reset.
type pieces[T any] struct {
	piece []T
	used  int
}

// take returns n items, all zero.
func (p *pieces[T]) take(n int) []T {
	if n > len(p.piece)-p.used {
		p.piece, p.used = make([]T, max(firstPiece, min(lastPiece, 2*len(p.piece)), n)), 0
	}
	p.used += n
	return p.piece[p.used-n : p.used : p.used]
}

func (p *pieces[T]) reset() {
	clear(p.piece[:p.used])
	p.used = 0
}

// newValues returns n values, all None.
func (m *memory) newValues(n int) []value {
	if n > longList {
		return make([]value, n)
	}
	return m.values.take(n)
}

func (m *memory) reset() {
	m.args.reset()
	m.values.reset()
	m.spaces.reset()
	clear(m.boxes[:])
	for _, s := range m.free {
		clear(s.slots[:cap(s.slots)])
	}
}

// boxed is a string as a value. A value of a string takes memory, and the keys and types of tools are few and come often.
func (m *memory) boxed(s string) value {
	const short = 24
	if s == "" || len(s) > short {
		return s
	}
	box := &m.boxes[(uint(s[0])*31+uint(s[len(s)-1])*7+uint(s[len(s)/2])+uint(len(s)))%uint(len(m.boxes))]
	if seen, ok := (*box).(string); !ok || seen != s {
		*box = s
	}
	return *box
}
