package toolcall

import (
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// CutObject returns what is there of a JSON object whose text a limit cut off: texts, lists and objects are closed
// where the text ends, and a member without its whole value is left out. The text of a whole object comes back as it
// is. ok is false where the text is no beginning of an object.
func CutObject(text string) (object string, ok bool) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "{}", true
	}
	if isObject(text) {
		return text, true
	}
	if text[0] != '{' {
		return "", false
	}
	open, places := structure(text)
	if object = withoutHalfEscape(text) + open.closers(); isObject(object) {
		return object, true
	}
	for i := len(places) - 1; i >= max(0, len(places)-maxPlaces) && begun.MatchString(text[places[i].at:]); i-- {
		if object = text[:places[i].at] + places[i].open.closers(); isObject(object) {
			return object, true
		}
	}
	return "", false
}

// begun is a member of which no value is there: of an object its key, or part of it, and a number or a word that may go
// on.
var begun = regexp.MustCompile(`^\s*,?\s*("([^"\\]|\\.)*\\?"?\s*(:\s*)?)?(-?[0-9.eE+-]*|[a-z]*)$`)

// maxPlaces are more than those behind which a value may be cut: the comma, and the bracket before it.
const maxPlaces = 3

func isObject(text string) bool {
	value := jsontext.Value(text)
	return value.IsValid() && value.Kind() == '{'
}

// unclosed are the brackets that are open, outermost first, and whether a string is.
type unclosed struct {
	open   string
	quoted bool
}

func (b unclosed) closers() string {
	var out []byte
	if b.quoted {
		out = append(out, '"')
	}
	for i := len(b.open) - 1; i >= 0; i-- {
		out = append(out, b.open[i]+2) // '{' and '}', '[' and ']' are two apart
	}
	return string(out)
}

// place is one where the text is whole but for brackets: before a comma, or behind an opening bracket.
type place struct {
	at   int
	open unclosed
}

func structure(text string) (b unclosed, places []place) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case b.quoted && c == '\\':
			i++
		case c == '"':
			b.quoted = !b.quoted
		case b.quoted:
		case c == '{' || c == '[':
			b.open += string(c)
			places = append(places, place{i + 1, b})
		case (c == '}' || c == ']') && b.open != "":
			b.open = b.open[:len(b.open)-1]
		case c == ',':
			places = append(places, place{i, b})
		}
	}
	return b, places
}

// withoutHalfEscape drops an escape that has only begun, and the half of a character.
func withoutHalfEscape(text string) string {
	if half := halfEscape.FindStringSubmatch(text); half != nil {
		text = text[:len(text)-len(half[1])]
	}
	return halfCharacter.ReplaceAllString(text, "$1")
}

var (
	halfEscape    = regexp.MustCompile(`(?:^|[^\\])(?:\\\\)*(\\(?:u[0-9a-fA-F]{0,3})?)$`)
	halfCharacter = regexp.MustCompile(`((?:^|[^\\])(?:\\\\)*)\\u[dD][89abAB][0-9a-fA-F]{2}$`)
)
