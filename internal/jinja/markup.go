package jinja

import (
	"strings"

	"hone/internal/jinja/pyvalue"
)

// markup is what |safe and |escape give: text that + does not join to other text without escaping that for HTML.
// Nothing else differs from a string, so that compiler.value makes strings of it.
type markup string

func escapeHTML(s string) string {
	if !strings.ContainsAny(s, `&<>'"`) {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		switch s[i] {
		case '&':
			b.WriteString("&amp;")
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case '\'':
			b.WriteString("&#39;")
		case '"':
			b.WriteString("&#34;")
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// withoutMarkup makes a string of markup.
func withoutMarkup(v value) value {
	if m, ok := v.(markup); ok {
		return string(m)
	}
	return v
}

// joinMarkup is a + b where one of them is markup; false where none is, or the other is no string.
func (r *run) joinMarkup(a, b value) (value, bool) {
	x, markedA := a.(markup)
	y, markedB := b.(markup)
	switch {
	case !markedA && !markedB:
		return nil, false
	case !markedA:
		s, ok := a.(string)
		if !ok {
			return nil, false
		}
		x = markup(escapeHTML(s))
	case !markedB:
		s, ok := b.(string)
		if !ok {
			return nil, false
		}
		y = markup(escapeHTML(s))
	}
	r.Charge(len(x) + len(y))
	return x + y, true
}

// remark is the result of a filter on markup.
func (e *filterExpression) remark(result value) value {
	s, ok := result.(string)
	if !ok {
		return result
	}
	switch e.name {
	case "trim", "upper", "lower", "capitalize", "center", "string", "default", "d", "indent":
		return markup(s)
	case "format":
		pyvalue.Fail(e.at, pyvalue.Unsupported, "format of what is marked safe")
	}
	return result
}
