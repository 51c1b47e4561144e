package job

import (
	"testing"

	"hone/internal/text/render"
	"hone/internal/text/tokenizer"
)

// The system message of an old adapter is read from the template beside it.
func TestTemplateSystemReadsWhatTemplateWrote(t *testing.T) {
	tok, err := tokenizer.New(tokenizer.Options{Tokens: []string{"<|im_start|>", "<|im_end|>", "a"}, Types: []int32{3, 3, 1}})
	if err != nil {
		t.Fatal(err)
	}
	for _, system := range []string{"Call a tool.", "it's \\ two\nlines", `\n is no newline, ' %} no end`} {
		r, err := render.NewChatML(tok, render.Options{System: system})
		if err != nil {
			t.Fatal(err)
		}
		if got := templateSystem(r.Template()); got != system {
			t.Errorf("got %q, want %q", got, system)
		}
	}
	if got := templateSystem("{{ messages }}"); got != "" {
		t.Errorf("found %q in a foreign template", got)
	}
}
