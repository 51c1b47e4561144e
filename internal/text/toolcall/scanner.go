package toolcall

import "bytes"

// scanner goes over brackets and strings, over each byte once however the text is cut.
type scanner struct {
	at     int
	depth  int
	quote  byte // of the string it is in; 0 outside
	triple bool // the string is one of Python's with three quotes
	python bool // strings may have single quotes and three quotes
}

// closingBracket returns the index behind the bracket that closes the first one. final tells that no more text comes.
func (s *scanner) closingBracket(text []byte, final bool) (int, bool) {
	for ; s.at < len(text); s.at++ {
		switch c := text[s.at]; {
		case s.quote != 0 && c == '\\':
			if s.at+1 == len(text) {
				return 0, false // what it escapes has not come yet
			}
			s.at++
		case s.quote != 0:
			if c == s.quote && !s.closeQuote(text, final) {
				return 0, false
			}
		case c == '"' || c == '\'' && s.python:
			if !s.openQuote(text, c, final) {
				return 0, false
			}
		case c == '{' || c == '[' || c == '(':
			s.depth++
		case c == '}' || c == ']' || c == ')':
			if s.depth--; s.depth <= 0 {
				s.at++
				return s.at, true
			}
		}
	}
	return 0, false
}

// openQuote begins a string; false where the next bytes must tell which kind it is.
func (s *scanner) openQuote(text []byte, c byte, final bool) bool {
	if s.python {
		n := run(text[s.at:], c)
		if n < 3 && s.at+n == len(text) && !final {
			return false
		}
		if n == 2 { // an empty string
			s.at++
			return true
		}
		if n >= 3 {
			s.triple = true
			s.at += 2
		}
	}
	s.quote = c
	return true
}

func (s *scanner) closeQuote(text []byte, final bool) bool {
	if s.triple {
		n := run(text[s.at:], s.quote)
		if n < 3 {
			return s.at+n < len(text) || final
		}
		s.at += 2
		s.triple = false
	}
	s.quote = 0
	return true
}

// run is the number of times, three at most, that c stands at the front.
func run(text []byte, c byte) int {
	n := 0
	for n < len(text) && n < 3 && text[n] == c {
		n++
	}
	return n
}

// outside returns where the first of the marks stands outside JSON strings. A line break ends a string, since JSON
// allows none in it: what follows a quote that is missing is not lost. inside is told of marks within strings.
func (s *scanner) outside(text []byte, marks []string, inside func(at int, mark string)) (int, string) {
	for s.at < len(text) {
		next := bytes.IndexAny(text[s.at:], "\"\\\n<")
		if next < 0 {
			s.at = len(text)
			break
		}
		s.at += next
		switch text[s.at] {
		case '\\':
			if s.quote != 0 {
				if s.at+1 == len(text) {
					return 0, ""
				}
				s.at++
			}
		case '"':
			s.quote ^= '"'
		case '\n':
			s.quote = 0
		default:
			mark, partial := markAt(text[s.at:], marks)
			if mark != "" && s.quote == 0 {
				return s.at, mark
			}
			if partial {
				return 0, ""
			}
			if mark != "" {
				inside(s.at, mark)
			}
		}
		s.at++
	}
	return 0, ""
}
