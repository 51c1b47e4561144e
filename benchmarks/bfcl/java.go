package bfcl

import (
	"regexp"
	"slices"
	"strings"

	"hone/internal/chat"
)

// Patterns of Java literals. In Python, \d, \w and \s are those of all scripts, $ also stands before a last line break,
// and a text is searched from its beginning for the first way that a pattern fits; Go's leftmost-first match is the
// same one.
var (
	javaInteger  = pattern(`^-?\d+$`)
	javaFloat    = pattern(`^-?\d+(\.\d+)?([eE][+-]?\d+)?[fF]$`)
	javaDouble   = pattern(`^-?\d+(\.\d+)?([eE][+-]?\d+)?$`)
	javaLong     = pattern(`^-?\d+[lL]$`)
	javaAsList   = pattern(`new\s+ArrayList<\w*>\(Arrays\.asList\((.+?)\)\)`)
	javaAdds     = pattern(`(?s)new\s+ArrayList<\w*>\(\)\s*\{\{\s*(.+?)\s*\}\}`)
	javaAdd      = pattern(`add\((.+?)\)`)
	javaNewList  = pattern(`new\s+ArrayList<\w*>\(\)`)
	javaArray    = pattern(`new\s+\w+\[\]\s*\{(.*?)\}`)
	javaPuts     = pattern(`(?s)new\s+HashMap<.*?>\s*\(\)\s*\{\s*\{?\s*(.*?)\s*\}?\s*\}`)
	javaPut      = pattern(`put\("(.*?)",\s*(.*?)\)`)
	javaNewTable = pattern(`new\s+HashMap<.*?>\s*\(\)`)
)

// pattern writes one of Python's patterns as Go's.
func pattern(python string) *regexp.Regexp {
	return regexp.MustCompile(strings.NewReplacer(`\d`, `\p{Nd}`, `\w`, `[\p{L}\p{N}_]`, `\s`,
		`[\s\v\x1c-\x1f\x{85}\p{Z}]`, `$`, `\n?\z`).Replace(python))
}

// fromJava is BFCL's java_type_converter: the value that a Java literal has, or the text where it is no literal of the
// type. nested is the type of a collection's items, "" where it is not known.
func fromJava(value, name, nested string) any {
	switch name {
	case "byte", "short", "integer":
		return intOr(value, javaInteger, value)
	case "long":
		return intOr(value, javaLong, withoutSuffix(value, "lL"))
	case "float":
		return floatOr(value, javaFloat, withoutSuffix(value, "fF"))
	case "double":
		return floatOr(value, javaDouble, value)
	case "boolean":
		if value == "true" || value == "false" {
			return value == "true"
		}
		return value
	case "char", "String", "any":
		return value // BFCL's pattern of a char matches nothing
	case "ArrayList":
		return javaListOf(value, nested)
	case "Array":
		return javaArrayOf(value, nested)
	case "HashMap":
		return javaMapOf(value)
	case "Set", "Hashtable", "Queue", "Stack":
		raise("NotImplementedError", "%s conversion is not implemented", name)
	}
	raise("ValueError", "Unsupported type: %s", name)
	return nil
}

// withoutSuffix drops one of the letters where it ends the text, or stands before a last line break.
func withoutSuffix(s, letters string) string {
	body, lineBreak := strings.CutSuffix(s, "\n")
	if body != "" && strings.IndexByte(letters, body[len(body)-1]) >= 0 {
		body = body[:len(body)-1]
	}
	if lineBreak {
		body += "\n"
	}
	return body
}

func intOr(value string, p *regexp.Regexp, digits string) any {
	if !p.MatchString(value) {
		return value
	}
	n, ok := parseInt(digits)
	if !ok {
		raise("ValueError", "invalid integer %s", brief(digits))
	}
	return n
}

func floatOr(value string, p *regexp.Regexp, digits string) any {
	if !p.MatchString(value) {
		return value
	}
	f, ok := parseFloat(digits)
	if !ok {
		raise("ValueError", "invalid float %s", brief(digits))
	}
	return f
}

func javaListOf(text, nested string) any {
	if m := javaAsList.FindStringSubmatch(text); m != nil {
		list := []any{}
		for item := range strings.SplitSeq(m[1], ",") {
			list = append(list, javaItem(strip(item), nested))
		}
		return list
	}
	if m := javaAdds.FindStringSubmatch(text); m != nil {
		list := []any{}
		for _, add := range javaAdd.FindAllStringSubmatch(m[1], -1) {
			list = append(list, javaItem(strip(add[1]), nested))
		}
		return list
	}
	if javaNewList.MatchString(text) {
		return []any{}
	}
	return text
}

func javaItem(item, nested string) any {
	switch nested {
	case "char", "String":
		return inner(item) // its quotes
	case "":
		return javaValue(item)
	}
	return fromJava(item, nested, "")
}

func javaArrayOf(text, nested string) any {
	m := javaArray.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	list := []any{}
	for item := range strings.SplitSeq(m[1], ",") {
		switch item = strip(item); {
		case item == "":
		case nested == "":
			list = append(list, javaValue(item))
		default:
			list = append(list, fromJava(item, nested, ""))
		}
	}
	return list
}

func javaMapOf(text string) any {
	if m := javaPuts.FindStringSubmatch(text); m != nil {
		o := &chat.Object{}
		for _, put := range javaPut.FindAllStringSubmatch(m[1], -1) {
			o.Set(put[1], javaValue(strip(put[2])))
		}
		return o
	}
	if javaNewTable.MatchString(text) {
		return &chat.Object{}
	}
	return text
}

// javaValue is parse_java_value: a literal whose type nobody states.
func javaValue(text string) any {
	switch {
	case text == "true" || text == "false":
		return text == "true"
	case strings.HasPrefix(text, `"`) && strings.HasSuffix(text, `"`):
		return inner(text)
	case javaLong.MatchString(text):
		return intOr(text, javaLong, inner("x"+text))
	case javaFloat.MatchString(text):
		return floatOr(text, javaFloat, withoutSuffix(text, "fF"))
	}
	return numberOr(text)
}

// numberOr is int(text), or float(text), or the text.
func numberOr(text string) any {
	for _, parse := range []func(string) (any, bool){parseInt, parseFloat} {
		if n, ok := parse(text); ok {
			return n
		}
	}
	return text
}

// isQuoted reports whether a text begins and ends with the same of the quotes.
func isQuoted(s string, quotes ...string) bool {
	return slices.ContainsFunc(quotes, func(q string) bool {
		return strings.HasPrefix(s, q) && strings.HasSuffix(s, q)
	})
}
