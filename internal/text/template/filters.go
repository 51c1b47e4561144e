package template

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"hone/internal/chat"
)

// filter is what {{ v | name(a) }} runs; the names of a's parameters are jinja2's.
type filter func(r *run, v value, a *args) value

// filterNamed returns nil for a name that jinja2 does not know either.
func filterNamed(name string) filter {
	if write := textFilter(name); write != nil {
		return func(r *run, v value, a *args) value { return r.boxed(write(r, v, a)) }
	}
	switch name {
	case "abs":
		return absFilter
	case "attr":
		return func(r *run, v value, a *args) value {
			return r.attrFilter(v, r.string(a.bind(r, "attr", 1, "name")[0]))
		}
	case "batch":
		return batchFilter
	case "count", "length":
		return lengthFilter
	case "d", "default":
		return defaultFilter
	case "dictsort":
		return dictsortFilter
	case "e", "escape", "forceescape":
		return func(r *run, v value, a *args) value {
			a.bind(r, name, 0)
			text := r.text(v)
			r.charge(6 * len(text))
			return markup(escapeHTML(text))
		}
	case "first", "last":
		return func(r *run, v value, a *args) value { a.bind(r, name, 0); return r.end(v, name) }
	case "float":
		return floatFilter
	case "format":
		return formatFilter
	case "groupby":
		return groupbyFilter
	case "int":
		return intFilter
	case "items":
		return itemsFilter
	case "list":
		return func(r *run, v value, a *args) value { a.bind(r, "list", 0); return r.clone(r.list(v)) }
	case "map":
		return mapFilter
	case "max", "min":
		return func(r *run, v value, a *args) value { return r.extreme(v, name, a) }
	case "reject", "rejectattr", "select", "selectattr":
		return func(r *run, v value, a *args) value { return r.selection(v, name, a) }
	case "reverse":
		return reverseFilter
	case "round":
		return roundFilter
	case "safe":
		return func(r *run, v value, a *args) value { a.bind(r, name, 0); return markup(r.text(v)) }
	case "slice":
		return sliceFilter
	case "sort":
		return sortFilter
	case "sum":
		return sumFilter
	case "truncate":
		return truncateFilter
	case "unique":
		return uniqueFilter
	case "wordcount":
		return wordcountFilter
	case "filesizeformat", "pprint", "random", "striptags", "urlencode", "urlize", "wordwrap", "xmlattr":
		return func(r *run, _ value, _ *args) value {
			fail(r.at, Unsupported, "the filter '%s'", name)
			return nil
		}
	}
	return nil
}

// writer is a filter that makes text.
type writer func(r *run, v value, a *args) string

// textFilter returns those that always make text, and nil for other names.
func textFilter(name string) writer {
	switch name {
	case "capitalize", "lower", "upper":
		return func(r *run, v value, a *args) string {
			text := r.text(v)
			if a != &r.noArgs {
				return r.stringMethod(text, name, a).(string)
			}
			r.scan(len(text))
			r.charge(len(text))
			return changeCase(text, name)
		}
	case "center":
		return func(r *run, v value, a *args) string {
			width := or(a.bind(r, "center", 0, "width")[0], int64(80))
			return r.justify(r.text(v), "center", &args{positional: []value{width}}).(string)
		}
	case "indent":
		return indentFilter
	case "join":
		return joinFilter
	case "replace":
		return replaceFilter
	case "string":
		return func(r *run, v value, a *args) string { a.bind(r, name, 0); return r.text(v) }
	case "title":
		return titleFilter
	case "tojson":
		return tojsonFilter
	case "trim":
		return trimFilter
	}
	return nil
}

func trimFilter(r *run, v value, a *args) string {
	text := r.text(v)
	r.scan(len(text))
	if a == &r.noArgs {
		return strings.TrimFunc(text, isSpace)
	}
	return r.strip(text, "strip", or(a.bind(r, "trim", 0, "chars")[0], nil))
}

func absFilter(r *run, v value, a *args) value {
	a.bind(r, "abs", 0)
	v = integerOf(v)
	if !isNumber(v) {
		fail(r.at, TypeFault, "bad operand type for abs(): '%s'", typeName(v))
	}
	if f, ok := v.(float64); ok {
		return math.Abs(f)
	}
	if compareNumbers(v, int64(0)) < 0 {
		return r.binary("-", int64(0), v)
	}
	return v
}

