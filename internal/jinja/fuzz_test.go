package jinja

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"hone/internal/chat"
	"hone/internal/fault"
)

// FuzzTemplate feeds any text as a template and any JSON as its values: it ends, does not panic, blames a line that is
// there, and gives the same result twice.
func FuzzTemplate(f *testing.F) {
	file := readJSON(f, "cases.json")
	data, err := chat.AppendJSON(nil, member[*chat.Object](file, "values"), chat.Format{KeepNumbers: true})
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range member[[]chat.Value](file, "cases") {
		f.Add(member[string](c.(*chat.Object), "template"), data)
	}
	own, err := os.ReadFile(filepath.Join(goldenDir, ownTemplate))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(
		string(own), []byte(
			`{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": null}], "tools": [{}]}`,
		),
	)
	f.Fuzz(func(t *testing.T, source string, data []byte) {
		decoded, err := chat.Decode(data, chat.DecodeOptions{})
		values, ok := decoded.(*chat.Object)
		if err != nil || !ok {
			values = chat.NewObject("messages", decoded)
		}
		compiled, err := CompileWith("fuzz", source, Options{Limits: Limits{Steps: 20_000, Bytes: 1 << 20, Depth: 30}})
		if err != nil {
			blames(t, err, source)
			return
		}
		text, spans, err := compiled.Render(Values{Variables: values})
		if err != nil {
			blames(t, err, source)
		}
		if !utf8.ValidString(text) {
			t.Fatalf("%q is not UTF-8", text)
		}
		end := 0
		for _, s := range spans {
			if s.Start < end || s.End < s.Start || s.End > len(text) && err == nil {
				t.Fatalf("spans %v in %d bytes", spans, len(text))
			}
		}
		if again, _, other := compiled.Render(Values{Variables: values}); again != text ||
			(other == nil) != (err == nil) || err != nil && other.Error() != err.Error() {
			t.Fatalf("%q (%v), then %q (%v)", text, err, again, other)
		}
	})
}

func blames(t *testing.T, err error, source string) {
	t.Helper()
	var e *Error
	var user *fault.Error
	if !errors.As(err, &e) || !errors.As(err, &user) || e.Class == "" || e.Line < 1 || e.Column < 1 ||
		e.Column > len(source)+1 || err.Error() == "" {
		t.Fatalf("the error %#v", err)
	}
}
