package local

import (
	"errors"
	"os"
	"slices"
	"testing"

	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/text/render"
	"hone/internal/text/tokenizer"
)

// The system message of an old adapter is read from the template beside it.
func TestTemplateSystemReadsWhatTemplateWrote(t *testing.T) {
	tok, err := tokenizer.New(tokenizer.Options{Tokens: []string{"<|im_start|>", "<|im_end|>", "a"},
		Types: []int32{3, 3, 1}})
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

// An adapter is served at the length that its run trained at, from wherever in the run it is taken; another, and a base
// model, at 1024.
func TestServedAtTheTrainedLength(t *testing.T) {
	t.Chdir(t.TempDir())
	for file, text := range map[string]string{
		"out/version.json":         "{}",
		"out/config.resolved.yaml": "model: {context: 3072}\n",
	} {
		if err := errors.Join(os.MkdirAll("out", 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for adapter, want := range map[string]int{
		"out/final":                           3072,
		"out/checkpoints/grpo_step_1/adapter": 3072,
		"elsewhere/final":                     1024,
		"":                                    1024,
	} {
		if got := TrainingContext(adapter); got != want {
			t.Errorf("%s: %d, want %d", adapter, got, want)
		}
	}
}

// A name before the folder is the model's; else the folder's path is. Two of one name are refused.
func TestNamesOfAdapters(t *testing.T) {
	o := Options{Models: []string{"a=runs/x/final", "runs/y/../y/final", "base"}, Base: "b", Slots: 1}
	if _, err := o.check(nil); err != nil || len(o.adapters) != 2 ||
		o.adapters[0] != (adapterFolder{"a", "runs/x/final"}) || o.adapters[1].name != "runs/y/final" {
		t.Errorf("%+v, %v", o.adapters, err)
	}
	for _, models := range [][]string{{"a=x", "a=y"}, {"b=x"}} {
		o := Options{Models: models, Base: "b", Slots: 1}
		if _, err := o.check(nil); fault.CodeOf(err) != fault.CodeUsage {
			t.Errorf("%v: %v", models, err)
		}
	}
}

// A key that nobody could send, or that everybody could, is none.
func TestKeys(t *testing.T) {
	h := &host.Host{LookupEnv: func(name string) (string, bool) {
		return map[string]string{"A": "one", "B": "two"}[name], name < "D"
	}}
	if keys, err := Keys(h, []string{"A", "B"}); err != nil || !slices.Equal(keys, []string{"one", "two"}) {
		t.Errorf("%v, %v", keys, err)
	}
	for _, name := range []string{"", "C", "NONE"} {
		if keys, err := Keys(h, []string{"A", name}); fault.CodeOf(err) != fault.CodeUsage {
			t.Errorf("%q: %v, %v", name, keys, err)
		}
	}
}
