package render

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hone/internal/chat"
	"hone/internal/text/toolcall"
)

// trainedRenderers are renderers of all templates of the text layer, as a run with a system message and variables has
// them.
func trainedRenderers(t *testing.T) map[string]Renderer {
	const system = "Use the tools;\nit's \\ \"best\" 世界."
	all := map[string]Renderer{
		"chatml, compact": newChatML(t, Options{System: system}),
		"chatml, json":    newChatML(t, Options{System: system, ToolFormat: ToolsJSON}),
		"chatml, plain":   newChatML(t, Options{}),
	}
	with := func(o *VendorOptions) { o.System = system }
	for _, path := range append(ownTemplates(), own("channels")) {
		all[filepath.Base(path)] = newVendor(t, path, with)
	}
	all["variables"] = newVendor(t, own("thinker"), func(o *VendorOptions) {
		with(o)
		o.Variables = chat.NewObject("enable_thinking", false)
	})
	all["dated"] = newVendor(t, own("thinker"), func(o *VendorOptions) {
		with(o)
		o.Template = "{{ strftime_now('%d %b %Y') + strftime_now(\"%H'\") }}" + o.Template
	})
	if *reference == "" {
		return all
	}
	files, err := filepath.Glob(filepath.Join(*reference, "*", "*.jinja"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no templates in %s: %v", *reference, err)
	}
	for _, path := range files {
		// Mistral Nemo's writes the system message before the last user message only, so that what was sampled is no
		// part of what it writes later. It is refused.
		if strings.Contains(path, "Mistral-Nemo-Instruct-2407") {
			continue
		}
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, known := toolcall.Detect(string(source)); known && KnowsTools(string(source)) {
			all[filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path)] = newVendor(t, path, with)
		}
	}
	return all
}

// What a model is served under is what it was trained under, id for id: by hone from the adapter's folder, and by a
// server that knows nothing but chat_template.jinja and runs on another day.
func TestServedAsTrained(t *testing.T) {
	draw := dialogues(mild, 1)
	for name, trained := range trainedRenderers(t) {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := Save(dir, trained); err != nil {
				t.Fatal(err)
			}
			p, found, err := ReadPrompting(dir)
			if err != nil || !found {
				t.Fatal(found, err)
			}
			v := vocabularyOf(trained)
			again, err := p.Renderer(v, "again")
			if err != nil {
				t.Fatal(err)
			}
			exported, err := os.ReadFile(filepath.Join(dir, TemplateFile))
			if err != nil {
				t.Fatal(err)
			}
			other, err := NewVendor(v.Tokenizer, VendorOptions{Template: string(exported), BOS: v.BOS, EOS: v.EOS,
				Format: formatOf(trained), Now: time.Date(2031, time.May, 6, 7, 8, 9, 0, time.UTC)})
			if err != nil {
				t.Fatal(err)
			}
			compared := 0
			for seed := range 12 {
				messages := spaced(draw.Example(seed))
				rows, err := trained.Sequences(messages, 0, twoTools)
				if err != nil {
					continue // some templates refuse content beside calls, or reasoning beside content
				}
				for _, row := range rows {
					for _, span := range row.Spans {
						if messages[span.Message].Role != chat.Assistant ||
							!slices.Contains(row.Trained[span.Start:span.End], true) {
							continue
						}
						compared++
						want := row.IDs[:span.Start]
						for server, r := range map[string]Renderer{"hone": again, "another": other} {
							got, err := r.Prompt(messages[:span.Message], twoTools)
							if err != nil || !slices.Equal(got, want) {
								t.Fatalf("%s: message %d of %d is served behind\n%q (%v), trained behind\n%q",
									server, span.Message, seed, v.Tokenizer.Decode(got), err, v.Tokenizer.Decode(want))
							}
						}
					}
				}
			}
			if compared < 10 {
				t.Errorf("only %d prompts were compared", compared)
			}
		})
	}
}

// spaced writes the arguments of calls as Python does: another server reads them and writes them again.
func spaced(messages []chat.Message) []chat.Message {
	for _, m := range messages {
		for i := range m.ToolCalls {
			m.ToolCalls[i].Arguments = strings.ReplaceAll(m.ToolCalls[i].Arguments, `:"`, `: "`)
		}
	}
	return messages
}

func vocabularyOf(r Renderer) Vocabulary {
	v := r.(*Vendor)
	return Vocabulary{v.tok, v.options.BOS, v.options.EOS}
}

func formatOf(r Renderer) toolcall.Format { return r.(*Vendor).format }

func TestPromptingThatCannotBeRead(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                        "not an object",
		`{"prompt": 3}`:             `no object "prompt"`,
		`{"prompt": {}}`:            `one of "chat_template" and "tool_list"`,
		`{"prompt": {"x": 1}}`:      `unknown key "x"`,
		`{"prompt": {"system": 1}}`: `"system" is of another type`,
		`{"prompt"`:                 "not JSON",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, PromptingFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := ReadPrompting(dir); !isUsage(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, found, err := ReadPrompting(t.TempDir()); found || err != nil {
		t.Error(found, err)
	}
}
