package pyvalue

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"hone/internal/chat"
)

// spec is one conversion of a format.
type spec struct {
	flags     string
	width     int
	precision int // -1 without
	verb      byte
}

// Printf is Python's format % values.
func (m *Meter) Printf(format string, values Value) string {
	list, isTuple := values.(Tuple)
	if !isTuple {
		list = Tuple{values}
	}
	mapping, isMapping := values.(*chat.Object)
	used := 0
	next := func() Value {
		if used >= len(list) {
			Fail(m.At, TypeFault, "not enough arguments for format string")
		}
		used++
		return Plain(list[used-1])
	}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b.WriteByte(format[i])
			continue
		}
		i++
		var item Value = Unset{}
		if i < len(format) && format[i] == '(' {
			end := strings.IndexByte(format[i:], ')')
			switch {
			case end < 0:
				Fail(m.At, ValueFault, "incomplete format key")
			case !isMapping:
				Fail(m.At, TypeFault, "format requires a mapping")
			}
			member, ok := mapping.Get(format[i+1 : i+end])
			if !ok {
				Fail(m.At, KeyFault, "%s", Quote(format[i+1:i+end]))
			}
			item = Plain(member)
			i += end + 1
		}
		f, n := m.spec(format[i:], next)
		i += n
		if f.verb == '%' {
			b.WriteByte('%')
			continue
		}
		if item == (Unset{}) {
			item = next()
		}
		text := m.convert(f, item)
		m.Charge(len(text))
		b.WriteString(text)
	}
	if used < len(list) && (isTuple || !isMapping && !isSubscriptable(values)) {
		Fail(m.At, TypeFault, "not all arguments converted during string formatting")
	}
	m.Charge(len(format))
	return b.String()
}

// isSubscriptable reports what Python's % takes for a mapping when no conversion uses it.
func isSubscriptable(v Value) bool {
	switch v.(type) {
	case []Value, *Undefined, *Range:
		return true
	}
	return false
}

// spec reads flags, width, precision and verb, up to the verb.
func (m *Meter) spec(s string, next func() Value) (spec, int) {
	f := spec{precision: -1}
	i := 0
	for i < len(s) && strings.IndexByte("#0- +", s[i]) >= 0 {
		i++
	}
	f.flags = s[:i]
	number := func() int {
		if i < len(s) && s[i] == '*' {
			i++
			return m.Integer(next())
		}
		n := 0
		for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
			if n = n*10 + int(s[i]-'0'); n > 1<<30 {
				Fail(m.At, ValueFault, "width too big")
			}
		}
		return n
	}
	if f.width = number(); f.width < 0 {
		f.flags, f.width = f.flags+"-", -f.width
	}
	if i < len(s) && s[i] == '.' {
		i++
		f.precision = max(0, number())
	}
	for i < len(s) && strings.IndexByte("hlL", s[i]) >= 0 {
		i++
	}
	if i == len(s) {
		Fail(m.At, ValueFault, "incomplete format")
	}
	f.verb = s[i]
	return f, i
}

func (m *Meter) convert(f spec, v Value) string {
	m.Charge(f.width)
	switch f.verb {
	case 's', 'r', 'a':
		text := m.Text(v)
		if f.verb == 'r' {
			text = m.Repr(v)
		} else if f.verb == 'a' {
			Fail(m.At, Unsupported, "the conversion %%a")
		}
		if f.precision >= 0 && utf8.RuneCountInString(text) > f.precision {
			text = string([]rune(text)[:f.precision])
		}
		return pad(text, f)
	case 'c':
		if s, ok := v.(string); ok && utf8.RuneCountInString(s) == 1 {
			return pad(s, f)
		}
		if n, ok := v.(int64); ok && n >= 0 && n <= 0x10ffff {
			return pad(string(rune(n)), f)
		}
		Fail(m.At, TypeFault, "%%c requires int or char")
	case 'd', 'i', 'u', 'x', 'X', 'o':
		return pad(m.integerText(f, v), f)
	case 'e', 'E', 'f', 'F', 'g', 'G':
		if m.Must(v); !IsNumber(v) {
			Fail(m.At, TypeFault, "must be real number, not %s", TypeName(v))
		}
		return pad(withSign(m.floatText(f, m.ToFloat(IntegerOf(v))), f), f)
	}
	Fail(m.At, ValueFault, "unsupported format character '%c'", f.verb)
	return ""
}

