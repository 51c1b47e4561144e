package pyvalue

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// StringMethod runs one of str's methods; positions count characters.
func (m *Meter) StringMethod(s, name string, a *Args) Value {
	m.Scan(len(s))
	switch name {
	case "split", "rsplit":
		return m.split(s, name == "rsplit", a)
	case "format":
		return m.format(s, a)
	case "splitlines":
		v := m.Bind(a, name, 0, "keepends")
		return m.SplitLines(s, m.Truth(Or(v[0], false)))
	case "expandtabs":
		return m.expandTabs(s, a)
	}
	if len(a.Names) > 0 {
		Fail(m.At, TypeFault, "str.%s() takes no keyword arguments", name)
	}
	switch name {
	case "strip", "lstrip", "rstrip":
		v := m.Bind(a, name, 0, "chars")
		return m.Strip(s, name, Or(v[0], nil))
	case "startswith", "endswith":
		return m.hasAffix(s, name, a)
	case "removeprefix":
		return strings.TrimPrefix(s, m.Str(m.Bind(a, name, 1, "prefix")[0]))
	case "removesuffix":
		return strings.TrimSuffix(s, m.Str(m.Bind(a, name, 1, "suffix")[0]))
	case "replace":
		v := m.Bind(a, name, 2, "old", "new", "count")
		return m.Replace(s, m.Str(v[0]), m.Str(v[1]), m.Integer(Or(v[2], int64(-1))))
	case "join":
		return m.JoinAll(s, m.Bind(a, name, 1, "iterable")[0], m.joinable)
	case "find", "rfind", "index", "rindex", "count":
		return m.find(s, name, a)
	case "partition", "rpartition":
		return m.partition(s, name, m.Str(m.Bind(a, name, 1, "sep")[0]))
	case "center", "ljust", "rjust", "zfill":
		return m.Justify(s, name, a)
	}
	m.Bind(a, name, 0)
	if len(name) > 2 && name[:2] == "is" {
		return StringTest(s, name)
	}
	m.Charge(len(s))
	return ChangeCase(s, name)
}

