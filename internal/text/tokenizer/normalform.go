package tokenizer

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// normalForm is one of Unicode's four, as the vendor computes it: with older tables (see unicode.go), and without the
// separators that Go's package puts into a run of more than 30 marks.
func normalForm(f norm.Form) normalizer {
	n := &former{form: f, untouched: notNormal(), decompose: norm.NFD, compose: f == norm.NFC || f == norm.NFKC}
	if f == norm.NFKC || f == norm.NFKD {
		n.decompose = norm.NFKD
	}
	return n.normalize
}

type former struct {
	form, decompose norm.Form
	compose         bool
	untouched       spans // neither decomposed nor moved
}

func (n *former) normalize(text string) string {
	switch {
	case isASCII(text):
		return text
	case n.needsCare(text):
		return n.slowly(text)
	}
	return n.form.String(text)
}

// longRun is a number of marks in a row that surely decompose to fewer than 30.
const longRun = 8

// needsCare reports whether text holds what Go's package and the vendor treat differently.
func (n *former) needsCare(text string) bool {
	run := 0
	for i, r := range text {
		switch {
		case r < utf8.RuneSelf:
			run = 0
			continue
		case r >= n.untouched[0].lo && n.untouched.has(r):
			return true
		case norm.NFD.PropertiesString(text[i:]).CCC() == 0:
			run = 0
			continue
		}
		if run++; run >= longRun {
			return true
		}
	}
	return false
}

// char is a character and its canonical combining class.
type char struct {
	r     rune
	class uint8
}

// slowly follows the definition: decompose, sort marks by their class, compose.
func (n *former) slowly(text string) string {
	var chars []char
	for _, r := range text {
		if n.untouched.has(r) {
			chars = append(chars, char{r, 0})
			continue
		}
		for _, d := range n.decompose.String(string(r)) {
			chars = append(chars, char{d, n.class(d)})
		}
	}
	for start := 0; start < len(chars); start++ {
		end := start
		for end < len(chars) && chars[end].class != 0 {
			end++
		}
		slices.SortStableFunc(chars[start:end], func(a, b char) int { return int(a.class) - int(b.class) })
		start = end
	}
	if n.compose {
		chars = n.composeChars(chars)
	}
	var b strings.Builder
	for _, c := range chars {
		b.WriteRune(c.r)
	}
	return b.String()
}

func (n *former) class(r rune) uint8 { return norm.NFD.PropertiesString(string(r)).CCC() }

// composeChars joins each mark, or second starter, to the last starter where nothing of its class or above stands
// between.
func (n *former) composeChars(chars []char) []char {
	out := chars[:0]
	starter := -1
	last := uint8(0) // class of the last character kept since the starter
	for _, c := range chars {
		adjacent := starter == len(out)-1
		if starter >= 0 && (adjacent || last != 0 && last < c.class) {
			if r, ok := n.pair(out[starter].r, c.r); ok {
				out[starter].r = r
				continue
			}
		}
		if c.class == 0 {
			starter = len(out)
		}
		last = c.class
		out = append(out, c)
	}
	return out
}

func (n *former) pair(a, b rune) (rune, bool) {
	if n.untouched.has(a) || n.untouched.has(b) {
		return 0, false
	}
	pair := string(a) + string(b)
	joined := norm.NFC.String(pair)
	r, size := utf8.DecodeRuneInString(joined)
	return r, size == len(joined) && joined != pair
}
