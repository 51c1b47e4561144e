package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"hone/internal/jinja/pyvalue"
)

type kind uint8

const (
	endOfFile kind = iota
	data
	blockBegin
	blockEnd
	variableBegin
	variableEnd
	name
	stringLiteral
	integer
	float
	operator
)

func (k kind) String() string {
	return [...]string{
		"end of template", "text", "begin of statement block", "end of statement block", "begin of print statement",
		"end of print statement", "name", "string", "integer", "float", "operator",
	}[k]
}

type token struct {
	kind kind
	text string // of a string literal, its value
	at   int    // byte in the source
}

func (t token) describe() string {
	if t.kind == name || t.kind == operator {
		return t.text
	}
	return t.kind.String()
}

// lexer splits a template as Hugging Face sets jinja2 up: trim_blocks (the newline after a block tag goes),
// lstrip_blocks (so do the blanks before one that begins a line), and one newline at the end of the template goes.
type lexer struct {
	source    string
	at        int
	lineStart bool // what was read last ended a line
	brackets  []byte
	tokens    []token
}

// normalise makes every newline "\n" and drops the last one.
func normalise(source string) string {
	source = strings.ReplaceAll(strings.ReplaceAll(source, "\r\n", "\n"), "\r", "\n")
	return strings.TrimSuffix(source, "\n")
}

func lex(source string) []token {
	l := &lexer{source: source, lineStart: true}
	for l.at < len(source) {
		l.text()
	}
	l.emit(endOfFile, "", len(source))
	return l.tokens
}

func (l *lexer) emit(k kind, text string, at int) { l.tokens = append(l.tokens, token{k, text, at}) }

// text reads up to the next tag, and the tag.
func (l *lexer) text() {
	start := l.at
	open := start
	for {
		i := strings.IndexByte(l.source[open:], '{')
		if i < 0 {
			l.data(l.source[start:], start)
			l.at = len(l.source)
			return
		}
		open += i
		if open+1 < len(l.source) && strings.IndexByte("%{#", l.source[open+1]) >= 0 {
			break
		}
		open++
	}
	tag := l.source[open+1]
	l.at = open + 2
	sign := l.sign()
	l.data(l.strip(l.source[start:open], sign, tag != '{'), start)
	l.lineStart = false
	switch {
	case tag == '#':
		l.comment(open)
	case tag == '{':
		l.emit(variableBegin, "", open)
		l.expression(variableEnd, "}}")
	case l.raw(open):
	default:
		l.emit(blockBegin, "", open)
		l.expression(blockEnd, "%}")
	}
}

func (l *lexer) data(text string, at int) {
	if text != "" {
		l.emit(data, text, at)
	}
}

// sign reads the whitespace control at the beginning of a tag.
func (l *lexer) sign() byte {
	if l.at < len(l.source) && (l.source[l.at] == '-' || l.source[l.at] == '+') {
		l.at++
		return l.source[l.at-1]
	}
	return 0
}

// strip removes what the tag that follows text takes away from it.
func (l *lexer) strip(text string, sign byte, lstrip bool) string {
	if sign == '-' {
		return strings.TrimRightFunc(text, pyvalue.IsSpace)
	}
	if sign == '+' || !lstrip {
		return text
	}
	line := strings.LastIndexByte(text, '\n') + 1
	if (line > 0 || l.lineStart) && strings.TrimFunc(text[line:], pyvalue.IsSpace) == "" {
		return text[:line]
	}
	return text
}

// close reads the end of a tag: +%} keeps what follows, -%} takes all white space, %} one newline.
func (l *lexer) close(end string, trims bool) bool {
	rest := l.source[l.at:]
	switch {
	case strings.HasPrefix(rest, end):
		l.at += len(end)
		if trims && strings.HasPrefix(l.source[l.at:], "\n") {
			l.at++
		}
	case strings.HasPrefix(rest, "-"+end):
		rest = rest[1+len(end):]
		l.at = len(l.source) - len(strings.TrimLeftFunc(rest, pyvalue.IsSpace))
	case trims && strings.HasPrefix(rest, "+"+end):
		l.at += 1 + len(end)
	default:
		return false
	}
	l.lineStart = l.source[l.at-1] == '\n'
	return true
}

func (l *lexer) comment(open int) {
	i := strings.Index(l.source[l.at:], "#}")
	if i < 0 {
		pyvalue.Fail(open, SyntaxFault, "Missing end of comment tag")
	}
	if i > 0 && strings.IndexByte("-+", l.source[l.at+i-1]) >= 0 {
		i--
	}
	l.at += i
	l.close("#}", true)
}

// raw reads {% raw %}...{% endraw %}, if that is what stands here.
func (l *lexer) raw(open int) bool {
	at := l.at
	if !l.word("raw") || !l.close("%}", false) {
		l.at = at
		return false
	}
	start := l.at
	for {
		i := strings.Index(l.source[l.at:], "{%")
		if i < 0 {
			pyvalue.Fail(open, SyntaxFault, "Missing end of raw directive")
		}
		end := l.at + i
		l.at = end + 2
		sign := l.sign()
		if l.word("endraw") {
			text := l.strip(l.source[start:end], sign, true)
			if l.close("%}", true) {
				l.data(text, start)
				return true
			}
		}
		l.at = end + 2
	}
}

