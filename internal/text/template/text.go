package template

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"

	"hone/internal/chat"
)

// text is Python's str().
func (r *run) text(v value) string {
	switch v := v.(type) {
	case string:
		return v
	case *undefined:
		return ""
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return r.repr(v)
}

// maxRepr is how deep repr goes: a namespace may hold itself.
const maxRepr = 1000

// repr is Python's repr().
func (r *run) repr(v value) string {
	var b strings.Builder
	r.appendRepr(&b, v, 0)
	r.charge(b.Len())
	return b.String()
}

func (r *run) appendRepr(b *strings.Builder, v value, depth int) {
	if depth > maxRepr {
		fail(r.at, RecursionFault, "maximum recursion depth exceeded while getting the repr of an object")
	}
	r.step()
	if b.Len() > r.limits.Bytes {
		r.charge(b.Len())
	}
	items := func(open, end string, list []value) {
		b.WriteString(open)
		for i, item := range list {
			if i > 0 {
				b.WriteString(", ")
			}
			r.appendRepr(b, item, depth+1)
		}
		b.WriteString(end)
	}
	switch v := v.(type) {
	case nil:
		b.WriteString("None")
	case bool:
		b.WriteString(map[bool]string{true: "True", false: "False"}[v])
	case string:
		b.WriteString(quote(v))
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case *big.Int:
		b.WriteString(v.String())
	case float64:
		b.WriteString(floatText(v))
	case chat.Number:
		r.appendRepr(b, plain(v), depth)
	case []value:
		items("[", "]", v)
	case tuple:
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
			r.appendRepr(b, key(stored), depth+1)
			b.WriteString(": ")
			r.appendRepr(b, member, depth+1)
		}
		b.WriteString("}")
	case *view:
		items(v.name+"([", "])", v.list())
	case *span:
		fmt.Fprintf(b, "range(%d, %d", v.start, v.stop)
		if v.step != 1 {
			fmt.Fprintf(b, ", %d", v.step)
		}
		b.WriteString(")")
	case *undefined:
		b.WriteString("Undefined")
	case *namespace:
		b.WriteString("<Namespace ")
		r.appendRepr(b, (&args{nil, v.names, v.values}).rest(), depth+1)
		b.WriteString(">")
	case *macro:
		b.WriteString("<Macro " + quote(v.code.name) + ">")
	case *loop:
		fmt.Fprintf(b, "<LoopContext %d/%d>", v.index+1, v.length())
	default:
		// Python shows an address, which no template can mean.
		fail(r.at, Unsupported, "the text of a %s", typeName(v))
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

// quote is repr(str): in single quotes, unless the text has those and no double ones.
func quote(s string) string {
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
