package toolcall

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Repair names one thing that was put right. RepairObject makes a JSON object out of what a model meant as one: it
// finds the object, mends its syntax, and says what it did, so that a reward can price it. A value that was valid JSON
// is never changed and none is invented: where two readings are possible (a string, a key or a number that breaks off,
// a bare word, NaN, two objects) the text is refused. One pass over the text for each of at most eight places where an
// object may begin, so the time is linear in the text.
type Repair string

// What RepairObject may do. The comment shows a text before the repair.
const (
	CodeFence        Repair = "code_fence"        // ```json {"a": 1} ```
	Prose            Repair = "prose"             // Sure: {"a": 1} there.
	TrailingComma    Repair = "trailing_comma"    // {"a": 1,}
	MissingComma     Repair = "missing_comma"     // {"a": 1 "b": 2}
	SingleQuotes     Repair = "single_quotes"     // {'a': 'x'}
	SmartQuotes      Repair = "smart_quotes"      // {“a”: “x”}
	UnquotedKey      Repair = "unquoted_key"      // {a: 1}
	PythonLiteral    Repair = "python_literal"    // {"a": True}
	Comment          Repair = "comment"           // {"a": 1 /* x */}
	MissingCloser    Repair = "missing_closer"    // {"a": [1
	ExtraCloser      Repair = "extra_closer"      // {"a": 1}}
	DoubleEncoded    Repair = "double_encoded"    // "{\"a\": 1}"
	ControlCharacter Repair = "control_character" // a line break inside a string
	BadEscape        Repair = "bad_escape"        // {"a": "C:\docs"}
	NumberForm       Repair = "number_form"       // {"a": +.5}
	EqualsSign       Repair = "equals_sign"       // {"a" = 1}
)

// What the readers of a wire form put right around the JSON.
const (
	IgnoredMember     Repair = "ignored_member"      // a member of a call that is neither its name nor its arguments
	MissingOuterTag   Repair = "missing_outer_tag"   // a call without the tag its form puts around it
	MissingClosingTag Repair = "missing_closing_tag" // a call whose closing tag did not come
	UnquotedString    Repair = "unquoted_string"     // a string without the form's quotes
	RepeatedID        Repair = "repeated_id"         // a call with the id of an earlier one
	// a call that leaves out its arguments, or has null or an empty text there: {}
	MissingArguments Repair = "missing_arguments"
)

const (
	maxStarts      = 8   // places where an object may begin
	maxObjectDepth = 256 // brackets in brackets
	maxDecode      = 2   // strings in strings
)

// RepairObject returns the JSON object in a text and what was put right. An object that is valid JSON comes back as it
// is, without what surrounds it; a repeated key is an error in it too. The error says why there is none.
func RepairObject(text string) (object string, repairs []Repair, err error) {
	if object, repairs, err = decode(text, maxDecode, false); err != nil {
		return "", nil, err
	}
	return object, repairs, nil
}

// decode is Object for a text in a text. ended tells that something stood behind it, so that its last word is whole.
func decode(text string, decodes int, ended bool) (string, []Repair, error) {
	var kinds []Repair
	text = strings.TrimPrefix(text, "\ufeff")
	ended = ended || strings.TrimRight(text, " \t\r\n") != text
	text = strings.TrimSpace(text)
	if inner, ok := unfence(text); ok {
		ended = ended || strings.HasSuffix(text, "```")
		text = inner
		kinds = append(kinds, CodeFence)
	}
	if value := jsontext.Value(text); value.IsValid() {
		switch value.Kind() {
		case '{':
			return text, kinds, nil
		case '"':
			inner, err := jsontext.AppendUnquote(nil, text)
			if err != nil || decodes == 0 {
				return "", nil, errors.New("a JSON string, not an object")
			}
			object, more, err := decode(string(inner), decodes-1, true)
			return object, append(append(kinds, DoubleEncoded), more...), err
		}
		return "", nil, errors.New("JSON, but not an object")
	}
	if isEscaped(text) && decodes > 0 {
		if inner, err := jsontext.AppendUnquote(nil, `"`+text+`"`); err == nil {
			object, more, err := decode(string(inner), decodes-1, ended)
			return object, append(append(kinds, DoubleEncoded), more...), err
		}
	}
	object, more, err := findObject(text, ended)
	return object, append(kinds, more...), err
}