// word reads a word and the white space around it.
func (l *lexer) word(want string) bool {
	rest := strings.TrimLeftFunc(l.source[l.at:], pyvalue.IsSpace)
	if !strings.HasPrefix(rest, want) {
		return false
	}
	rest = strings.TrimLeftFunc(rest[len(want):], pyvalue.IsSpace)
	l.at = len(l.source) - len(rest)
	return true
}

// expression reads the tokens inside a tag.
func (l *lexer) expression(endKind kind, end string) {
	l.brackets = l.brackets[:0]
	for l.at < len(l.source) {
		r, size := utf8.DecodeRuneInString(l.source[l.at:])
		start := l.at
		switch {
		case pyvalue.IsSpace(r):
			l.at += size
		case len(l.brackets) == 0 && l.close(end, endKind == blockEnd):
			l.emit(endKind, "", start)
			return
		case r >= '0' && r <= '9':
			l.number()
		case isWord(r):
			l.name()
		case r == '\'' || r == '"':
			l.string(byte(r))
		default:
			l.operator()
		}
	}
	l.at = len(l.source)
}

func (l *lexer) name() {
	start := l.at
	for l.at < len(l.source) {
		r, size := utf8.DecodeRuneInString(l.source[l.at:])
		if !isWord(r) {
			break
		}
		l.at += size
	}
	text := l.source[start:l.at]
	if r, _ := utf8.DecodeRuneInString(text); unicode.IsNumber(r) {
		pyvalue.Fail(start, SyntaxFault, "Invalid character in identifier")
	}
	l.emit(name, text, start)
}

// number reads a literal.
func (l *lexer) number() {
	start := l.at
	rest := l.source[start:]
	if start == 0 || l.source[start-1] != '.' {
		if n := floatLength(rest); n > 0 {
			l.at += n
			l.emit(float, strings.ReplaceAll(rest[:n], "_", ""), start)
			return
		}
	}
	n := integerLength(rest)
	l.at += n
	l.emit(integer, strings.ToLower(strings.ReplaceAll(rest[:n], "_", "")), start)
}

// digits is the length of digits with single underscores between them.
func digits(s, set string) int {
	n := 0
	for n < len(s) {
		switch {
		case strings.IndexByte(set, s[n]) >= 0:
			n++
		case s[n] == '_' && n > 0 && n+1 < len(s) && strings.IndexByte(set, s[n+1]) >= 0:
			n += 2
		default:
			return n
		}
	}
	return n
}

const decimal = "0123456789"

func floatLength(s string) int {
	n := digits(s, decimal)
	whole := n
	if n < len(s) && s[n] == '.' {
		if d := digits(s[n+1:], decimal); d > 0 {
			n += 1 + d
		}
	}
	if n < len(s) && s[n]|0x20 == 'e' {
		m := n + 1
		if m < len(s) && (s[m] == '+' || s[m] == '-') {
			m++
		}
		if d := digits(s[m:], decimal); d > 0 {
			return m + d
		}
	}
	if n == whole {
		return 0
	}
	return n
}

func integerLength(s string) int {
	if s[0] == '0' {
		if len(s) > 2 {
			if set := map[byte]string{'b': "01", 'o': "01234567", 'x': decimal + "abcdefABCDEF"}[s[1]|0x20]; set != "" {
				prefix := 2
				if s[2] == '_' {
					prefix = 3
				}
				if n := digits(s[prefix:], set); n > 0 {
					return prefix + n
				}
			}
		}
		return digits(s, "0")
	}
	return digits(s, decimal)
}

func (l *lexer) string(quote byte) {
	start := l.at
	for i := start + 1; i < len(l.source); i++ {
		switch l.source[i] {
		case '\\':
			i++
		case quote:
			l.at = i + 1
			l.emit(stringLiteral, unescape(l.source[start+1:i], start+1), start)
			return
		}
	}
	pyvalue.Fail(start, SyntaxFault, "unexpected char %q: the string does not end", quote)
}

func (l *lexer) operator() {
	rest := l.source[l.at:]
	length := 1
	for _, two := range []string{"//", "**", "==", "!=", ">=", "<="} {
		if strings.HasPrefix(rest, two) {
			length = 2
		}
	}
	text := rest[:length]
	if length == 1 && !strings.Contains("+-/*%~[](){}><=.:|,;", text) {
		r, _ := utf8.DecodeRuneInString(rest)
		pyvalue.Fail(l.at, SyntaxFault, "unexpected char %q", r)
	}
	switch text {
	case "(", "[", "{":
		l.brackets = append(l.brackets, map[string]byte{"(": ')', "[": ']', "{": '}'}[text])
	case ")", "]", "}":
		if len(l.brackets) == 0 {
			pyvalue.Fail(l.at, SyntaxFault, "unexpected '%s'", text)
		}
		last := len(l.brackets) - 1
		if want := l.brackets[last]; text[0] != want {
			pyvalue.Fail(l.at, SyntaxFault, "unexpected '%s', expected '%c'", text, want)
		}
		l.brackets = l.brackets[:last]
	}
	l.emit(operator, text, l.at)
	l.at += length
}

// isWord is Python's \w.
func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }
