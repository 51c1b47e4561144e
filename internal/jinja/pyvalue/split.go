package pyvalue

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// split is str.split and rsplit: at a separator, or at runs of white space for None.
func (m *Meter) split(s string, fromEnd bool, a *Args) Value {
	v := m.Bind(a, "split", 0, "sep", "maxsplit")
	most := m.Integer(Or(v[1], int64(-1)))
	if most < 0 {
		most = len(s) + 1
	}
	separator := Or(v[0], nil)
	if separator == nil {
		return m.fields(s, fromEnd, most)
	}
	sep := m.Str(separator)
	if sep == "" {
		Fail(m.At, ValueFault, "empty separator")
	}
	m.Charge(ItemBytes * min(most+1, strings.Count(s, sep)+1))
	var parts []Value
	if !fromEnd {
		for ; most > 0; most-- {
			before, after, ok := strings.Cut(s, sep)
			if !ok {
				break
			}
			parts, s = append(parts, before), after
		}
		return append(parts, s)
	}
	for ; most > 0; most-- {
		i := strings.LastIndex(s, sep)
		if i < 0 {
			break
		}
		parts, s = append(parts, s[i+len(sep):]), s[:i]
	}
	parts = append(parts, s)
	slices.Reverse(parts)
	return parts
}

// fields splits at runs of white space, at most so many times; what is left keeps its inner white space.
func (m *Meter) fields(s string, fromEnd bool, most int) Value {
	parts := []Value{}
	take := func(part string) {
		m.Charge(ItemBytes)
		parts = append(parts, part)
	}
	if !fromEnd {
		for s = strings.TrimLeftFunc(s, IsSpace); s != ""; s = strings.TrimLeftFunc(s, IsSpace) {
			i := strings.IndexFunc(s, IsSpace)
			if i < 0 {
				i = len(s)
			}
			if most == 0 {
				take(s)
				break
			}
			take(s[:i])
			s = s[i:]
			most--
		}
		return parts
	}
	for s = strings.TrimRightFunc(s, IsSpace); s != ""; s = strings.TrimRightFunc(s, IsSpace) {
		if most == 0 {
			take(s)
			break
		}
		i := strings.LastIndexFunc(s, IsSpace)
		if i >= 0 {
			_, size := utf8.DecodeRuneInString(s[i:])
			i += size
		}
		i = max(i, 0)
		take(s[i:])
		s = s[:i]
		most--
	}
	slices.Reverse(parts)
	return parts
}

// SplitLines knows all of Python's line ends.
func (m *Meter) SplitLines(s string, keep bool) Value {
	lines := []Value{}
	for s != "" {
		end := strings.IndexFunc(s, func(c rune) bool {
			return strings.ContainsRune("\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029", c)
		})
		if end < 0 {
			end = len(s)
		}
		next := end
		if end < len(s) {
			_, size := utf8.DecodeRuneInString(s[end:])
			next += size
			if strings.HasPrefix(s[end:], "\r\n") {
				next++
			}
		}
		line := s[:end]
		if keep {
			line = s[:next]
		}
		m.Charge(ItemBytes)
		lines = append(lines, line)
		s = s[next:]
	}
	return lines
}
