package jinja

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"hone/internal/chat"
	"hone/internal/jinja/pyvalue"
)

// filter is what {{ v | name(a) }} runs; the names of a's parameters are jinja2's.
type filter func(r *run, v value, a *pyvalue.Args) value

// filterByName returns nil for a name that jinja2 does not know either.
func filterByName(name string) filter {
	if write := textFilter(name); write != nil {
		return func(r *run, v value, a *pyvalue.Args) value { return r.Box(write(r, v, a)) }
	}
	switch name {
	case "abs":
		return absFilter
	case "attr":
		return func(r *run, v value, a *pyvalue.Args) value {
			return r.attrFilter(v, r.Str(r.Bind(a, "attr", 1, "name")[0]))
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
		return func(r *run, v value, a *pyvalue.Args) value {
			r.Bind(a, name, 0)
			text := r.Text(v)
			r.Charge(6 * len(text))
			return markup(escapeHTML(text))
		}
	case "first", "last":
		return func(r *run, v value, a *pyvalue.Args) value { r.Bind(a, name, 0); return r.end(v, name) }
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
		return func(r *run, v value, a *pyvalue.Args) value { r.Bind(a, "list", 0); return r.Clone(r.List(v)) }
	case "map":
		return mapFilter
	case "max", "min":
		return func(r *run, v value, a *pyvalue.Args) value { return r.extreme(v, name, a) }
	case "reject", "rejectattr", "select", "selectattr":
		return func(r *run, v value, a *pyvalue.Args) value { return r.selection(v, name, a) }
	case "reverse":
		return reverseFilter
	case "round":
		return roundFilter
	case "safe":
		return func(r *run, v value, a *pyvalue.Args) value { r.Bind(a, name, 0); return markup(r.Text(v)) }
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
		return func(r *run, _ value, _ *pyvalue.Args) value {
			pyvalue.Fail(r.At, pyvalue.Unsupported, "the filter '%s'", name)
			return nil
		}
	}
	return nil
}

// writer is a filter that makes text.
type writer func(r *run, v value, a *pyvalue.Args) string

// textFilter returns those that always make text, and nil for other names.
func textFilter(name string) writer {
	switch name {
	case "capitalize", "lower", "upper":
		return func(r *run, v value, a *pyvalue.Args) string {
			text := r.Text(v)
			if a != &r.noArgs {
				return r.StringMethod(text, name, a).(string)
			}
			r.Scan(len(text))
			r.Charge(len(text))
			return pyvalue.ChangeCase(text, name)
		}
	case "center":
		return func(r *run, v value, a *pyvalue.Args) string {
			width := pyvalue.Or(r.Bind(a, "center", 0, "width")[0], int64(80))
			return r.Justify(r.Text(v), "center", &pyvalue.Args{Positional: []value{width}}).(string)
		}
	case "indent":
		return indentFilter
	case "join":
		return joinFilter
	case "replace":
		return replaceFilter
	case "string":
		return func(r *run, v value, a *pyvalue.Args) string { r.Bind(a, name, 0); return r.Text(v) }
	case "title":
		return titleFilter
	case "tojson":
		return tojsonFilter
	case "trim":
		return trimFilter
	}
	return nil
}

func trimFilter(r *run, v value, a *pyvalue.Args) string {
	text := r.Text(v)
	r.Scan(len(text))
	if a == &r.noArgs {
		return strings.TrimFunc(text, pyvalue.IsSpace)
	}
	return r.Strip(text, "strip", pyvalue.Or(r.Bind(a, "trim", 0, "chars")[0], nil))
}

func absFilter(r *run, v value, a *pyvalue.Args) value {
	r.Bind(a, "abs", 0)
	v = pyvalue.IntegerOf(v)
	if !pyvalue.IsNumber(v) {
		pyvalue.Fail(r.At, pyvalue.TypeFault, "bad operand type for abs(): '%s'", pyvalue.TypeName(v))
	}
	if f, ok := v.(float64); ok {
		return math.Abs(f)
	}
	if pyvalue.CompareNumbers(v, int64(0)) < 0 {
		return r.Binary("-", int64(0), v)
	}
	return v
}

// titleFilter begins words after white space and some brackets alone, unlike str.title.
func titleFilter(r *run, v value, a *pyvalue.Args) string {
	r.Bind(a, "title", 0)
	s := r.Text(v)
	r.Charge(2 * len(s))
	var b strings.Builder
	for s != "" {
		inWord := func(c rune) bool { return !pyvalue.IsSpace(c) && !strings.ContainsRune("-({[<", c) }
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
			b.WriteString(pyvalue.ChangeCase(s[:size], "upper") + pyvalue.ChangeCase(s[size:end], "lower"))
		}
		s = s[end:]
	}
	return b.String()
}

