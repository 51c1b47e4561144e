package template

// Most of what a rendering allocates are arguments and short lists of values. They are cut from larger pieces, each part
// given out once, so that whatever keeps one keeps it for itself.

const (
	firstPiece = 32  // values in the first piece of a rendering
	lastPiece  = 256 // values in a later one, at most
	longList   = 64  // values of a list that is allocated by itself
	argsPiece  = 16
)

// memory is what is left of the pieces.
type memory struct {
	args   []args
	values []value
	piece  int
}

// newArgs returns empty arguments.
func (m *memory) newArgs() *args {
	if len(m.args) == 0 {
		m.args = make([]args, argsPiece)
	}
	a := &m.args[0]
	m.args = m.args[1:]
	return a
}

// newValues returns n values, all None.
func (m *memory) newValues(n int) []value {
	if n > longList {
		return make([]value, n)
	}
	if n > len(m.values) {
		m.piece = min(lastPiece, max(firstPiece, 2*m.piece, n))
		m.values = make([]value, m.piece)
	}
	values := m.values[:n:n]
	m.values = m.values[n:]
	return values
}