// isEscaped reports whether the text is an object's JSON as it stands inside a JSON string, the outer quotes lost.
func isEscaped(text string) bool {
	inner, ok := strings.CutPrefix(text, "{")
	return ok && strings.HasPrefix(strings.TrimSpace(inner), `\"`)
}

// unfence returns what stands in the first code fence, if it holds an object. A fence that is not closed ends with
// the text. Fences inside an object are its own text.
func unfence(text string) (string, bool) {
	before, rest, ok := strings.Cut(text, "```")
	if !ok || strings.Contains(before, "{") {
		return "", false
	}
	language, body, ok := strings.Cut(rest, "\n")
	if !ok || strings.Contains(language, "{") {
		body = strings.TrimPrefix(strings.TrimPrefix(rest, "json"), "JSON")
	}
	if end := strings.LastIndex(body, "```"); end >= 0 {
		body = body[:end]
	}
	body = strings.TrimSpace(body)
	return body, strings.HasPrefix(body, "{")
}

// findObject mends the first object in the text that can be. Where none can, the error is the first one's.
func findObject(text string, ended bool) (string, []Repair, error) {
	var first error
	at := 0
	for range maxStarts {
		next := strings.IndexByte(text[at:], '{')
		if next < 0 {
			break
		}
		at += next
		m := mender{text: text, at: at, ended: ended}
		before := strings.TrimSpace(text[:at])
		object, err := m.objectBehind(before)
		if err == nil {
			if err := m.around(before); err != nil {
				return "", nil, err
			}
			return object, m.kinds, nil
		}
		if first == nil {
			first = err
		}
		at++
		if strings.HasPrefix(strings.TrimLeft(text[at:], " \t\r\n"), `"`) {
			break // no braces of prose: what stands behind is a second object
		}
	}
	if first == nil {
		first = errors.New("no object begins in it")
	}
	return "", nil, first
}

// mender copies an object and mends it on the way.
type mender struct {
	text  string
	at    int
	out   []byte
	depth int
	kinds []Repair
	ended bool // the text's last word is whole
}

func (m *mender) did(k Repair) {
	if !slices.Contains(m.kinds, k) {
		m.kinds = append(m.kinds, k)
	}
}

// objectBehind is object, unless what stands before it makes it a part of something else.
func (m *mender) objectBehind(before string) (string, error) {
	if open(before, false) || open(before, true) ||
		strings.HasSuffix(before, ":") && strings.ContainsAny(before, `{"'`) {
		return "", errors.New("the object is part of another value")
	}
	return m.object()
}

// open reports whether a bracket is open at the end of a text, those in double quotes counted or not: in prose quotes
// may mean anything.
func open(text string, quotes bool) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"' && quotes:
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth = max(0, depth-1)
		}
	}
	return depth > 0
}

func (m *mender) object() (string, error) {
	if err := m.value(); err != nil {
		return "", err
	}
	if value := jsontext.Value(m.out); !value.IsValid() || value.Kind() != '{' {
		return "", errors.New("a key is repeated, or a string is no text")
	}
	return string(m.out), nil
}

// around judges what surrounds the object: closing brackets too many, prose, or a second object, which is refused.
func (m *mender) around(before string) error {
	rest := strings.TrimSpace(m.text[m.at:])
	if trimmed := strings.TrimLeft(rest, "}] \t\r\n"); len(trimmed) < len(rest) {
		m.did(ExtraCloser)
		rest = trimmed
	}
	at := 0
	for range maxStarts {
		next := strings.IndexByte(rest[at:], '{')
		if next < 0 {
			break
		}
		second := mender{text: rest, at: at + next, ended: m.ended}
		if _, err := second.object(); err == nil {
			return errors.New("there are two objects")
		}
		at += next + 1
	}
	if before != "" || rest != "" {
		m.did(Prose)
	}
	return nil
}

func (m *mender) value() error {
	if m.at >= len(m.text) {
		return errors.New("a value is missing")
	}
	rest := m.text[m.at:]
	switch c := rest[0]; {
	case c == '{' || c == '[':
		return m.composite(c)
	case c == '"' || c == '\'' || smartQuote(rest) > 0:
		return m.str()
	case c == '-' || c == '+' || c == '.' || c >= '0' && c <= '9':
		return m.number()
	}
	return m.literal()
}