func lengthFilter(r *run, v value, a *pyvalue.Args) value {
	r.Bind(a, "length", 0)
	n, ok := pyvalue.Length(v)
	if !ok {
		pyvalue.Fail(r.At, pyvalue.TypeFault, "object of type '%s' has no len()", pyvalue.TypeName(v))
	}
	if s, ok := v.(string); ok {
		r.Scan(len(s))
	}
	return int64(n)
}

func defaultFilter(r *run, v value, a *pyvalue.Args) value {
	p := r.Bind(a, "default", 0, "default_value", "boolean")
	if _, missing := v.(*pyvalue.Undefined); missing || r.Truth(pyvalue.Or(p[1], false)) && !r.Truth(v) {
		return pyvalue.Or(p[0], "")
	}
	return v
}

func floatFilter(r *run, v value, a *pyvalue.Args) value {
	standard := pyvalue.Or(r.Bind(a, "float", 0, "default")[0], 0.0)
	r.Must(v)
	switch v := pyvalue.IntegerOf(v).(type) {
	case string:
		r.Scan(len(v))
		if f, ok := pyvalue.ParseFloat(v); ok {
			return f
		}
	case int64, *big.Int, float64:
		return r.ToFloat(v)
	}
	return standard
}

func intFilter(r *run, v value, a *pyvalue.Args) value {
	p := r.Bind(a, "int", 0, "default", "base")
	standard := pyvalue.Or(p[0], int64(0))
	r.Must(v)
	s, ok := v.(string)
	if !ok {
		if !pyvalue.IsNumber(v) {
			return standard
		}
		f, ok := v.(float64)
		if !ok {
			return pyvalue.IntegerOf(v)
		}
		if math.IsInf(f, 0) {
			pyvalue.Fail(r.At, pyvalue.OverflowFault, "cannot convert float infinity to integer")
		}
		return pyvalue.ToInt(f, standard)
	}
	r.Scan(len(s) * len(s) / 16)
	if n, ok := pyvalue.ParseInt(s, r.Integer(pyvalue.Or(p[1], int64(10)))); ok {
		return n
	}
	if f, ok := pyvalue.ParseFloat(s); ok && !math.IsInf(f, 0) {
		return pyvalue.ToInt(f, standard)
	}
	return standard
}

func formatFilter(r *run, v value, a *pyvalue.Args) value {
	s := r.Text(v)
	if len(a.Names) > 0 {
		if len(a.Positional) > 0 {
			pyvalue.Fail(r.At, ArgumentFault, "can't handle positional and keyword arguments at the same time")
		}
		return r.Printf(s, a.Rest())
	}
	return r.Printf(s, pyvalue.Tuple(a.Positional))
}

func indentFilter(r *run, v value, a *pyvalue.Args) string {
	p := r.Bind(a, "indent", 0, "width", "first", "blank")
	indent, ok := pyvalue.Or(p[0], int64(4)).(string)
	if !ok {
		n := max(0, r.Integer(pyvalue.Or(p[0], int64(4))))
		r.Charge(n)
		indent = strings.Repeat(" ", n)
	}
	r.Must(v)
	if _, isList := v.([]value); isList { // to which Python adds the "\n", before it finds that it has no lines
		pyvalue.Fail(r.At, pyvalue.AttributeFault, "'list' object has no attribute 'splitlines'")
	}
	s := r.Str(v) + "\n" // as jinja2 does, since splitting lines drops the last end
	blank := r.Truth(pyvalue.Or(p[2], false))
	lines := r.SplitLines(s, false).([]value)
	var b strings.Builder
	for i, line := range lines {
		text := line.(string)
		if i > 0 {
			b.WriteByte('\n')
		}
		if i > 0 && (blank || text != "") || i == 0 && r.Truth(pyvalue.Or(p[1], false)) {
			r.Charge(len(indent))
			b.WriteString(indent)
		}
		r.Charge(len(text))
		b.WriteString(text)
	}
	return b.String()
}