func (m *Meter) integerText(f spec, v Value) string {
	if x, ok := v.(float64); ok && (f.verb == 'd' || f.verb == 'i' || f.verb == 'u') {
		if math.IsNaN(x) {
			Fail(m.At, ValueFault, "cannot convert float NaN to integer")
		}
		if math.IsInf(x, 0) {
			Fail(m.At, OverflowFault, "cannot convert float infinity to integer")
		}
		v = ToInt(x, nil)
	}
	if m.Must(v); !IsInteger(v) {
		Fail(m.At, TypeFault, "%%%c format: a real number is required, not %s", f.verb, TypeName(v))
	}
	n := bigInt(IntegerOf(v))
	base := map[byte]int{'x': 16, 'X': 16, 'o': 8}[f.verb]
	if base == 0 {
		base = 10
	}
	digits := new(big.Int).Abs(n).Text(base)
	if missing := f.precision - len(digits); missing > 0 {
		m.Charge(missing)
		digits = strings.Repeat("0", missing) + digits
	}
	if strings.Contains(f.flags, "#") && base != 10 {
		digits = map[int]string{16: "0x", 8: "0o"}[base] + digits
	}
	if f.verb == 'X' {
		digits = strings.ToUpper(digits)
	}
	if n.Sign() < 0 {
		digits = "-" + digits
	}
	return withSign(digits, f)
}

func (m *Meter) floatText(f spec, x float64) string {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		text := floatText(x)
		if f.verb < 'a' {
			text = strings.ToUpper(text)
		}
		return text
	}
	precision := f.precision
	if precision < 0 {
		precision = 6
	}
	m.Charge(precision)
	if precision > 5000 {
		Fail(m.At, ValueFault, "precision too big")
	}
	verb := f.verb
	if verb == 'F' {
		verb = 'f'
	}
	if verb == 'g' || verb == 'G' {
		// Python's %g is C's: Go's keeps a different exponent limit for the shortest form only.
		return fmt.Sprintf("%."+strconv.Itoa(precision)+string(verb), x)
	}
	return strconv.FormatFloat(x, verb, precision, 64)
}

func withSign(text string, f spec) string {
	if strings.HasPrefix(text, "-") {
		return text
	}
	switch {
	case strings.Contains(f.flags, "+"):
		return "+" + text
	case strings.Contains(f.flags, " "):
		return " " + text
	}
	return text
}

func pad(text string, f spec) string {
	missing := f.width - utf8.RuneCountInString(text)
	switch {
	case missing <= 0:
		return text
	case strings.Contains(f.flags, "-"):
		return text + strings.Repeat(" ", missing)
	case strings.Contains(f.flags, "0") && strings.IndexByte("srca", f.verb) < 0:
		at := 0
		if strings.IndexByte("+- ", text[0]) >= 0 {
			at = 1
		}
		if strings.HasPrefix(text[at:], "0x") || strings.HasPrefix(text[at:], "0X") ||
			strings.HasPrefix(text[at:], "0o") {
			at += 2
		}
		return text[:at] + strings.Repeat("0", missing) + text[at:]
	}
	return strings.Repeat(" ", missing) + text
}

// format is str.format with {}, {0}, {name} and items or attributes of those; format specifications are not here.
func (m *Meter) format(s string, a *Args) string {
	named := a.Rest()
	count := 0
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c != '{' && c != '}':
			b.WriteByte(c)
			continue
		case i+1 < len(s) && s[i+1] == c:
			b.WriteByte(c)
			i++
			continue
		case c == '}':
			Fail(m.At, ValueFault, "Single '}' encountered in format string")
		}
		end := strings.IndexByte(s[i:], '}')
		if end < 0 {
			Fail(m.At, ValueFault, "expected '}' before end of string")
		}
		field := s[i+1 : i+end]
		i += end
		if strings.ContainsAny(field, "{:![.") {
			Fail(m.At, Unsupported, "the replacement field {%s}", field)
		}
		if field == "" {
			field = strconv.Itoa(count)
			count++
		}
		var v Value
		if n, err := strconv.Atoi(field); err == nil {
			if n < 0 || n >= len(a.Positional) {
				Fail(m.At, IndexFault, "Replacement index %d out of range for positional args tuple", n)
			}
			v = a.Positional[n]
		} else if member, ok := named.Get(field); ok {
			v = member
		} else {
			Fail(m.At, KeyFault, "%s", Quote(field))
		}
		text := m.Text(v)
		m.Charge(len(text))
		b.WriteString(text)
	}
	m.Charge(len(s))
	return b.String()
}
