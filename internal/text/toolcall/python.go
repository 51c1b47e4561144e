package toolcall

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxBadCalls bounds the bad calls of a list behind which a good one is looked for, so that time stays linear.
const maxBadCalls = 8

// pythonCalls reads calls such as f(a='x', n=3) that separators set apart, or line breaks, with brackets around all of
// them or none. Each is read by itself, so that a bad one does not lose the others.
func pythonCalls(text []byte, separators string) []part {
	allowed := separators + "[], \t\r\n"
	var parts []part
	bad, at := 0, 0
	for at < len(text) {
		start := at + len(text[at:]) - len(bytes.TrimLeft(text[at:], allowed))
		if start > at {
			parts = append(parts, part{size: start - at})
		}
		if at = start; at == len(text) {
			break
		}
		r := pythonReader{cursor: cursor{text: text, at: at}}
		c, err := r.call()
		end := r.at
		if err != nil {
			end = endOfBad(text, at, separators)
		} else if rest := bytes.TrimLeft(text[end:], " \t\r"); len(rest) > 0 &&
			strings.IndexByte(separators+"],\n", rest[0]) < 0 {
			err = fmt.Errorf("something follows the call: %.40q", rest)
			end = endOfBad(text, end, separators)
		}
		if err != nil {
			bad++
		}
		if bad > maxBadCalls {
			end = len(text)
		}
		parts = append(parts, whole(end-at, c, err)...)
		at = end
	}
	return parts
}

// endOfBad is where a bad call ends: before the separator or bracket behind it, and where its own brackets or strings
// do not close, at the end of the line.
func endOfBad(text []byte, at int, separators string) int {
	for end := at; end < len(text); end++ {
		switch c := text[end]; {
		case strings.IndexByte(separators+"]", c) >= 0 && end > at:
			return end
		case c == '(' || c == '[' || c == '{':
			s := scanner{at: end, python: true}
			next, ok := s.closingBracket(text, true)
			if !ok {
				return endOfLine(text, at)
			}
			end = next - 1
		case c == '"' || c == '\'':
			r := pythonReader{cursor: cursor{text: text, at: end}}
			if _, err := r.str(false); err != nil {
				return endOfLine(text, at)
			}
			end = r.at - 1
		}
	}
	return len(text)
}

func endOfLine(text []byte, at int) int {
	if line := bytes.IndexByte(text[at:], '\n'); line > 0 {
		return at + line
	}
	return len(text)
}

// cursor is a place in a text.
type cursor struct {
	text []byte
	at   int
}

func (c *cursor) space() {
	for c.at < len(c.text) && isSpace(c.text[c.at]) {
		c.at++
	}
}

// peek is the next byte that is no white space, 0 at the end.
func (c *cursor) peek() byte {
	if c.space(); c.at < len(c.text) {
		return c.text[c.at]
	}
	return 0
}

// pythonReader turns Python's literals into JSON.
type pythonReader struct {
	cursor
	depth int
}

// word takes the bytes of a name or a number.
func (r *pythonReader) word() string {
	start := r.at
	for r.at < len(r.text) {
		c := r.text[r.at]
		if !(c == '_' || c == '.' || c == '-' || c == '+' && r.at == start || c >= '0' && c <= '9' ||
			c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80) {
			break
		}
		r.at++
		if (c == 'e' || c == 'E') && r.at < len(r.text) && r.text[r.at] == '+' && isDigit(r.text[start:]) {
			r.at++ // the sign of an exponent
		}
	}
	return string(r.text[start:r.at])
}

func isDigit(text []byte) bool {
	text = bytes.TrimLeft(text, "+-.")
	return len(text) > 0 && text[0] >= '0' && text[0] <= '9'
}

