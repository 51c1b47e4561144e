package tokenizer

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// span is a range of characters, both ends included.
type span struct{ lo, hi rune }

// spans is a set of characters: sorted, apart by at least one character.
type spans []span

func (a spans) union(b ...span) spans {
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(x, y span) int { return int(x.lo - y.lo) })
	out := all[:0]
	for _, s := range all {
		if n := len(out); n > 0 && s.lo <= out[n-1].hi+1 {
			out[n-1].hi = max(out[n-1].hi, s.hi)
		} else {
			out = append(out, s)
		}
	}
	return out
}

func (a spans) complement() spans {
	var out spans
	next := rune(0)
	for _, s := range a {
		if s.lo > next {
			out = append(out, span{next, s.lo - 1})
		}
		next = s.hi + 1
	}
	if next <= unicode.MaxRune {
		out = append(out, span{next, unicode.MaxRune})
	}
	return out
}

func (a spans) intersect(b spans) spans {
	return a.complement().union(b.complement()...).complement()
}

func (a spans) minus(b spans) spans { return a.intersect(b.complement()) }

func (a spans) has(r rune) bool {
	_, found := slices.BinarySearchFunc(a, r, func(s span, r rune) int {
		switch {
		case s.hi < r:
			return -1
		case s.lo > r:
			return 1
		}
		return 0
	})
	return found
}

// fold adds what differs from a member by case only: also "ſ" to "s", and the Kelvin sign to "k".
func (a spans) fold() spans {
	var more spans
	for _, s := range a {
		for r := s.lo; r <= s.hi; r++ {
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				more = append(more, span{f, f})
			}
		}
	}
	return a.union(more...)
}

// spansOf is the set of a table of the unicode package.
func spansOf(tables ...*unicode.RangeTable) spans {
	var out spans
	add := func(lo, hi, stride rune) {
		if stride == 1 {
			out = append(out, span{lo, hi})
			return
		}
		for r := lo; r <= hi; r += stride {
			out = append(out, span{r, r})
		}
	}
	for _, t := range tables {
		for _, r := range t.R16 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range t.R32 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	return spans(nil).union(out...)
}

// set is a set of characters made for quick tests: a bit for each character of the basic plane.
type set struct {
	ascii [2]uint64
	basic [1 << 10]uint64
	rest  spans
}

func newSet(a spans) *set {
	s := &set{}
	for _, r := range a {
		for c := r.lo; c <= min(r.hi, 0xFFFF); c++ {
			s.basic[c>>6] |= 1 << (c & 63)
		}
		if r.hi > 0xFFFF {
			s.rest = append(s.rest, span{max(r.lo, 0x10000), r.hi})
		}
	}
	copy(s.ascii[:], s.basic[:2])
	return s
}

func (s *set) has(r rune) bool {
	if r <= 0xFFFF {
		return s.basic[r>>6]&(1<<(r&63)) != 0
	}
	return s.rest.has(r)
}

// at returns the length of the character of text at pos if it is a member, else 0. A byte that is not UTF-8 counts as
// U+FFFD of length 1.
func (s *set) at(text string, pos int) int {
	if pos >= len(text) {
		return 0
	}
	b := text[pos]
	if b < utf8.RuneSelf {
		return int(s.ascii[b>>6] >> (b & 63) & 1)
	}
	r, size := utf8.DecodeRuneInString(text[pos:])
	if s.has(r) {
		return size
	}
	return 0
}

// before reports whether the character that ends at pos is a member.
func (s *set) before(text string, pos int) bool {
	if pos == 0 {
		return false
	}
	r, _ := utf8.DecodeLastRuneInString(text[:pos])
	return s.has(r)
}