// composite copies an object or an array. At the end of the text it is closed.
func (m *mender) composite(open byte) error {
	if m.depth++; m.depth > maxObjectDepth {
		return fmt.Errorf("more than %d brackets in brackets", maxObjectDepth)
	}
	defer func() { m.depth-- }()
	closer := open + 2 // '{' and '}', '[' and ']' are two apart
	m.out = append(m.out, open)
	m.at++
	comma, mark := true, 0 // mark is where the last comma stands in out
	end := m.at            // of the last member
	for first := true; ; first = false {
		if err := m.blank(); err != nil {
			return err
		}
		switch {
		case m.at == len(m.text), m.text[m.at] != closer && strings.IndexByte("}]", m.text[m.at]) >= 0:
			// The end, or the closer of an outer bracket.
			if m.at < len(m.text) && m.depth == 1 {
				return errors.New("brackets do not match")
			}
			m.did(MissingCloser)
		case m.text[m.at] == closer:
			m.at++
		default:
			if !comma {
				if err := m.addComma(open, end); err != nil {
					return err
				}
			}
			if err := m.member(open); err != nil {
				return err
			}
			end = m.at
			if err := m.blank(); err != nil {
				return err
			}
			if comma = m.at < len(m.text) && m.text[m.at] == ','; comma {
				mark = len(m.out)
				m.out = append(m.out, ',')
				m.at++
			}
			continue
		}
		if comma && !first {
			m.did(TrailingComma)
			m.out = slices.Delete(m.out, mark, mark+1)
		}
		m.out = append(m.out, closer)
		return nil
	}
}

// addComma puts a comma behind the member that ended at a place. Two strings on one line may be one whose quotes were
// not escaped, and so may a string and a bare word; they are refused.
func (m *mender) addComma(open byte, end int) error {
	next := m.text[m.at]
	sameLine := !strings.Contains(m.text[end:m.at], "\n")
	last := m.text[end-1]
	if afterString := last == '"' || last == '\'' || last >= 0x80; afterString && sameLine &&
		(open == '[' || next != '"') {
		return errors.New("a string is followed by something that may belong to it")
	}
	m.did(MissingComma)
	m.out = append(m.out, ',')
	return nil
}

// member copies an element, or a key and its value.
func (m *mender) member(open byte) error {
	if open == '[' {
		return m.value()
	}
	if err := m.key(); err != nil {
		return err
	}
	if err := m.blank(); err != nil {
		return err
	}
	switch {
	case m.at < len(m.text) && m.text[m.at] == ':':
	case m.at < len(m.text) && m.text[m.at] == '=':
		m.did(EqualsSign)
	default:
		return errors.New("a key has no value")
	}
	m.at++
	m.out = append(m.out, ':')
	if err := m.blank(); err != nil {
		return err
	}
	return m.value()
}

// blank copies white space and leaves out comments.
func (m *mender) blank() error {
	for m.at < len(m.text) {
		rest := m.text[m.at:]
		end := 0
		switch {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			m.out = append(m.out, rest[0])
			m.at++
			continue
		case strings.HasPrefix(rest, "//") || rest[0] == '#':
			if end = strings.IndexByte(rest, '\n'); end < 0 {
				end = len(rest)
			}
		case strings.HasPrefix(rest, "/*"):
			if end = strings.Index(rest, "*/"); end < 0 {
				return errors.New("a comment does not end")
			}
			end += len("*/")
		default:
			return nil
		}
		m.did(Comment)
		m.at += end
	}
	return nil
}

func (m *mender) key() error {
	rest := m.text[m.at:]
	if rest[0] == '"' || rest[0] == '\'' || smartQuote(rest) > 0 {
		return m.str()
	}
	end := 0
	for end < len(rest) && wordByte(rest[end]) {
		end++
	}
	if end == 0 {
		return fmt.Errorf("no key at %.20q", rest)
	}
	m.did(UnquotedKey)
	m.out, _ = jsontext.AppendQuote(m.out, rest[:end])
	m.at += end
	return nil
}

func wordByte(c byte) bool {
	return c == '_' || c == '-' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' ||
		c >= 'A' && c <= 'Z' || c >= 0x80
}

