package template

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// stringMethod runs one of str's methods; positions count characters.
func (r *run) stringMethod(s, name string, a *args) value {
	r.scan(len(s))
	switch name {
	case "split", "rsplit":
		return r.split(s, name == "rsplit", a)
	case "format":
		return r.format(s, a)
	case "splitlines":
		v := a.bind(r, name, 0, "keepends")
		return r.splitLines(s, r.truth(or(v[0], false)))
	case "expandtabs":
		return r.expandTabs(s, a)
	}
	if len(a.names) > 0 {
		fail(r.at, TypeFault, "str.%s() takes no keyword arguments", name)
	}
	switch name {
	case "strip", "lstrip", "rstrip":
		v := a.bind(r, name, 0, "chars")
		return r.strip(s, name, or(v[0], nil))
	case "startswith", "endswith":
		return r.hasAffix(s, name, a)
	case "removeprefix":
		return strings.TrimPrefix(s, r.string(a.bind(r, name, 1, "prefix")[0]))
	case "removesuffix":
		return strings.TrimSuffix(s, r.string(a.bind(r, name, 1, "suffix")[0]))
	case "replace":
		v := a.bind(r, name, 2, "old", "new", "count")
		return r.replace(s, r.string(v[0]), r.string(v[1]), r.integer(or(v[2], int64(-1))))
	case "join":
		return r.joinAll(s, a.bind(r, name, 1, "iterable")[0], r.joinable)
	case "find", "rfind", "index", "rindex", "count":
		return r.find(s, name, a)
	case "partition", "rpartition":
		return r.partition(s, name, r.string(a.bind(r, name, 1, "sep")[0]))
	case "center", "ljust", "rjust", "zfill":
		return r.justify(s, name, a)
	}
	a.bind(r, name, 0)
	if len(name) > 2 && name[:2] == "is" {
		return stringTest(s, name)
	}
	r.charge(len(s))
	return changeCase(s, name)
}

// changeCase follows Unicode's special rules, where one letter becomes two or a sigma ends a word.
func changeCase(s, name string) string {
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
		return titleOf(s[:size]) + changeCase(s[size:], "lower")
	case "swapcase":
		var b strings.Builder
		for i, c := range s {
			char := s[i : i+utf8.RuneLen(c)]
			switch {
			case unicode.IsUpper(c):
				char = changeCase(char, "lower")
			case unicode.IsLower(c):
				char = changeCase(char, "upper")
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
		b.WriteString(titleOf(s[i:i+size]) + changeCase(s[i+size:end], "lower"))
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

func stringTest(s, name string) bool {
	if name == "islower" || name == "isupper" || name == "istitle" {
		return caseTest(s, name)
	}
	test := map[string]func(rune) bool{
		"isalnum": func(c rune) bool { return unicode.IsLetter(c) || unicode.IsNumber(c) }, "isalpha": unicode.IsLetter,
		"isascii": func(c rune) bool { return c < 0x80 }, "isdecimal": unicode.IsDigit, "isdigit": isDigit,
		"isnumeric": unicode.IsNumber, "isprintable": unicode.IsPrint, "isspace": isSpace,
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

func caseTest(s, name string) bool {
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

// strip removes characters of a set, white space for None.
func (r *run) strip(s, name string, chars value) string {
	in := isSpace
	if chars != nil {
		set := r.string(chars)
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
func (r *run) part(s string, start, stop value) (string, int, bool) {
	start, stop = or(start, nil), or(stop, nil)
	if start == nil && stop == nil {
		return s, 0, true
	}
	runes := []rune(s)
	if start != nil && r.sliceIndex(start) > len(runes) {
		return "", 0, false
	}
	from, _, count := r.sliceBounds([3]value{start, stop}, len(runes))
	return string(runes[from : from+count]), from, true
}

func (r *run) hasAffix(s, name string, a *args) value {
	v := a.bind(r, name, 1, "affix", "start", "end")
	text, _, ok := r.part(s, v[1], v[2])
	has := strings.HasPrefix
	if name == "endswith" {
		has = strings.HasSuffix
	}
	if options, isTuple := v[0].(tuple); isTuple {
		for _, option := range options {
			if ok && has(text, r.string(option)) {
				return true
			}
		}
		return false
	}
	affix, isString := v[0].(string)
	if !isString {
		fail(r.at, TypeFault, "%s first arg must be str or a tuple of str, not %s", name, typeName(v[0]))
	}
	return ok && has(text, affix)
}

func (r *run) replace(s, old, replacement string, count int) string {
	n := strings.Count(s, old)
	if count >= 0 {
		n = min(n, count)
	}
	r.charge(len(s))
	r.charge(n * len(replacement))
	return strings.Replace(s, old, replacement, count)
}

// joinAll joins items, each made a string by text.
func (r *run) joinAll(separator string, items value, text func(i int, item value) string) string {
	var b strings.Builder
	next := r.each(items)
	for i := 0; ; i++ {
		item, ok := next()
		if !ok {
			return b.String()
		}
		if i > 0 {
			b.WriteString(separator)
		}
		part := text(i, item)
		r.step()
		r.charge(len(separator) + len(part))
		b.WriteString(part)
	}
}

func (r *run) joinable(i int, item value) string {
	s, ok := item.(string)
	if !ok {
		fail(r.at, TypeFault, "sequence item %d: expected str instance, %s found", i, typeName(item))
	}
	return s
}

func (r *run) find(s, name string, a *args) value {
	v := a.bind(r, name, 1, "sub", "start", "end")
	sub := r.string(v[0])
	text, offset, ok := r.part(s, v[1], v[2])
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
		fail(r.at, ValueFault, "substring not found")
	}
	return int64(-1)
}

func (r *run) partition(s, name, separator string) value {
	if separator == "" {
		fail(r.at, ValueFault, "empty separator")
	}
	if name == "rpartition" {
		if i := strings.LastIndex(s, separator); i >= 0 {
			return tuple{s[:i], separator, s[i+len(separator):]}
		}
		return tuple{"", "", s}
	}
	before, after, ok := strings.Cut(s, separator)
	if !ok {
		separator = ""
	}
	return tuple{before, separator, after}
}

func (r *run) justify(s, name string, a *args) value {
	v := a.bind(r, name, 1, "width", "fillchar")
	width := r.integer(v[0])
	fill := r.string(or(v[1], " "))
	if name == "zfill" {
		fill = "0"
	}
	if utf8.RuneCountInString(fill) != 1 {
		fail(r.at, TypeFault, "The fill character must be exactly one character long")
	}
	missing := max(0, width-utf8.RuneCountInString(s))
	r.charge(len(s))
	r.charge(missing * len(fill))
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

func (r *run) expandTabs(s string, a *args) value {
	size := r.integer(or(a.bind(r, "expandtabs", 0, "tabsize")[0], int64(8)))
	var b strings.Builder
	column := 0
	for _, c := range s {
		switch {
		case c == '\t' && size > 0:
			n := size - column%size
			r.charge(n)
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
