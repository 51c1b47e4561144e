package tokenizer

import "unicode/utf8"

// regex is a compiled splitting expression of a tokenizer.json. Go's regexp package knows no look-ahead, and the
// general backtracking packages work on runes and know other Unicode versions than the vendor's; so the subset that
// tokenizers use is matched here, on UTF-8, with Oniguruma's meaning: the first alternative that matches wins.
type regex struct {
	prog []inst
	alts []alternative // of the outermost alternation
}

// alternative is one branch of the outermost alternation. first holds the bytes that a match can begin with, so that
// most branches are passed over without running them.
type alternative struct {
	start int
	first [256]bool
}

type opcode uint8

const (
	opSet        opcode = iota // one character of set
	opRepeat                   // min to max characters of set, as many as possible
	opPossessive               // the same, never giving one back
	opSplit                    // go on at x; if that fails, at y
	opJump                     // go on at x
	opLook                     // the program at x matches here (or not); then go on at y
	opBehind                   // the character before is one of set (or not)
	opAtomic                   // the first match of the program at x; then go on at y
	opLineStart
	opLineEnd
	opTextStart
	opTextEnd
	opWordEdge // \b, or with not \B
	opAccept
)

type inst struct {
	op       opcode
	not      bool
	set      *set
	min, max int // max < 0: any number
	x, y     int
}

// retry is what is left to try when a path fails: pc at pos, then one character less, down to floor.
type retry struct{ pc, pos, floor int }

// matcher searches one text. The stack is on the heap, so that a text of any length cannot overflow ours.
type matcher struct {
	*regex
	stack []retry
	left  int // retries
}

// newMatcher starts a search. A hostile expression can have more ways to fail than there is time for: after ten million
// retries, the bound of Oniguruma, and some for each byte of the text, nothing matches any more.
func newMatcher(re *regex, text string) *matcher {
	return &matcher{regex: re, left: 10_000_000 + 64*len(text)}
}

// find returns the first match in s at or after from, and false where there is none. An empty match that begins at
// after (the end of the match before) does not count.
func (m *matcher) find(s string, from, after int) (start, end int, ok bool) {
	for pos := from; pos < len(s) && m.left >= 0; {
		b := s[pos]
		for i := range m.alts {
			if !m.alts[i].first[b] {
				continue
			}
			if end := m.run(m.alts[i].start, s, pos); end > pos || end == pos && pos != after {
				return pos, end, true
			}
		}
		if b < utf8.RuneSelf {
			pos++
			continue
		}
		_, size := utf8.DecodeRuneInString(s[pos:])
		pos += size
	}
	return 0, 0, false
}

// run matches the program at pc against s at pos and returns the end of the match, -1 where there is none.
func (m *matcher) run(pc int, s string, pos int) int {
	base := len(m.stack)
	for {
		in := &m.prog[pc]
		ok := true
		switch in.op {
		case opSet:
			size := in.set.at(s, pos)
			ok = size > 0
			pos += size
			pc++
		case opRepeat, opPossessive:
			pos, ok = m.repeat(in, pc, s, pos)
			pc++
		case opSplit:
			m.stack = append(m.stack, retry{in.y, pos, pos})
			pc = in.x
		case opJump:
			pc = in.x
		case opLook:
			ok = (m.run(in.x, s, pos) >= 0) != in.not
			pc = in.y
		case opAtomic:
			pos = m.run(in.x, s, pos)
			ok = pos >= 0
			pc = in.y
		case opAccept:
			m.stack = m.stack[:base]
			return pos
		default:
			ok = in.holds(s, pos)
			pc++
		}
		if ok {
			continue
		}
		if m.left--; len(m.stack) == base || m.left < 0 {
			m.stack = m.stack[:base]
			return -1
		}
		top := &m.stack[len(m.stack)-1]
		pc, pos = top.pc, top.pos
		if pos == top.floor {
			m.stack = m.stack[:len(m.stack)-1]
		} else {
			top.pos -= lastSize(s[:pos])
		}
	}
}

// repeat takes as many characters as it may and leaves the shorter choices on the stack.
func (m *matcher) repeat(in *inst, pc int, s string, pos int) (int, bool) {
	floor := pos
	n := 0
	for in.max < 0 || n < in.max {
		size := in.set.at(s, pos)
		if size == 0 {
			break
		}
		pos += size
		n++
		if n == in.min {
			floor = pos
		}
	}
	if n < in.min {
		return pos, false
	}
	if in.op == opRepeat && pos > floor {
		m.stack = append(m.stack, retry{pc + 1, pos - lastSize(s[:pos]), floor})
	}
	return pos, true
}

// holds reports whether an assertion of no length is true at pos.
func (in *inst) holds(s string, pos int) bool {
	switch in.op {
	case opBehind:
		return in.set.before(s, pos) != in.not
	case opLineStart: // as in Ruby, whose syntax Hugging Face's expressions have
		return pos == 0 || s[pos-1] == '\n'
	case opLineEnd:
		return pos == len(s) || s[pos] == '\n'
	case opTextStart:
		return pos == 0
	case opTextEnd:
		return pos == len(s)
	}
	return (in.set.before(s, pos) != (in.set.at(s, pos) > 0)) != in.not // opWordEdge
}

func lastSize(s string) int {
	if s[len(s)-1] < utf8.RuneSelf {
		return 1
	}
	_, size := utf8.DecodeLastRuneInString(s)
	return size
}
