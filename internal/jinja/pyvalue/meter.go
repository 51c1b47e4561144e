package pyvalue

// Limits stop an evaluation that would not end.
type Limits struct {
	Steps int // statements and operators evaluated
	Bytes int // of all text and lists made on the way
	Depth int // calls inside each other
}

// Meter counts what values cost, and holds the memory they are cut from. What goes wrong, goes wrong where it points
// to.
type Meter struct {
	At        int // where in the source an operation that may fail stands
	Limits    Limits
	Steps     int
	Bytes     int
	depth     int
	OtherKeys bool // there is a dict with a key that is no string
	values    Pieces[Value]
	boxes     [256]Value // short strings that were seen
}

// Reset ends an evaluation: its memory serves the next one.
func (m *Meter) Reset() {
	m.values.Reset()
	clear(m.boxes[:])
	m.At, m.Steps, m.Bytes, m.depth, m.OtherKeys = 0, 0, 0, 0, false
}

// Enter counts a call that leave ends.
func (m *Meter) Enter(at int) {
	m.depth++
	if m.depth > m.Limits.Depth {
		Fail(at, RecursionFault, "more than %d calls inside each other", m.Limits.Depth)
	}
}

// Leave ends a call that Enter counted.
func (m *Meter) Leave() { m.depth-- }

// Step counts a statement or an operator.
func (m *Meter) Step() {
	m.Steps++
	if m.Steps > m.Limits.Steps {
		m.tooLong() // not here, so that step is inlined
	}
}

func (m *Meter) tooLong() {
	Fail(m.At, LimitFault, "the template did not end within %d steps", m.Limits.Steps)
}

// Scan counts the work of reading n bytes of text.
func (m *Meter) Scan(n int) {
	m.Steps += n / 64
	m.Step()
}

// Charge counts bytes of text or lists that are about to be made.
func (m *Meter) Charge(n int) {
	if n < 0 || n > m.Limits.Bytes-m.Bytes {
		m.tooMuch()
	}
	m.Bytes += n
}

func (m *Meter) tooMuch() {
	Fail(m.At, LimitFault, "the template made more than %d bytes of text and lists", m.Limits.Bytes)
}
