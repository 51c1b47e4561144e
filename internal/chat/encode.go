package chat

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Format says how AppendJSON writes. The zero value is what Python's json.dumps(value, ensure_ascii=False) writes.
type Format struct {
	ItemSeparator string // empty is ", ", and "," with an indent
	KeySeparator  string // empty is ": "
	Indent        string // of one level; what is not empty puts each member on a line of its own
	Lines         bool   // members on lines of their own also where Indent is empty, as indent=0 does
	EnsureASCII   bool
	SortKeys      bool
	KeepNumbers   bool // numbers as they were written; otherwise as Python's json.loads and dumps leave them

	MaxBytes int                     // of the result; 0 has no bound
	Kind     func(any) (Value, bool) // makes another kind of value one of those known; may be nil
	Key      func(string) string     // writes a member's name another way; may be nil
}

// ErrTooLarge is returned for a result of more than MaxBytes, or of too many arrays and objects inside each other.
var ErrTooLarge = errors.New("the JSON text is too large")

// KindError is returned for a value of a kind that has no JSON form.
type KindError struct{ Value any }

func (e *KindError) Error() string { return fmt.Sprintf("a %T has no JSON form", e.Value) }

// AppendJSON appends the value to dst. Besides the kinds of Value it takes int64 and float64, where NaN and the
// infinities are written as Python does, outside of JSON. The error is ErrTooLarge or a *KindError.
func AppendJSON(dst []byte, v Value, f Format) ([]byte, error) {
	w := writer{Format: f, lines: f.Lines || f.Indent != ""}
	if w.ItemSeparator == "" {
		w.ItemSeparator = ", "
		if w.lines {
			w.ItemSeparator = ","
		}
	}
	if w.KeySeparator == "" {
		w.KeySeparator = ": "
	}
	return w.value(dst, v, 0)
}

// maxWriteDepth is what Decode could have read at most, with room for what callers wrap around it.
const maxWriteDepth = 10_000

type writer struct {
	Format
	lines bool
}

func (w *writer) value(dst []byte, v Value, depth int) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case string:
		return AppendString(dst, v, w.EnsureASCII), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case float64:
		return AppendFloat(dst, v), nil
	case Number:
		if w.KeepNumbers {
			return append(dst, v...), nil
		}
		return append(dst, v.Python()...), nil
	case []Value:
		return w.list(dst, v, depth)
	case *Object:
		return w.object(dst, v, depth)
	}
	if w.Kind != nil {
		if known, ok := w.Kind(v); ok {
			return w.value(dst, known, depth)
		}
	}
	return dst, &KindError{v}
}

func (w *writer) list(dst []byte, list []Value, depth int) ([]byte, error) {
	dst = append(dst, '[')
	for i, v := range list {
		var err error
		if dst, err = w.begin(dst, i, depth); err == nil {
			dst, err = w.value(dst, v, depth+1)
		}
		if err != nil {
			return dst, err
		}
	}
	return append(w.end(dst, len(list), depth), ']'), nil
}

func (w *writer) object(dst []byte, o *Object, depth int) ([]byte, error) {
	keys := o.keys
	if w.SortKeys {
		keys = slices.Sorted(slices.Values(keys)) // UTF-8 sorts as code points do
	}
	dst = append(dst, '{')
	for i, key := range keys {
		var err error
		if dst, err = w.begin(dst, i, depth); err != nil {
			return dst, err
		}
		v := o.values[i]
		if w.SortKeys {
			v = o.values[o.find(key)]
		}
		if w.Key != nil {
			key = w.Key(key)
		}
		dst = append(AppendString(dst, key, w.EnsureASCII), w.KeySeparator...)
		if dst, err = w.value(dst, v, depth+1); err != nil {
			return dst, err
		}
	}
	return append(w.end(dst, len(keys), depth), '}'), nil
}

