package toolcall

// valueMarks are what a form writes around the text of a value. Both may be the same.
type valueMarks struct{ open, shut string }

// valueScan tells whether a tag stands in a value, and goes over each byte once.
type valueScan struct {
	at    int // how far values have been followed
	in    bool
	ahead int // where the next mark of a value stands, or how far there is none
	next  string
}

// holds reports whether the mark of a call that stands at a place is the text of a value. It is where a value is open
// whose closing tag still comes. Where none is open, ended tells whether markup follows the mark: if not, and a closing
// tag still comes that nothing opens, the one in front of the mark was text as well. known is false where more text
// must tell.
func (v *valueScan) holds(m valueMarks, text []byte, at, size int, ended, final bool) (within, known bool) {
	if v.follow(m, text, at); !v.in && (ended || m.open == m.shut) {
		return false, true
	}
	mark, known := v.look(m, text, at+size, final)
	return mark == m.shut, known
}

// follow goes on to a place and notes whether it is in a value.
func (v *valueScan) follow(m valueMarks, text []byte, to int) {
	marks := []string{m.open, m.shut}
	for v.at < to {
		at, mark := find(text[:to], v.at, marks, m.open[:1])
		if mark == "" {
			v.at = to
			return
		}
		if v.in = !v.in; m.open != m.shut {
			v.in = mark == m.open
		}
		v.at = at + len(mark)
	}
}

// look returns the first mark of a value behind a place, empty where none comes.
func (v *valueScan) look(m valueMarks, text []byte, from int, final bool) (mark string, known bool) {
	if v.next == "" || v.ahead < from {
		v.ahead, v.next = find(text, max(v.ahead, from), []string{m.open, m.shut}, m.open[:1])
	}
	return v.next, v.next != "" || final
}
