package job

import (
	"testing"

	"hone/internal/config"
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

// An adapter is served at the length that its run trained at, from wherever in the run it is taken; another, and a base model, at 1024.
func TestServedAtTheTrainedLength(t *testing.T) {
	t.Chdir(t.TempDir())
	c := config.Default()
	c.Model.Context = 3072
	dir, err := Env{Host: quiet(t)}.Create("out", c, Begun{Verb: "train"})
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	for adapter, want := range map[string]int{"out/final": 3072, "out/checkpoints/grpo_step_1/adapter": 3072, "elsewhere/final": 1024, BaseOnly: 1024} {
		if got := (ServeOptions{Model: adapter}).trainedAt(); got != want {
			t.Errorf("%s: %d, want %d", adapter, got, want)
		}
	}
}
