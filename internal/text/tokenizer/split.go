package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// split cuts text into the pieces that are merged on their own, in order; the pieces add up to the text.
//
// With digits, each number character first becomes a piece by itself and what stands between is split on its own, so
// that the look-ahead of the space rule does not see across a digit: "a  1" is "a", "  ", "1".
func split(text string, digits bool, yield func(piece string)) {
	if !digits {
		splitGPT2(text, yield)
		return
	}
	for text != "" {
		at := strings.IndexFunc(text, unicode.IsNumber)
		if at < 0 {
			splitGPT2(text, yield)
			return
		}
		splitGPT2(text[:at], yield)
		_, size := utf8.DecodeRuneInString(text[at:])
		yield(text[at : at+size])
		text = text[at+size:]
	}
}

func splitGPT2(text string, yield func(piece string)) {
	for text != "" {
		n := nextPiece(text)
		yield(text[:n])
		text = text[n:]
	}
}

// nextPiece is the length of the first match of GPT-2's expression, alternatives in this order:
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
func nextPiece(text string) int {
	if n := contraction(text); n > 0 {
		return n
	}
	body := strings.TrimPrefix(text, " ")
	space := len(text) - len(body)
	if n := classRun(body); n > 0 {
		return space + n
	}
	return spaceRun(text)
}

func contraction(text string) int {
	if len(text) < 2 || text[0] != '\'' {
		return 0
	}
	switch text[1] {
	case 's', 't', 'm', 'd':
		return 2
	}
	if len(text) > 2 {
		switch text[1:3] {
		case "re", "ve", "ll":
			return 3
		}
	}
	return 0
}

type class int

const (
	other class = iota
	letter
	number
	space
)

func classOf(r rune) class {
	switch {
	case unicode.IsLetter(r):
		return letter
	case unicode.IsNumber(r):
		return number
	case unicode.IsSpace(r):
		return space
	}
	return other
}

// classRun is the length of the longest start of text whose characters share the first one's class; 0 where that is
// space or text is empty. Bytes that are not UTF-8 are of class other.
func classRun(text string) int {
	first := space
	for i, r := range text {
		c := classOf(r)
		if i == 0 {
			first = c
		}
		if c == space || c != first {
			return i
		}
	}
	return len(text)
}

// spaceRun matches \s+(?!\S)|\s+ : a run of spaces that is followed by something leaves its last one to that.
func spaceRun(text string) int {
	last := 0
	for i, r := range text {
		if !unicode.IsSpace(r) {
			if last > 0 {
				return last
			}
			return i
		}
		last = i
	}
	return len(text)
}