// titleFilter begins words after white space and some brackets alone, unlike str.title.
func titleFilter(r *run, v value, a *args) string {
	a.bind(r, "title", 0)
	s := r.text(v)
	r.charge(2 * len(s))
	var b strings.Builder
	for s != "" {
		inWord := func(c rune) bool { return !isSpace(c) && !strings.ContainsRune("-({[<", c) }
		start := strings.IndexFunc(s, inWord)
		if start < 0 {
			start = len(s)
		}
		b.WriteString(s[:start])
		s = s[start:]
		end := strings.IndexFunc(s, func(c rune) bool { return !inWord(c) })
		if end < 0 {
			end = len(s)
		}
		if s != "" {
			_, size := utf8.DecodeRuneInString(s)
			b.WriteString(changeCase(s[:size], "upper") + changeCase(s[size:end], "lower"))
		}
		s = s[end:]
	}
	return b.String()
}

func lengthFilter(r *run, v value, a *args) value {
	a.bind(r, "length", 0)
	n, ok := length(v)
	if !ok {
		fail(r.at, TypeFault, "object of type '%s' has no len()", typeName(v))
	}
	if s, ok := v.(string); ok {
		r.scan(len(s))
	}
	return int64(n)
}

func defaultFilter(r *run, v value, a *args) value {
	p := a.bind(r, "default", 0, "default_value", "boolean")
	if _, missing := v.(*undefined); missing || r.truth(or(p[1], false)) && !r.truth(v) {
		return or(p[0], "")
	}
	return v
}

func floatFilter(r *run, v value, a *args) value {
	standard := or(a.bind(r, "float", 0, "default")[0], 0.0)
	r.must(v)
	switch v := integerOf(v).(type) {
	case string:
		r.scan(len(v))
		if f, ok := parseFloat(v); ok {
			return f
		}
	case int64, *big.Int, float64:
		return r.float(v)
	}
	return standard
}