func replaceFilter(r *run, v value, a *pyvalue.Args) string {
	p := r.Bind(a, "replace", 2, "old", "new", "count")
	count := -1
	if c := pyvalue.Or(p[2], nil); c != nil {
		count = r.Integer(c)
	}
	return r.Replace(r.Text(v), r.Text(p[0]), r.Text(p[1]), count)
}

func roundFilter(r *run, v value, a *pyvalue.Args) value {
	p := r.Bind(a, "round", 0, "precision", "method")
	precision, method := r.Integer(pyvalue.Or(p[0], int64(0))), pyvalue.Or(p[1], "common")
	if !pyvalue.IsNumber(v) {
		pyvalue.Fail(r.At, pyvalue.TypeFault, "type %s doesn't define __round__ method", pyvalue.TypeName(v))
	}
	if method != "common" && method != "ceil" && method != "floor" {
		pyvalue.Fail(r.At, ArgumentFault, "method must be common, ceil or floor")
	}
	f, isFloat := v.(float64)
	if method == "common" && !isFloat && precision >= 0 {
		return pyvalue.IntegerOf(v)
	}
	if !isFloat {
		f = r.ToFloat(pyvalue.IntegerOf(v))
	}
	if method != "common" {
		scale := math.Pow(10, float64(precision))
		if method == "ceil" {
			return math.Ceil(f*scale) / scale
		}
		return math.Floor(f*scale) / scale
	}
	if precision < 0 {
		pyvalue.Fail(r.At, pyvalue.Unsupported, "rounding to tens")
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', min(precision, 400), 64), 64)
	return rounded
}

// tojsonFilter is transformers', which takes the options of json.dumps.
func tojsonFilter(r *run, v value, a *pyvalue.Args) string {
	r.scratch = r.appendJSON(r.scratch[:0], v, r.jsonFormat(a))
	return string(r.scratch)
}

func (r *run) appendJSON(dst []byte, v value, f chat.Format) []byte {
	f.Kind, f.MaxBytes = jsonKind, len(dst)+r.Limits.Bytes-r.Bytes
	if r.OtherKeys {
		f.Key = pyvalue.JSONKey
	}
	text, err := chat.AppendJSON(dst, v, f)
	switch {
	case errors.Is(err, chat.ErrTooLarge):
		r.Charge(math.MaxInt)
	case err != nil:
		pyvalue.Fail(r.At, pyvalue.TypeFault, "Object of type %s is not JSON serializable",
			pyvalue.TypeName(err.(*chat.KindError).Value))
	}
	r.Charge(len(text) - len(dst))
	return text
}

func (r *run) jsonFormat(a *pyvalue.Args) chat.Format {
	if a == &r.noArgs {
		return chat.Format{}
	}
	p := r.Bind(a, "tojson", 0, "ensure_ascii", "indent", "separators", "sort_keys")
	f := chat.Format{EnsureASCII: r.Truth(pyvalue.Or(p[0], false)), SortKeys: r.Truth(pyvalue.Or(p[3], false))}
	switch indent := pyvalue.IntegerOf(pyvalue.Or(p[1], nil)).(type) {
	case nil:
	case string:
		f.Indent, f.Lines = indent, true
	default:
		f.Indent, f.Lines = spaces(max(0, min(1000, r.Integer(indent)))), true
	}
	if separators := pyvalue.Or(p[2], nil); separators != nil {
		pair := r.List(separators)
		if len(pair) != 2 {
			pyvalue.Fail(r.At, pyvalue.ValueFault, "not two separators")
		}
		f.ItemSeparator, f.KeySeparator = r.Str(pair[0]), r.Str(pair[1])
		if f.ItemSeparator == "" || f.KeySeparator == "" {
			pyvalue.Fail(r.At, pyvalue.Unsupported, "an empty separator")
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
	case pyvalue.Tuple:
		return []chat.Value(v), true
	case *big.Int:
		return chat.Number(v.String()), true
	}
	return nil, false
}