// ChangeCase follows Unicode's special rules, where one letter becomes two or a sigma ends a word.
func ChangeCase(s, name string) string {
	if isASCII(s) {
		switch name {
		case "upper":
			return strings.ToUpper(s)
		case "lower", "casefold":
			return strings.ToLower(s)
		}
	}
	switch name {
	case "upper":
		return cases.Upper(language.Und).String(s)
	case "lower":
		return cases.Lower(language.Und).String(s)
	case "casefold":
		return cases.Fold().String(s)
	case "capitalize":
		_, size := utf8.DecodeRuneInString(s)
		return titleOf(s[:size]) + ChangeCase(s[size:], "lower")
	case "swapcase":
		var b strings.Builder
		for i, c := range s {
			char := s[i : i+utf8.RuneLen(c)]
			switch {
			case unicode.IsUpper(c):
				char = ChangeCase(char, "lower")
			case unicode.IsLower(c):
				char = ChangeCase(char, "upper")
			}
			b.WriteString(char)
		}
		return b.String()
	}
	var b strings.Builder // title
	for i := 0; i < len(s); {
		c, size := utf8.DecodeRuneInString(s[i:])
		if !isCased(c) {
			b.WriteString(s[i : i+size])
			i += size
			continue
		}
		end := i + size
		for end < len(s) {
			c, n := utf8.DecodeRuneInString(s[end:])
			if !isCased(c) {
				break
			}
			end += n
		}
		b.WriteString(titleOf(s[i:i+size]) + ChangeCase(s[i+size:end], "lower"))
		i = end
	}
	return b.String()
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// titleOf is one character as it begins a word.
func titleOf(char string) string { return cases.Title(language.Und, cases.NoLower).String(char) }

func isCased(c rune) bool { return unicode.IsUpper(c) || unicode.IsLower(c) || unicode.IsTitle(c) }

// StringTest runs one of str's methods that begin with is.
func StringTest(s, name string) bool {
	if name == "islower" || name == "isupper" || name == "istitle" {
		return CaseTest(s, name)
	}
	test := map[string]func(rune) bool{
		"isalnum": func(c rune) bool { return unicode.IsLetter(c) || unicode.IsNumber(c) }, "isalpha": unicode.IsLetter,
		"isascii": func(c rune) bool { return c < 0x80 }, "isdecimal": unicode.IsDigit, "isdigit": isDigit,
		"isnumeric": unicode.IsNumber, "isprintable": unicode.IsPrint, "isspace": IsSpace,
	}[name]
	for _, c := range s {
		if !test(c) {
			return false
		}
	}
	return s != "" || name == "isascii" || name == "isprintable"
}

// isDigit is true of superscripts and circled digits too.
func isDigit(c rune) bool {
	return unicode.IsDigit(c) || strings.ContainsRune("²³¹⁰⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉①②③④⑤⑥⑦⑧⑨", c)
}

// CaseTest is islower, isupper or istitle.
func CaseTest(s, name string) bool {
	cased, previous := false, false
	for _, c := range s {
		upper, lower := unicode.IsUpper(c) || unicode.IsTitle(c), unicode.IsLower(c)
		switch {
		case name == "islower" && upper, name == "isupper" && lower, name == "isupper" && unicode.IsTitle(c):
			return false
		case name == "istitle" && (upper && previous || lower && !previous):
			return false
		}
		previous = upper || lower
		cased = cased || previous
	}
	return cased
}

// Strip removes characters of a set, white space for None.
func (m *Meter) Strip(s, name string, chars Value) string {
	in := IsSpace
	if chars != nil {
		set := m.Str(chars)
		in = func(c rune) bool { return strings.ContainsRune(set, c) }
	}
	if name != "rstrip" {
		s = strings.TrimLeftFunc(s, in)
	}
	if name != "lstrip" {
		s = strings.TrimRightFunc(s, in)
	}
	return s
}

// part cuts s to the characters from start to stop, which may be unset or None, and returns how many characters were
// cut off before; false where start is behind the end.
func (m *Meter) part(s string, start, stop Value) (string, int, bool) {
	start, stop = Or(start, nil), Or(stop, nil)
	if start == nil && stop == nil {
		return s, 0, true
	}
	runes := []rune(s)
	if start != nil && m.sliceIndex(start) > len(runes) {
		return "", 0, false
	}
	from, _, count := m.sliceBounds([3]Value{start, stop}, len(runes))
	return string(runes[from : from+count]), from, true
}

func (m *Meter) hasAffix(s, name string, a *Args) Value {
	v := m.Bind(a, name, 1, "affix", "start", "end")
	text, _, ok := m.part(s, v[1], v[2])
	has := strings.HasPrefix
	if name == "endswith" {
		has = strings.HasSuffix
	}
	if options, isTuple := v[0].(Tuple); isTuple {
		for _, option := range options {
			if ok && has(text, m.Str(option)) {
				return true
			}
		}
		return false
	}
	affix, isString := v[0].(string)
	if !isString {
		Fail(m.At, TypeFault, "%s first arg must be str or a tuple of str, not %s", name, TypeName(v[0]))
	}
	return ok && has(text, affix)
}

// Replace is str.replace; a count below 0 means all.
func (m *Meter) Replace(s, old, replacement string, count int) string {
	n := strings.Count(s, old)
	if count >= 0 {
		n = min(n, count)
	}
	m.Charge(len(s))
	m.Charge(n * len(replacement))
	return strings.Replace(s, old, replacement, count)
}

// JoinAll joins items, each made a string by text.
func (m *Meter) JoinAll(separator string, items Value, text func(i int, item Value) string) string {
	var b strings.Builder
	next := m.Each(items)
	for i := 0; ; i++ {
		item, ok := next()
		if !ok {
			return b.String()
		}
		if i > 0 {
			b.WriteString(separator)
		}
		part := text(i, item)
		m.Step()
		m.Charge(len(separator) + len(part))
		b.WriteString(part)
	}
}

func (m *Meter) joinable(i int, item Value) string {
	s, ok := item.(string)
	if !ok {
		Fail(m.At, TypeFault, "sequence item %d: expected str instance, %s found", i, TypeName(item))
	}
	return s
}

func (m *Meter) find(s, name string, a *Args) Value {
	v := m.Bind(a, name, 1, "sub", "start", "end")
	sub := m.Str(v[0])
	text, offset, ok := m.part(s, v[1], v[2])
	if name == "count" {
		if !ok {
			return int64(0)
		}
		return int64(strings.Count(text, sub))
	}
	i := -1
	if ok {
		find := strings.Index
		if name == "rfind" || name == "rindex" {
			find = strings.LastIndex
		}
		i = find(text, sub)
	}
	switch {
	case i >= 0:
		return int64(offset + utf8.RuneCountInString(text[:i]))
	case name == "index" || name == "rindex":
		Fail(m.At, ValueFault, "substring not found")
	}
	return int64(-1)
}

func (m *Meter) partition(s, name, separator string) Value {
	if separator == "" {
		Fail(m.At, ValueFault, "empty separator")
	}
	if name == "rpartition" {
		if i := strings.LastIndex(s, separator); i >= 0 {
			return Tuple{s[:i], separator, s[i+len(separator):]}
		}
		return Tuple{"", "", s}
	}
	before, after, ok := strings.Cut(s, separator)
	if !ok {
		separator = ""
	}
	return Tuple{before, separator, after}
}

// Justify is str.center, ljust, rjust or zfill.
func (m *Meter) Justify(s, name string, a *Args) Value {
	v := m.Bind(a, name, 1, "width", "fillchar")
	width := m.Integer(v[0])
	fill := m.Str(Or(v[1], " "))
	if name == "zfill" {
		fill = "0"
	}
	if utf8.RuneCountInString(fill) != 1 {
		Fail(m.At, TypeFault, "The fill character must be exactly one character long")
	}
	missing := max(0, width-utf8.RuneCountInString(s))
	m.Charge(len(s))
	m.Charge(missing * len(fill))
	left := 0
	switch name {
	case "rjust", "zfill":
		left = missing
	case "center":
		left = missing/2 + missing&width&1
	}
	if name == "zfill" && s != "" && (s[0] == '-' || s[0] == '+') {
		return s[:1] + strings.Repeat(fill, left) + s[1:]
	}
	return strings.Repeat(fill, left) + s + strings.Repeat(fill, missing-left)
}

func (m *Meter) expandTabs(s string, a *Args) Value {
	size := m.Integer(Or(m.Bind(a, "expandtabs", 0, "tabsize")[0], int64(8)))
	var b strings.Builder
	column := 0
	for _, c := range s {
		switch {
		case c == '\t' && size > 0:
			n := size - column%size
			m.Charge(n)
			b.WriteString(strings.Repeat(" ", n))
			column += n
		case c == '\t':
		default:
			b.WriteRune(c)
			column++
			if c == '\n' || c == '\r' {
				column = 0
			}
		}
	}
	return b.String()
}

// IsSpace is Python's str.isspace, which has four control characters more than Go's.
func IsSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }
