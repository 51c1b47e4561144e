package pyvalue

// What a rendering makes on its way dies with it: nothing but text leaves. So its memory is cut from pieces that the
// next rendering uses again.

const (
	firstPiece = 32      // items in the first piece
	lastPiece  = 1 << 14 // items in the largest one, which is kept
	longList   = 64      // values of a list that is allocated by itself
)

// Pieces are items of one type, given out once each until reset.
type Pieces[T any] struct {
	piece []T
	used  int
}

// Take returns n items, all zero.
func (p *Pieces[T]) Take(n int) []T {
	if n > len(p.piece)-p.used {
		p.piece, p.used = make([]T, max(firstPiece, min(lastPiece, 2*len(p.piece)), n)), 0
	}
	p.used += n
	return p.piece[p.used-n : p.used : p.used]
}

// Reset takes all items back.
func (p *Pieces[T]) Reset() {
	clear(p.piece[:p.used])
	p.used = 0
}

// NewValues returns n values, all None.
func (m *Meter) NewValues(n int) []Value {
	if n > longList {
		return make([]Value, n)
	}
	return m.values.Take(n)
}

// Box is a string as a value. A value of a string takes memory, and the keys and types of tools are few and come often.
func (m *Meter) Box(s string) Value {
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
