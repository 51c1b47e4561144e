package template

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

// printf is Python's format % values.
func (r *run) printf(format string, values value) string {
	list, isTuple := values.(tuple)
	if !isTuple {
		list = tuple{values}
	}
	mapping, isMapping := values.(*chat.Object)
	used := 0
	next := func() value {
		if used >= len(list) {
			fail(r.at, TypeFault, "not enough arguments for format string")
		}
		used++
		return plain(list[used-1])
	}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b.WriteByte(format[i])
			continue
		}
		i++
		var item value = unset{}
		if i < len(format) && format[i] == '(' {
			end := strings.IndexByte(format[i:], ')')
			switch {
			case end < 0:
				fail(r.at, ValueFault, "incomplete format key")
			case !isMapping:
				fail(r.at, TypeFault, "format requires a mapping")
			}
			member, ok := mapping.Get(format[i+1 : i+end])
			if !ok {
				fail(r.at, KeyFault, "%s", quote(format[i+1:i+end]))
			}
			item = plain(member)
			i += end + 1
		}
		f, n := r.spec(format[i:], next)
		i += n
		if f.verb == '%' {
			b.WriteByte('%')
			continue
		}
		if item == (unset{}) {
			item = next()
		}
		text := r.convert(f, item)
		r.charge(len(text))
		b.WriteString(text)
	}
	if used < len(list) && (isTuple || !isMapping && !isSubscriptable(values)) {
		fail(r.at, TypeFault, "not all arguments converted during string formatting")
	}
	r.charge(len(format))
	return b.String()
}

// isSubscriptable reports what Python's % takes for a mapping when no conversion uses it.
func isSubscriptable(v value) bool {
	switch v.(type) {
	case []value, *undefined, *span:
		return true
	}
	return false
}

// spec reads flags, width, precision and verb, up to the verb.
func (r *run) spec(s string, next func() value) (spec, int) {
	f := spec{precision: -1}
	i := 0
	for i < len(s) && strings.IndexByte("#0- +", s[i]) >= 0 {
		i++
	}
	f.flags = s[:i]
	number := func() int {
		if i < len(s) && s[i] == '*' {
			i++
			return r.integer(next())
		}
		n := 0
		for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
			if n = n*10 + int(s[i]-'0'); n > 1<<30 {
				fail(r.at, ValueFault, "width too big")
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
		fail(r.at, ValueFault, "incomplete format")
	}
	f.verb = s[i]
	return f, i
}

func (r *run) convert(f spec, v value) string {
	r.charge(f.width)
	switch f.verb {
	case 's', 'r', 'a':
		text := r.text(v)
		if f.verb == 'r' {
			text = r.repr(v)
		} else if f.verb == 'a' {
			fail(r.at, Unsupported, "the conversion %%a")
		}
		if f.precision >= 0 && utf8.RuneCountInString(text) > f.precision {
			text = string([]rune(text)[:f.precision])
		}
		return padded(text, f)
	case 'c':
		if s, ok := v.(string); ok && utf8.RuneCountInString(s) == 1 {
			return padded(s, f)
		}
		if n, ok := v.(int64); ok && n >= 0 && n <= 0x10ffff {
			return padded(string(rune(n)), f)
		}
		fail(r.at, TypeFault, "%%c requires int or char")
	case 'd', 'i', 'u', 'x', 'X', 'o':
		return padded(r.integerText(f, v), f)
	case 'e', 'E', 'f', 'F', 'g', 'G':
		if r.must(v); !isNumber(v) {
			fail(r.at, TypeFault, "must be real number, not %s", typeName(v))
		}
		return padded(signed(r.floatText(f, r.float(integerOf(v))), f), f)
	}
	fail(r.at, ValueFault, "unsupported format character '%c'", f.verb)
	return ""
}

func (r *run) integerText(f spec, v value) string {
	if x, ok := v.(float64); ok && (f.verb == 'd' || f.verb == 'i' || f.verb == 'u') {
		if math.IsNaN(x) {
			fail(r.at, ValueFault, "cannot convert float NaN to integer")
		}
		if math.IsInf(x, 0) {
			fail(r.at, OverflowFault, "cannot convert float infinity to integer")
		}
		v = truncated(x, nil)
	}
	if r.must(v); !isInteger(v) {
		fail(r.at, TypeFault, "%%%c format: a real number is required, not %s", f.verb, typeName(v))
	}
	n := bigInt(integerOf(v))
	base := map[byte]int{'x': 16, 'X': 16, 'o': 8}[f.verb]
	if base == 0 {
		base = 10
	}
	digits := new(big.Int).Abs(n).Text(base)
	if missing := f.precision - len(digits); missing > 0 {
		r.charge(missing)
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
	return signed(digits, f)
}

func (r *run) floatText(f spec, x float64) string {
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
	r.charge(precision)
	if precision > 5000 {
		fail(r.at, ValueFault, "precision too big")
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

func signed(text string, f spec) string {
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

func padded(text string, f spec) string {
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
		if strings.HasPrefix(text[at:], "0x") || strings.HasPrefix(text[at:], "0X") || strings.HasPrefix(text[at:], "0o") {
			at += 2
		}
		return text[:at] + strings.Repeat("0", missing) + text[at:]
	}
	return strings.Repeat(" ", missing) + text
}

// format is str.format with {}, {0}, {name} and items or attributes of those; format specifications are not here.
func (r *run) format(s string, a *args) string {
	named := a.rest()
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
			fail(r.at, ValueFault, "Single '}' encountered in format string")
		}
		end := strings.IndexByte(s[i:], '}')
		if end < 0 {
			fail(r.at, ValueFault, "expected '}' before end of string")
		}
		field := s[i+1 : i+end]
		i += end
		if strings.ContainsAny(field, "{:![.") {
			fail(r.at, Unsupported, "the replacement field {%s}", field)
		}
		if field == "" {
			field = strconv.Itoa(count)
			count++
		}
		var v value
		if n, err := strconv.Atoi(field); err == nil {
			if n < 0 || n >= len(a.positional) {
				fail(r.at, IndexFault, "Replacement index %d out of range for positional args tuple", n)
			}
			v = a.positional[n]
		} else if member, ok := named.Get(field); ok {
			v = member
		} else {
			fail(r.at, KeyFault, "%s", quote(field))
		}
		text := r.text(v)
		r.charge(len(text))
		b.WriteString(text)
	}
	r.charge(len(s))
	return b.String()
}