func (r *pythonReader) call() (c call, err error) {
	if c.name = r.word(); !isName(c.name) || isDigit([]byte(c.name)) {
		return c, fmt.Errorf("%.40q is no name", c.name)
	}
	if r.peek() != '(' {
		return c, errors.New("no ( behind the name")
	}
	r.at++
	args := newArguments()
	for first := true; ; first = false {
		if r.peek() == ')' {
			r.at++
			c.arguments = args.object()
			return c, nil
		}
		if !first {
			if r.peek() != ',' {
				return c, errors.New("no comma between arguments")
			}
			r.at++
			if r.peek() == ')' {
				continue
			}
		}
		name := r.word()
		if name == "" || r.peek() != '=' {
			return c, errors.New("an argument has no name")
		}
		r.at++
		value, err := r.value()
		if err != nil {
			return c, err
		}
		if err := args.add(value, name); err != nil {
			return c, err
		}
	}
}

func (r *pythonReader) value() (string, error) {
	if r.depth++; r.depth > maxDepth {
		return "", errors.New("too many values in values")
	}
	defer func() { r.depth-- }()
	switch c := r.peek(); {
	case c == '[':
		return r.list(']')
	case c == '(':
		return r.list(')')
	case c == '{':
		return r.dict()
	case c == '"' || c == '\'':
		return r.strings()
	}
	word := r.word()
	switch word {
	case "True", "true":
		return "true", nil
	case "False", "false":
		return "false", nil
	case "None", "null":
		return "null", nil
	case "r", "R", "u", "U":
		if r.at < len(r.text) && (r.text[r.at] == '"' || r.text[r.at] == '\'') {
			text, err := r.str(word == "r" || word == "R")
			return quote(text), err
		}
	}
	return pythonNumber(word)
}

// pythonNumber writes a number as JSON; where Python and JSON agree the text stays. Infinite ones are refused.
func pythonNumber(word string) (string, error) {
	text := strings.TrimPrefix(word, "+")
	if value := jsontext.Value(text); !value.IsValid() || value.Kind() != '0' {
		sign, digits := "", text
		if rest, ok := strings.CutPrefix(text, "-"); ok {
			sign, digits = "-", rest
		}
		if n, ok := new(big.Int).SetString(digits, 0); ok && len(digits) < 1000 && digits[0] != '+' &&
			digits[0] != '-' && !octal(digits) {
			return sign + n.String(), nil
		}
		digits = strings.ReplaceAll(digits, "_", "")
		if strings.HasPrefix(digits, ".") {
			digits = "0" + digits
		}
		digits = strings.Replace(digits, ".e", ".0e", 1)
		if strings.HasSuffix(digits, ".") {
			digits += "0"
		}
		text = sign + digits
	}
	if value := jsontext.Value(text); !value.IsValid() || value.Kind() != '0' || !finite(value) {
		return "", fmt.Errorf("no value: %.40q", word)
	}
	return text, nil
}

// octal reports a number that C, but not Python, reads as octal.
func octal(digits string) bool {
	return len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9'
}

func (r *pythonReader) list(shut byte) (string, error) {
	out := []byte{'['}
	r.at++
	comma := false
	for {
		if r.peek() == shut {
			r.at++
			if shut == ')' && !comma && len(out) > 1 { // brackets around a value, not a tuple
				return string(out[1:]), nil
			}
			return string(append(out, ']')), nil
		}
		if len(out) > 1 {
			if !comma {
				return "", errors.New("no comma between values")
			}
			out = append(out, ", "...)
		}
		value, err := r.value()
		if err != nil {
			return "", err
		}
		out = append(out, value...)
		if next := r.peek(); next == ',' {
			comma = true
			r.at++
		} else if next != shut {
			return "", errors.New("no comma between values")
		} else if len(out) == 1+len(value) {
			comma = false
		}
	}
}

