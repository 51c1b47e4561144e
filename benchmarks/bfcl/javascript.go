package bfcl

import (
	"strings"
	"unicode/utf8"

	"hone/internal/chat"
	"hone/internal/jinja/pyvalue"
)

// Patterns of JavaScript literals; those that start with ^ are Python's re.match.
var (
	jsInteger = pattern(`^-?\d+$`)
	jsFloat   = pattern(`^-?\d+(\.\d+)?$`)
	jsBigint  = pattern(`^-?\d+n$`)
	jsTable   = pattern(`^(?:\[\s*\[.*?\]\s*(,\s*\[.*?\]\s*)*\]|new\s+Array\(\s*\[.*?\]\s*(,\s*\[.*?\]\s*)*\))`)
	jsRow     = pattern(`\[(.*?)\]`)
	jsArray   = pattern(`^(?:\[(.*?)\]|new\s+Array\((.*?)\))`)
	jsObject  = pattern(`^\{(.*?)\}`)
)

// fromJavaScript is BFCL's js_type_converter: the value that a JavaScript literal has, or the text where it is no
// literal of the type. nested is the type of an array's items, "" where it is not known.
func fromJavaScript(value, name, nested string) any {
	switch name {
	case "String":
		if isQuoted(value, `"`, "'") {
			return inner(value)
		}
		return value
	case "integer":
		return intOr(value, jsInteger, value)
	case "float":
		return floatOr(value, jsFloat, value)
	case "Bigint":
		return intOr(value, jsBigint, inner("x"+value))
	case "Boolean":
		if value == "true" || value == "false" {
			return value == "true"
		}
		return value
	case "dict":
		return jsObjectOf(strip(value))
	case "array":
		return jsArrayOf(strip(value), nested)
	case "any":
		return value
	}
	raise("ValueError", "Unsupported type: %s", name)
	return nil
}

// jsArrayOf is the list that code has, or code where something in it raises an error.
func jsArrayOf(code, nested string) (list any) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(raised); !ok {
				panic(r)
			}
			list = code
		}
	}()
	if m := jsTable.FindString(code); m != "" {
		rows := []any{}
		for i, row := range jsRow.FindAllStringSubmatch(m, -1) {
			text := strip(row[1])
			if i == 0 {
				text = strings.TrimPrefix(text, "[") // the table's own
			}
			items := []any{}
			for item := range strings.SplitSeq(text, ",") {
				items = append(items, jsValue(strip(item)))
			}
			rows = append(rows, items)
		}
		return rows
	}
	m := jsArray.FindStringSubmatch(code)
	if m == nil {
		return code
	}
	out := []any{}
	text := strip(m[1] + m[2])
	if text == "" {
		return out
	}
	for item := range strings.SplitSeq(text, ",") {
		switch item = strip(item); {
		case nested == "":
			out = append(out, jsValue(item))
		case strings.HasPrefix(item, "'") || strings.HasPrefix(item, `"`):
			out = append(out, fromJavaScript(item, nested, "String"))
		default:
			out = append(out, fromJavaScript(item, nested, ""))
		}
	}
	return out
}

func jsObjectOf(code string) any {
	m := jsObject.FindStringSubmatch(code)
	if m == nil {
		return code
	}
	o := &chat.Object{}
	for _, pair := range jsPairs(m[1]) {
		key, value := strings.Trim(strip(pair[0]), `'"`), strip(pair[1])
		if strings.HasPrefix(value, "[") && strings.HasSuffix(value, "]") {
			o.Set(key, jsArrayOf(value, ""))
		} else { // an inner object ended with the outer one's first }
			o.Set(key, jsValue(strings.Trim(value, `'"`)))
		}
	}
	return o
}

// jsPairs finds all matches of ([^:]+):\s*(.*?)(?:,\s*(?=[^,]+:)|$) in a text without line breaks. Go's patterns cannot
// look ahead.
func jsPairs(s string) [][2]string {
	var pairs [][2]string
	for {
		s = strings.TrimLeft(s, ":")
		key, rest, ok := strings.Cut(s, ":")
		if !ok {
			return pairs
		}
		rest = strings.TrimLeftFunc(rest, pyvalue.IsSpace)
		end, next := pairEnd(rest)
		pairs = append(pairs, [2]string{key, rest[:end]})
		s = rest[next:]
	}
}

// pairEnd is where a value ends, and where the next key may start: at the first comma that a key and its colon follow,
// or at the end of the text.
func pairEnd(s string) (end, next int) {
	for from := 0; ; {
		comma := strings.IndexByte(s[from:], ',')
		if comma < 0 {
			return len(s), len(s)
		}
		comma += from
		from = comma + 1
		run, _, _ := strings.Cut(s[from:], ",")
		colon := strings.LastIndexByte(run, ':')
		space := len(run) - len(strings.TrimLeftFunc(run, pyvalue.IsSpace))
		for space > 0 && space >= colon { // the key needs a character before its colon
			_, size := utf8.DecodeLastRuneInString(run[:space])
			space -= size
		}
		if space < colon {
			return comma, from + space
		}
	}
}

// jsValue is parse_js_value: a literal whose type nobody states.
func jsValue(text string) any {
	text = strip(text)
	switch {
	case text == "true" || text == "false":
		return text == "true"
	case isQuoted(text, `"`, "'"):
		return inner(text)
	}
	return numberOr(text)
}