// parseFloat is Python's float(str).
func parseFloat(s string) (float64, bool) {
	s = strings.TrimFunc(s, isSpace)
	word := strings.ToLower(strings.TrimLeft(s, "+-"))
	if word == "inf" || word == "infinity" || word == "nan" {
		f, err := strconv.ParseFloat(s, 64)
		return f, err == nil
	}
	text, ok := withoutUnderscores(s)
	if !ok || strings.ContainsAny(text, "xXpP_iInN") {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

// withoutUnderscores removes those that stand between digits; false where another is left.
func withoutUnderscores(s string) (string, bool) {
	digit := func(i int) bool {
		return i >= 0 && i < len(s) && strings.IndexByte("0123456789abcdefABCDEF", s[i]) >= 0
	}
	for i := range len(s) {
		if s[i] == '_' && !(digit(i-1) && digit(i+1)) {
			return "", false
		}
	}
	return strings.ReplaceAll(s, "_", ""), true
}

func intFilter(r *run, v value, a *args) value {
	p := a.bind(r, "int", 0, "default", "base")
	standard := or(p[0], int64(0))
	r.must(v)
	s, ok := v.(string)
	if !ok {
		if !isNumber(v) {
			return standard
		}
		f, ok := v.(float64)
		if !ok {
			return integerOf(v)
		}
		if math.IsInf(f, 0) {
			fail(r.at, OverflowFault, "cannot convert float infinity to integer")
		}
		return truncated(f, standard)
	}
	r.scan(len(s) * len(s) / 16)
	if n, ok := parseInt(s, r.integer(or(p[1], int64(10)))); ok {
		return n
	}
	if f, ok := parseFloat(s); ok && !math.IsInf(f, 0) {
		return truncated(f, standard)
	}
	return standard
}

func truncated(f float64, standard value) value {
	if math.IsNaN(f) {
		return standard
	}
	n, _ := big.NewFloat(f).Int(nil)
	return shrink(n)
}

// parseInt is Python's int(str, base).
func parseInt(s string, base int) (value, bool) {
	s = strings.TrimFunc(s, isSpace)
	sign, digits := "", s
	if s != "" && (s[0] == '-' || s[0] == '+') {
		sign, digits = strings.TrimPrefix(s[:1], "+"), s[1:]
	}
	if prefix := map[int]string{2: "0b", 8: "0o", 16: "0x"}[base]; prefix != "" && strings.HasPrefix(strings.ToLower(digits), prefix) {
		digits = strings.TrimPrefix(digits[2:], "_")
	}
	digits, ok := withoutUnderscores(digits)
	if !ok || digits == "" || strings.ContainsAny(digits, "+-") || base != 0 && (base < 2 || base > 36) {
		return nil, false
	}
	n, ok := new(big.Int).SetString(sign+digits, base)
	if !ok {
		return nil, false
	}
	return shrink(n), true
}

func formatFilter(r *run, v value, a *args) value {
	s := r.text(v)
	if len(a.names) > 0 {
		if len(a.positional) > 0 {
			fail(r.at, ArgumentFault, "can't handle positional and keyword arguments at the same time")
		}
		return r.printf(s, a.rest())
	}
	return r.printf(s, tuple(a.positional))
}

func indentFilter(r *run, v value, a *args) string {
	p := a.bind(r, "indent", 0, "width", "first", "blank")
	indent, ok := or(p[0], int64(4)).(string)
	if !ok {
		n := max(0, r.integer(or(p[0], int64(4))))
		r.charge(n)
		indent = strings.Repeat(" ", n)
	}
	r.must(v)
	if _, isList := v.([]value); isList { // to which Python adds the "\n", before it finds that it has no lines
		fail(r.at, AttributeFault, "'list' object has no attribute 'splitlines'")
	}
	s := r.string(v) + "\n" // as jinja2 does, since splitting lines drops the last end
	blank := r.truth(or(p[2], false))
	lines := r.splitLines(s, false).([]value)
	var b strings.Builder
	for i, line := range lines {
		text := line.(string)
		if i > 0 {
			b.WriteByte('\n')
		}
		if i > 0 && (blank || text != "") || i == 0 && r.truth(or(p[1], false)) {
			r.charge(len(indent))
			b.WriteString(indent)
		}
		r.charge(len(text))
		b.WriteString(text)
	}
	return b.String()
}

func replaceFilter(r *run, v value, a *args) string {
	p := a.bind(r, "replace", 2, "old", "new", "count")
	count := -1
	if c := or(p[2], nil); c != nil {
		count = r.integer(c)
	}
	return r.replace(r.text(v), r.text(p[0]), r.text(p[1]), count)
}

func roundFilter(r *run, v value, a *args) value {
	p := a.bind(r, "round", 0, "precision", "method")
	precision, method := r.integer(or(p[0], int64(0))), or(p[1], "common")
	if !isNumber(v) {
		fail(r.at, TypeFault, "type %s doesn't define __round__ method", typeName(v))
	}
	if method != "common" && method != "ceil" && method != "floor" {
		fail(r.at, ArgumentFault, "method must be common, ceil or floor")
	}
	f, isFloat := v.(float64)
	if method == "common" && !isFloat && precision >= 0 {
		return integerOf(v)
	}
	if !isFloat {
		f = r.float(integerOf(v))
	}
	if method != "common" {
		scale := math.Pow(10, float64(precision))
		if method == "ceil" {
			return math.Ceil(f*scale) / scale
		}
		return math.Floor(f*scale) / scale
	}
	if precision < 0 {
		fail(r.at, Unsupported, "rounding to tens")
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', min(precision, 400), 64), 64)
	return rounded
}

// tojsonFilter is transformers', which takes the options of json.dumps.
func tojsonFilter(r *run, v value, a *args) string {
	r.scratch = r.appendJSON(r.scratch[:0], v, r.jsonFormat(a))
	return string(r.scratch)
}

func (r *run) appendJSON(dst []byte, v value, f chat.Format) []byte {
	f.Kind, f.MaxBytes = jsonKind, len(dst)+r.limits.Bytes-r.bytes
	if r.otherKeys {
		f.Key = jsonKey
	}
	text, err := chat.AppendJSON(dst, v, f)
	switch {
	case errors.Is(err, chat.ErrTooLarge):
		r.charge(math.MaxInt)
	case err != nil:
		fail(r.at, TypeFault, "Object of type %s is not JSON serializable", typeName(err.(*chat.KindError).Value))
	}
	r.charge(len(text) - len(dst))
	return text
}

func (r *run) jsonFormat(a *args) chat.Format {
	if a == &r.noArgs {
		return chat.Format{}
	}
	p := a.bind(r, "tojson", 0, "ensure_ascii", "indent", "separators", "sort_keys")
	f := chat.Format{EnsureASCII: r.truth(or(p[0], false)), SortKeys: r.truth(or(p[3], false))}
	switch indent := integerOf(or(p[1], nil)).(type) {
	case nil:
	case string:
		f.Indent, f.Lines = indent, true
	default:
		f.Indent, f.Lines = spaces(max(0, min(1000, r.integer(indent)))), true
	}
	if separators := or(p[2], nil); separators != nil {
		pair := r.list(separators)
		if len(pair) != 2 {
			fail(r.at, ValueFault, "not two separators")
		}
		f.ItemSeparator, f.KeySeparator = r.string(pair[0]), r.string(pair[1])
		if f.ItemSeparator == "" || f.KeySeparator == "" {
			fail(r.at, Unsupported, "an empty separator")
		}
	}
	return f
}

func spaces(n int) string {
	const few = "                "
	if n <= len(few) {
		return few[:n]
	}
	return strings.Repeat(" ", n)
}

// jsonKind makes what json.dumps takes besides a chat.Value one.
func jsonKind(v any) (chat.Value, bool) {
	switch v := v.(type) {
	case tuple:
		return []chat.Value(v), true
	case *big.Int:
		return chat.Number(v.String()), true
	}
	return nil, false
}
