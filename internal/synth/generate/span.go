package generate

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Words of parameters that bound a span of days, and of the others that say that it is one.
const (
	spanFrom = "start from since after begin beginning"
	spanTo   = "end to until before finish"
	spanOf   = "date day time datetime timestamp"
)

// bounds says whether a parameter is where a span of days begins (-1) or ends (1), and what else its name has: of
// start_date that is date. side is 0 where it is neither.
func (p *param) bounds() (side int, rest string) {
	if p.kind != "" && p.kind != "string" || len(p.choices) > 0 {
		return 0, ""
	}
	var others []string
	for _, w := range words(p.name) {
		switch {
		case slices.Contains(strings.Fields(spanFrom), w):
			side--
		case slices.Contains(strings.Fields(spanTo), w):
			side++
		default:
			others = append(others, w)
		}
	}
	days := strings.HasPrefix(p.format, "date") || p.stated != nil && p.stated.layout != "" ||
		slices.ContainsFunc(others, func(w string) bool { return slices.Contains(strings.Fields(spanOf), w) })
	if !days || side*side != 1 {
		return 0, ""
	}
	return side, strings.Join(others, " ")
}

// span are two parameters of a tool between whose days something is asked; nil where it has none.
func (s *subject) span() (from, to *param) {
	for i := range s.schema.fields {
		side, rest := s.schema.fields[i].bounds()
		for j := range s.schema.fields {
			if other, same := s.schema.fields[j].bounds(); side < 0 && other > 0 && rest == same {
				return &s.schema.fields[i], &s.schema.fields[j]
			}
		}
	}
	return nil, nil
}

// asksMore reports whether a tool has required parameters that are no bounds of a span of days: one that has these
// alone lists all that there is between days far enough apart.
func (s *subject) asksMore() bool {
	from, to := s.span()
	return slices.ContainsFunc(s.schema.fields, func(p param) bool {
		return p.required && (from == nil || p.name != from.name && p.name != to.name)
	})
}

// far are the days between which all lies that people note.
func far() (from, to time.Time) {
	return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2099, 12, 31, 0, 0, 0, 0, time.UTC)
}

// spanned are arguments that ask for all days, where the tool requires some.
func (s *subject) spanned() json.RawMessage {
	arguments := json.RawMessage("{}")
	from, to := s.span()
	if from == nil || !from.required && !to.required {
		return arguments
	}
	first, last := far()
	arguments = appendMember(arguments, from.name, quote(first.Format(from.dayLayout())))
	return appendMember(arguments, to.name, quote(last.Format(to.dayLayout())))
}

// dayLayout is how a bound of a span is written.
func (p *param) dayLayout() string {
	switch {
	case p.stated != nil && p.stated.layout != "":
		return p.stated.layout
	case p.format == "date-time":
		return time.RFC3339
	}
	return time.DateOnly
}

// inOrder puts the earlier of two days first, where they bound a span.
func (f filler) inOrder(arguments json.RawMessage) json.RawMessage {
	from, to := f.tool.span()
	if from == nil {
		return arguments
	}
	first, last := find(arguments, from.name), find(arguments, to.name)
	if textOf(first) == "" || textOf(last) == "" || textOf(first) <= textOf(last) {
		return arguments
	}
	arguments, _ = withMember(arguments, from.name, last)
	arguments, _ = withMember(arguments, to.name, first)
	return arguments
}
