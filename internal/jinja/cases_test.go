package jinja

import (
	"errors"
	"testing"

	"hone/internal/chat"
	"hone/internal/jinja/pyvalue"
)

// TestCasesRenderAsInJinja runs our own templates, one for each rule of the language.
func TestCasesRenderAsInJinja(t *testing.T) {
	file := readJSON(t, "cases.json")
	values := Values{Variables: member[*chat.Object](file, "values"), Now: readNow(t, file)}
	cases := member[[]chat.Value](file, "cases")
	if len(cases) < 500 {
		t.Fatalf("only %d cases", len(cases))
	}
	for _, c := range cases {
		c := c.(*chat.Object)
		source := member[string](c, "template")
		text, spans, err := renderCase(source, values)
		var e *Error
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("%q: the error %v is no *Error", source, err)
		}
		want, address := member[string](c, "text"), member[bool](c, "address")
		class := member[string](c, "error")
		switch {
		case address:
			class = string(pyvalue.Unsupported)
		case class == "":
			if err != nil || text != want {
				t.Errorf("%q:\n got  %q (%v)\n want %q", source, text, err, want)
			}
			if got, want := spansText(spans), goldenSpans(c); got != want {
				t.Errorf("%q: spans %s, want %s", source, got, want)
			}
			continue
		}
		if e == nil || string(e.Class) != class {
			t.Errorf("%q: got %q (%v), want %s", source, text, err, class)
		} else if line := member[chat.Number](c, "line"); !address && line != "0" &&
			pyvalue.Plain(line) != int64(e.Line) {
			t.Errorf("%q: line %d, want %s", source, e.Line, line)
		}
	}
}

func renderCase(source string, values Values) (string, []Span, error) {
	compiled, err := Compile("case", source)
	if err != nil {
		return "", nil, err
	}
	return compiled.Render(values)
}

func spansText(spans []Span) string {
	list := []chat.Value{}
	for _, s := range spans {
		list = append(list, []chat.Value{int64(s.Start), int64(s.End)})
	}
	text, _ := chat.AppendJSON(nil, list, chat.Format{}) // integers have a JSON form
	return string(text)
}

func goldenSpans(c *chat.Object) string {
	spans := member[[]chat.Value](c, "spans")
	if spans == nil {
		spans = []chat.Value{}
	}
	text, _ := chat.AppendJSON(nil, spans, chat.Format{}) // it was read from JSON
	return string(text)
}
