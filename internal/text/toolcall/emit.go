package toolcall

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/chat"
)

// emitter collects the text of a message.
type emitter struct{ out []byte }

func (w *emitter) text(parts ...string) {
	for _, p := range parts {
		w.out = append(w.out, p...)
	}
}

// refuse is an error if a text holds what the form would read as its own.
func refuse(c chat.ToolCall, text string, marks ...string) error {
	for _, m := range marks {
		if strings.Contains(text, m) {
			return fmt.Errorf("tool call %q: this form cannot carry %q inside a call", c.Name, m)
		}
	}
	return nil
}

// jsonObject writes {"name": ..., KEY: {...}}, spaced as Python's json.dumps does.
func jsonObject(c chat.ToolCall, key string, more string) string {
	return `{"name": ` + quote(c.Name) + `, "` + key + `": ` + c.Arguments + more + `}`
}

// untyped calls write for each argument, a string as its text and anything else as its JSON.
func untyped(c chat.ToolCall, write func(name, text string, isString bool) error, marks ...string) error {
	all, err := members(c.Arguments)
	if err != nil {
		return err
	}
	if !isName(c.Name) {
		return fmt.Errorf("tool call %q: this form cannot carry the name", c.Name)
	}
	for _, m := range all {
		text, isString := string(m.value), m.value.Kind() == '"'
		if isString {
			if text, err = unquote(m.value, m.name); err != nil {
				return err
			}
		}
		if m.name == "" || strings.TrimSpace(m.name) != m.name {
			return fmt.Errorf("tool call %q: this form cannot carry an argument called %q", c.Name, m.name)
		}
		if err := refuse(c, m.name, append(marks, ">", "\"", "\n", "<")...); err != nil {
			return err
		}
		if err := refuse(c, text, marks...); err != nil {
			return err
		}
		if err := write(m.name, text, isString); err != nil {
			return err
		}
	}
	return nil
}

// literals is how a form writes JSON values inside a call.
type literals struct {
	null, yes, no string
	str           func(text string) (string, error)
	key           func(name string) (string, error)
	colon, comma  string
	sorted        bool // members in the order of Jinja's dictsort
}

// value writes a JSON value in the form's literals; numbers keep their text.
func (l *literals) value(w *emitter, v jsontext.Value) error {
	switch v.Kind() {
	case 'n':
		w.text(l.null)
	case 't':
		w.text(l.yes)
	case 'f':
		w.text(l.no)
	case '"':
		text, err := unquote(v, "string")
		if err != nil {
			return err
		}
		if text, err = l.str(text); err != nil {
			return err
		}
		w.text(text)
	case '{':
		w.text("{")
		if err := l.object(w, v); err != nil {
			return err
		}
		w.text("}")
	case '[':
		return l.array(w, v)
	default:
		w.text(string(v))
	}
	return nil
}

// object writes the members of an object without the braces.
func (l *literals) object(w *emitter, v jsontext.Value) error {
	all, err := members(string(v))
	if err != nil {
		return err
	}
	if l.sorted {
		slices.SortStableFunc(all, func(a, b member) int {
			return strings.Compare(strings.ToLower(a.name), strings.ToLower(b.name))
		})
	}
	for i, m := range all {
		if i > 0 {
			w.text(l.comma)
		}
		key, err := l.key(m.name)
		if err != nil {
			return err
		}
		w.text(key, l.colon)
		if err := l.value(w, m.value); err != nil {
			return err
		}
	}
	return nil
}

func (l *literals) array(w *emitter, v jsontext.Value) error {
	dec := jsontext.NewDecoder(strings.NewReader(string(v)))
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	w.text("[")
	for i := 0; dec.PeekKind() != ']'; i++ {
		item, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if i > 0 {
			w.text(l.comma)
		}
		if err := l.value(w, item); err != nil {
			return err
		}
	}
	w.text("]")
	return nil
}

// bareKey is for forms that write keys without quotes.
func bareKey(name string) (string, error) {
	if name == "" || strings.ContainsAny(name, ":,{}[]<>|\"'` \t\r\n") {
		return "", errors.New("this form cannot carry an argument called " + quote(name))
	}
	return name, nil
}
