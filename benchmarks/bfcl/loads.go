package bfcl

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"hone/internal/chat"
)

// maxDepth of arrays and objects inside each other: about where Python's recursion limit ends its reader.
const maxDepth = 1000

// Loads reads JSON as Python's json.loads does: NaN and the infinities are numbers, of a repeated key the last value
// counts, integers have any size, and half of a surrogate pair is a character. Values are nil, bool, int64, *big.Int,
// float64, string, []any and *chat.Object. The text is valid UTF-8, but for such halves of an earlier Loads.
func Loads(text string) (any, error) {
	l := loader{text: text}
	v, err := l.value(0)
	if err != nil {
		return nil, err
	}
	if l.space(); l.at < len(text) {
		return nil, l.errorf("more text after the value")
	}
	return v, nil
}

type loader struct {
	text string
	at   int
}

func (l *loader) errorf(format string, arguments ...any) error {
	return fmt.Errorf("not JSON at byte %d: %s", l.at, fmt.Sprintf(format, arguments...))
}

func (l *loader) space() {
	for l.at < len(l.text) && strings.IndexByte(" \t\n\r", l.text[l.at]) >= 0 {
		l.at++
	}
}

// next is the first byte after white space, 0 at the end.
func (l *loader) next() byte {
	if l.space(); l.at < len(l.text) {
		return l.text[l.at]
	}
	return 0
}

func (l *loader) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, l.errorf("more than %d arrays and objects inside each other", maxDepth)
	}
	switch c := l.next(); {
	case c == '"':
		return l.readString()
	case c == '{':
		return l.object(depth)
	case c == '[':
		return l.array(depth)
	case c == '-' || c >= '0' && c <= '9':
		return l.number()
	}
	for _, word := range []struct {
		text  string
		value any
	}{{"null", nil}, {"true", true}, {"false", false}, {"NaN", math.NaN()}, {"Infinity", math.Inf(1)}} {
		if strings.HasPrefix(l.text[l.at:], word.text) {
			l.at += len(word.text)
			return word.value, nil
		}
	}
	return nil, l.errorf("a value is missing")
}

func (l *loader) object(depth int) (any, error) {
	o := &chat.Object{}
	l.at++
	if l.next() == '}' {
		l.at++
		return o, nil
	}
	for {
		if l.next() != '"' {
			return nil, l.errorf("a key in double quotes is missing")
		}
		key, err := l.readString()
		if err != nil {
			return nil, err
		}
		if l.next() != ':' {
			return nil, l.errorf("a colon is missing")
		}
		l.at++
		v, err := l.value(depth + 1)
		if err != nil {
			return nil, err
		}
		o.Set(key, v)
		if done, err := l.more('}'); done || err != nil {
			return o, err
		}
	}
}

func (l *loader) array(depth int) (any, error) {
	list := []any{}
	l.at++
	if l.next() == ']' {
		l.at++
		return list, nil
	}
	for {
		v, err := l.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		if done, err := l.more(']'); done || err != nil {
			return list, err
		}
	}
}

// more takes a comma, or the end of an array or object.
func (l *loader) more(end byte) (done bool, err error) {
	c := l.next()
	if c != ',' && c != end {
		return false, l.errorf("a comma or %q is missing", end)
	}
	l.at++
	return c == end, nil
}

func (l *loader) number() (any, error) {
	rest := l.text[l.at:]
	if strings.HasPrefix(rest, "-Infinity") {
		l.at += len("-Infinity")
		return math.Inf(-1), nil
	}
	n := 0
	if rest[0] == '-' {
		n++
	}
	digits := func(from int) int {
		for from < len(rest) && rest[from] >= '0' && rest[from] <= '9' {
			from++
		}
		return from
	}
	whole := digits(n)
	switch {
	case whole == n:
		return nil, l.errorf("a value is missing")
	case rest[n] == '0':
		whole = n + 1 // what follows a leading 0 is no part of the number
	}
	end := whole
	if end < len(rest) && rest[end] == '.' && digits(end+1) > end+1 {
		end = digits(end + 1)
	}
	if end < len(rest) && (rest[end] == 'e' || rest[end] == 'E') {
		from := end + 1
		if from < len(rest) && (rest[from] == '+' || rest[from] == '-') {
			from++
		}
		if digits(from) > from {
			end = digits(from)
		}
	}
	if end > whole {
		f, _ := strconv.ParseFloat(rest[:end], 64) // out of range is infinite, as in Python
		l.at += end
		return f, nil
	}
	i, ok := integer(rest[:end])
	if !ok {
		return nil, l.errorf("an integer of more than %d digits", maxDigits)
	}
	l.at += end
	return i, nil
}

// readString reads a text from its opening quote on.
func (l *loader) readString() (string, error) {
	l.at++
	start := l.at
	for l.at < len(l.text) && l.text[l.at] != '"' && l.text[l.at] != '\\' && l.text[l.at] >= ' ' {
		l.at++
	}
	if l.at < len(l.text) && l.text[l.at] == '"' { // as most are
		l.at++
		return l.text[start : l.at-1], nil
	}
	b := []byte(l.text[start:l.at])
	for l.at < len(l.text) {
		switch c := l.text[l.at]; {
		case c == '"':
			l.at++
			return string(b), nil
		case c < ' ':
			return "", l.errorf("a control character in a text")
		case c != '\\':
			b = append(b, c)
			l.at++
		default:
			r, err := l.escape()
			if err != nil {
				return "", err
			}
			b = appendRune(b, r)
		}
	}
	return "", l.errorf("the text ends early")
}

func (l *loader) escape() (rune, error) {
	if l.at+1 == len(l.text) {
		return 0, l.errorf("the text ends early")
	}
	c := l.text[l.at+1]
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		l.at += 2
		return rune("\"\\/\b\f\n\r\t"[i]), nil
	}
	if c != 'u' {
		return 0, l.errorf(`\%c is no escape`, c)
	}
	r, ok := l.hex()
	if !ok {
		return 0, l.errorf(`\u without four hexadecimal digits`)
	}
	if r < 0xd800 || r >= 0xdc00 || !strings.HasPrefix(l.text[l.at:], `\u`) {
		return r, nil
	}
	at := l.at
	low, ok := l.hex()
	if !ok {
		return 0, l.errorf(`\u without four hexadecimal digits`)
	}
	if low < 0xdc00 || low >= 0xe000 {
		l.at = at
		return r, nil
	}
	return (r-0xd800)<<10 + (low - 0xdc00) + 0x10000, nil
}

// hex takes \uXXXX.
func (l *loader) hex() (rune, bool) {
	if l.at+6 > len(l.text) {
		return 0, false
	}
	n, err := strconv.ParseUint(l.text[l.at+2:l.at+6], 16, 16)
	if err != nil {
		return 0, false
	}
	l.at += 6
	return rune(n), true
}

// appendRune writes half of a surrogate pair in the three bytes it would have.
func appendRune(b []byte, r rune) []byte {
	if r >= 0xd800 && r < 0xe000 {
		return append(b, 0xed, 0x80|byte(r>>6&0x3f), 0x80|byte(r&0x3f))
	}
	return utf8.AppendRune(b, r)
}
