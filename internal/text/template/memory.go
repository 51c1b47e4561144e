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
	for _, s := range m.free {
		clear(s.slots[:cap(s.slots)])
	}
}