func (r *pythonReader) dict() (string, error) {
	args := newArguments()
	r.at++
	for first := true; ; first = false {
		if r.peek() == '}' {
			r.at++
			return args.object(), nil
		}
		if !first {
			if r.peek() != ',' {
				return "", errors.New("no comma between members")
			}
			r.at++
			if r.peek() == '}' {
				continue
			}
		}
		if c := r.peek(); c != '"' && c != '\'' {
			return "", errors.New("a key is not a string")
		}
		name, err := r.str(false)
		if err != nil {
			return "", err
		}
		if r.peek() != ':' {
			return "", errors.New("a key has no value")
		}
		r.at++
		value, err := r.value()
		if err != nil {
			return "", err
		}
		if err := args.add(value, name); err != nil {
			return "", err
		}
	}
}

// strings reads a string, or several side by side, which are one.
func (r *pythonReader) strings() (string, error) {
	var all strings.Builder
	for c := r.peek(); c == '"' || c == '\''; c = r.peek() {
		text, err := r.str(false)
		if err != nil {
			return "", err
		}
		all.WriteString(text)
	}
	return quote(all.String()), nil
}

// str reads one string.
func (r *pythonReader) str(raw bool) (string, error) {
	mark := r.text[r.at : r.at+1]
	if run(r.text[r.at:], mark[0]) == 3 {
		mark = r.text[r.at : r.at+3]
	}
	r.at += len(mark)
	var out []byte
	for r.at < len(r.text) {
		rest := r.text[r.at:]
		switch c := rest[0]; {
		case bytes.HasPrefix(rest, mark):
			r.at += len(mark)
			if !utf8.Valid(out) {
				return "", errors.New("a string is no text")
			}
			return string(out), nil
		case c == '\\' && len(rest) > 1 && raw:
			out = append(out, rest[:2]...)
			r.at += 2
		case c == '\\' && len(rest) > 1:
			text, n, err := unescape(rest)
			if err != nil {
				return "", err
			}
			out = append(out, text...)
			r.at += n
		default:
			out = append(out, c)
			r.at++
		}
	}
	return "", errors.New("a string does not end")
}

// unescape reads an escape of Python's; JSON's pairs of \u are one character too. It returns the bytes it is long.
func unescape(rest []byte) (string, int, error) {
	if at := strings.IndexByte(`\'"abfnrtv`, rest[1]); at >= 0 {
		return "\\'\"\a\b\f\n\r\t\v"[at : at+1], 2, nil
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[rest[1]]
	switch {
	case rest[1] == '\n':
		return "", 2, nil
	case rest[1] >= '0' && rest[1] <= '7':
		n := 2
		for n < len(rest) && n < 4 && rest[n] >= '0' && rest[n] <= '7' {
			n++
		}
		code, _ := strconv.ParseUint(string(rest[1:n]), 8, 32)
		return string(rune(code)), n, nil
	case rest[1] == 'N':
		return "", 0, errors.New(`\N is not understood`)
	case digits == 0:
		return string(rest[:1]), 1, nil // what is no escape is a backslash
	}
	code, err := hexCode(rest, digits)
	if err != nil {
		return "", 0, err
	}
	n := 2 + digits
	if code >= 0xd800 && code < 0xdc00 && len(rest) >= n+6 && rest[n] == '\\' && rest[n+1] == 'u' {
		if low, err := hexCode(rest[n:], 4); err == nil && low >= 0xdc00 && low < 0xe000 {
			return string(0x10000 + (code-0xd800)<<10 + low - 0xdc00), n + 6, nil
		}
	}
	if !utf8.ValidRune(code) {
		return "", 0, errors.New("an escape is half of a character")
	}
	return string(code), n, nil
}

func hexCode(rest []byte, digits int) (rune, error) {
	if len(rest) < 2+digits {
		return 0, errors.New("an escape breaks off")
	}
	code, err := strconv.ParseUint(string(rest[2:2+digits]), 16, 32)
	if err != nil || code > 0x10ffff {
		return 0, errors.New("an escape is none")
	}
	return rune(code), nil
}