// literal copies true, false and null, and understands Python's.
func (m *mender) literal() error {
	rest := m.text[m.at:]
	end := 0
	for end < len(rest) && wordByte(rest[end]) {
		end++
	}
	word := rest[:end]
	switch word {
	case "true", "false", "null":
	case "True", "False":
		m.did(PythonLiteral)
		word = strings.ToLower(word)
	case "None":
		m.did(PythonLiteral)
		word = "null"
	default:
		return fmt.Errorf("no value at %.20q", rest)
	}
	m.out = append(m.out, word...)
	m.at += end
	return nil
}

// number copies a number. A sign and a point without digits around it are mended; the digits stay. One that the text
// ends with is refused: how many digits were to come is not known.
func (m *mender) number() error {
	rest := m.text[m.at:]
	end := 0
	for end < len(rest) && (strings.IndexByte("+-.", rest[end]) >= 0 || wordByte(rest[end])) {
		end++
	}
	word := rest[:end]
	if end == len(rest) && !m.ended {
		return errors.New("a number may break off")
	}
	mended := strings.TrimPrefix(word, "+")
	sign := ""
	if strings.HasPrefix(mended, "-") {
		sign, mended = "-", mended[1:]
	}
	if strings.HasPrefix(mended, ".") {
		mended = "0" + mended
	}
	if whole, ok := strings.CutSuffix(mended, "."); ok {
		mended = whole + ".0"
	}
	mended = sign + mended
	if value := jsontext.Value(mended); !value.IsValid() || value.Kind() != '0' {
		return fmt.Errorf("no number at %.20q", rest)
	}
	if mended != word {
		m.did(NumberForm)
	}
	m.out = append(m.out, mended...)
	m.at += end
	return nil
}

// smartQuote is the length of a typographic double or single quote at the front of text.
func smartQuote(text string) int {
	for _, q := range []string{"“", "”", "„", "‘", "’"} {
		if strings.HasPrefix(text, q) {
			return len(q)
		}
	}
	return 0
}

// closingOf tells where a string that began with a quote may end.
func closingOf(opener string) []string {
	switch opener {
	case "“", "”", "„":
		return []string{"”", "“"}
	case "‘", "’":
		return []string{"’", "‘"}
	}
	return []string{opener}
}

// str copies a string. One that does not end is refused: how it went on is not known.
func (m *mender) str() error {
	size := max(1, smartQuote(m.text[m.at:]))
	opener := m.text[m.at : m.at+size]
	switch {
	case opener == "'":
		m.did(SingleQuotes)
	case size > 1:
		m.did(SmartQuotes)
	}
	closers := closingOf(opener)
	m.at += size
	m.out = append(m.out, '"')
	for m.at < len(m.text) {
		rest := m.text[m.at:]
		for _, c := range closers {
			if strings.HasPrefix(rest, c) {
				m.at += len(c)
				m.out = append(m.out, '"')
				return nil
			}
		}
		switch c := rest[0]; {
		case c == '\\':
			if err := m.escape(rest); err != nil {
				return err
			}
		case c == '"':
			m.out = append(m.out, '\\', '"')
			m.at++
		case c < 0x20:
			m.did(ControlCharacter)
			quoted, _ := jsontext.AppendQuote(nil, rest[:1])
			m.out = append(m.out, bytes.Trim(quoted, `"`)...)
			m.at++
		default:
			m.out = append(m.out, c)
			m.at++
		}
	}
	return errors.New("a string does not end")
}

// escape copies an escape. A backslash that begins none is itself what was meant, as in a Windows path or a pattern.
func (m *mender) escape(rest string) error {
	if len(rest) < 2 {
		return errors.New("a string does not end")
	}
	switch c := rest[1]; {
	case strings.IndexByte(`"\/bfnrt`, c) >= 0, c == 'u' && hexDigits(rest[2:], 4):
		m.out = append(m.out, '\\', c)
	case c == '\'':
		m.did(BadEscape)
		m.out = append(m.out, c)
	case c == 'x' && hexDigits(rest[2:], 2) || c == '\n' || c == '\r':
		return fmt.Errorf("%.4q may be an escape of another language", rest)
	default:
		m.did(BadEscape)
		m.out = append(m.out, '\\', '\\')
		m.at++
		return nil
	}
	m.at += 2
	return nil
}

func hexDigits(text string, n int) bool {
	if len(text) < n {
		return false
	}
	for _, c := range []byte(text[:n]) {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
			return false
		}
	}
	return true
}