// begin writes what stands before the i-th item.
func (w *writer) begin(dst []byte, i, depth int) ([]byte, error) {
	if depth >= maxWriteDepth || w.MaxBytes > 0 && len(dst) > w.MaxBytes {
		return dst, ErrTooLarge
	}
	if i > 0 {
		dst = append(dst, w.ItemSeparator...)
	}
	if w.lines {
		dst = w.newLine(dst, depth+1)
	}
	return dst, nil
}

func (w *writer) end(dst []byte, n, depth int) []byte {
	if w.lines && n > 0 {
		return w.newLine(dst, depth)
	}
	return dst
}

func (w *writer) newLine(dst []byte, depth int) []byte {
	dst = append(dst, '\n')
	for range depth {
		dst = append(dst, w.Indent...)
	}
	return dst
}

const hex = "0123456789abcdef"

// AppendString appends a JSON string with the escapes that Python's json.dumps writes, and no others.
func AppendString(dst []byte, s string, ensureASCII bool) []byte {
	if !ensureASCII && isPlain(s) {
		return append(append(append(dst, '"'), s...), '"')
	}
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && (c < 0x7f || !ensureASCII) {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		size := 1
		if short := strings.IndexByte("\"\\\n\r\t\b\f", c); short >= 0 {
			dst = append(dst, '\\', `"\nrtbf`[short])
		} else {
			var r rune
			r, size = utf8.DecodeRuneInString(s[i:])
			dst = appendEscape(dst, r)
		}
		i += size
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

// isPlain reports whether no byte of a string is to be escaped. It looks at eight at once, of which the last may be
// some it has seen: most strings are short, and a branch for each byte is what they would take their time for.
func isPlain(s string) bool {
	n := len(s)
	switch {
	case n >= 8:
		for i := 0; i+8 < n; i += 8 {
			if anyEscape(binary.LittleEndian.Uint64([]byte(s[i : i+8]))) {
				return false
			}
		}
		return !anyEscape(binary.LittleEndian.Uint64([]byte(s[n-8:])))
	case n >= 4:
		first, last := binary.LittleEndian.Uint32([]byte(s[:4])), binary.LittleEndian.Uint32([]byte(s[n-4:]))
		return !anyEscape(uint64(first) | uint64(last)<<32)
	}
	for i := range n {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// anyEscape reports whether one of eight bytes is a control character, a quote or a backslash.
func anyEscape(eight uint64) bool {
	const each, high = 0x0101010101010101, 0x8080808080808080
	quote, backslash := eight^'"'*each, eight^'\\'*each
	return ((eight-' '*each)&^eight|(quote-each)&^quote|(backslash-each)&^backslash)&high != 0
}

func appendEscape(dst []byte, r rune) []byte {
	if r >= 0x10000 {
		r -= 0x10000
		return appendEscape(appendEscape(dst, 0xd800+r>>10), 0xdc00+r&0x3ff)
	}
	return append(dst, '\\', 'u', hex[r>>12], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}

// AppendFloat appends what Python's repr(float) is: the shortest digits that read back the same, "1.0", "1e+16",
// "1e-07", and as json.dumps does "NaN" and "Infinity".
func AppendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	if abs := math.Abs(f); abs >= 1e16 || abs != 0 && abs < 1e-4 {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	n := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	if slices.Contains(dst[n:], '.') {
		return dst
	}
	return append(dst, ".0"...)
}

// IsInteger reports whether Python reads the number as an int: neither a fraction nor an exponent.
func (n Number) IsInteger() bool { return !strings.ContainsAny(string(n), ".eE") }

// Float is the nearest float64; what is out of range is infinite, as in Python.
func (n Number) Float() float64 {
	f, _ := strconv.ParseFloat(string(n), 64) // out of range gives the infinity and an error
	return f
}

// Python is the number as json.dumps(json.loads(n)) writes it: integers keep all digits, others are a float's repr.
func (n Number) Python() string {
	if n.IsInteger() {
		if n == "-0" {
			return "0"
		}
		return string(n)
	}
	return string(AppendFloat(nil, n.Float()))
}
