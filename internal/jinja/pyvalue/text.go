package pyvalue

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"

	"hone/internal/chat"
)

// Text is Python's str().
func (m *Meter) Text(v Value) string {
	switch v := v.(type) {
	case string:
		return v
	case *Undefined:
		return ""
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return m.Repr(v)
}

// maxRepr is how deep repr goes: a namespace may hold itself.
const maxRepr = 1000

// Repr is Python's repr().
func (m *Meter) Repr(v Value) string {
	var b strings.Builder
	m.AppendRepr(&b, v, 0)
	m.Charge(b.Len())
	return b.String()
}

// AppendRepr writes what Repr gives; depth is how many values v stands within.
func (m *Meter) AppendRepr(b *strings.Builder, v Value, depth int) {
	if depth > maxRepr {
		Fail(m.At, RecursionFault, "maximum recursion depth exceeded while getting the repr of an object")
	}
	m.Step()
	if b.Len() > m.Limits.Bytes {
		m.Charge(b.Len())
	}
	items := func(open, end string, list []Value) {
		b.WriteString(open)
		for i, item := range list {
			if i > 0 {
				b.WriteString(", ")
			}
			m.AppendRepr(b, item, depth+1)
		}
		b.WriteString(end)
	}
	switch v := v.(type) {
	case nil:
		b.WriteString("None")
	case bool:
		b.WriteString(map[bool]string{true: "True", false: "False"}[v])
	case string:
		b.WriteString(Quote(v))
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case *big.Int:
		b.WriteString(v.String())
	case float64:
		b.WriteString(floatText(v))
	case chat.Number:
		m.AppendRepr(b, Plain(v), depth)
	case []Value:
		items("[", "]", v)
	case Tuple:
		end := ")"
		if len(v) == 1 {
			end = ",)"
		}
		items("(", end, v)
	case *chat.Object:
		b.WriteString("{")
		for i := range v.Len() {
			if i > 0 {
				b.WriteString(", ")
			}
			stored, member := v.At(i)
			m.AppendRepr(b, Key(stored), depth+1)
			b.WriteString(": ")
			m.AppendRepr(b, member, depth+1)
		}
		b.WriteString("}")
	case *View:
		items(v.Name+"([", "])", v.List())
	case *Range:
		fmt.Fprintf(b, "range(%d, %d", v.start, v.stop)
		if v.step != 1 {
			fmt.Fprintf(b, ", %d", v.step)
		}
		b.WriteString(")")
	case *Undefined:
		b.WriteString("Undefined")
	case Shown:
		v.AppendRepr(m, b, depth)
	default:
		// Python shows an address, which no template can mean.
		Fail(m.At, Unsupported, "the text of a %s", TypeName(v))
	}
}

// floatText is repr(float): "nan" and "inf", where JSON has "NaN" and "Infinity".
func floatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 0):
		return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(f, 'f', -1, 64)), "+")
	}
	return string(chat.AppendFloat(nil, f))
}

// Quote is repr(str): in single quotes, unless the text has those and no double ones.
func Quote(s string) string {
	mark := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		mark = '"'
	}
	b := make([]byte, 0, len(s)+2)
	b = append(b, mark)
	for _, c := range s {
		switch {
		case c == rune(mark) || c == '\\':
			b = append(b, '\\', byte(c))
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case unicode.IsPrint(c):
			b = append(b, string(c)...)
		case c < 0x100:
			b = fmt.Appendf(b, `\x%02x`, c)
		case c < 0x10000:
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = fmt.Appendf(b, `\U%08x`, c)
		}
	}
	return string(append(b, mark))
}
