package render

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/chat"
	"hone/internal/text/toolcall"
)

// rewrittenVendors are templates of several kinds in each form that hone writes; ChatML's comes first.
func rewrittenVendors(t *testing.T) map[string]*Vendor {
	t.Helper()
	sources := map[string]string{
		"chatml": newChatML(t, Options{ToolFormat: ToolsJSON, System: "Be of use."}).Template(),
	}
	for _, name := range []string{"thinker", "opens", "moves"} {
		text, err := os.ReadFile(own(name))
		if err != nil {
			t.Fatal(err)
		}
		sources[name] = string(text)
	}
	vendors := map[string]*Vendor{}
	for name, source := range sources {
		for _, form := range []string{"llama3_json", "hermes"} {
			if form == "hermes" && name != "chatml" { // which differs in texts alone
				continue
			}
			f, err := toolcall.ByName(form)
			if err != nil {
				t.Fatal(err)
			}
			text, ok := Rewritten(source, f)
			if !ok {
				t.Fatalf("%s is not written", form)
			}
			tok := extended(t, append(specialForm.FindAllString(source, -1), "<s>", "</s>")...)
			v, err := NewVendor(tok, VendorOptions{Template: text, BOS: "<s>", EOS: "</s>", Format: f})
			if err != nil {
				t.Fatalf("%s, %s: %v", name, form, err)
			}
			vendors[filepath.Join(name, form)] = v
		}
	}
	return vendors
}

// Prompts extend, and what is trained is what is sampled, in templates that were given another form of calls.
func TestPromptsOfRewrittenExtend(t *testing.T) {
	for name, v := range rewrittenVendors(t) {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				checkSequences(t, v, dialogues(hostile, 2).Draw(t, "dialogue"), twoTools)
			})
		})
	}
}

// Content yields no added token where it is moved into other messages, either.
func TestContentOfRewrittenYieldsNoAddedToken(t *testing.T) {
	checkAddedTokens(t, rewrittenVendors(t)["chatml/llama3_json"])
}

// Parsing inverts rendering, and renders as the form itself writes.
func TestReadInvertsRewritten(t *testing.T) {
	for name, v := range rewrittenVendors(t) {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				for _, m := range dialogues(mild, 2).Draw(t, "dialogue") {
					if m.Role != chat.Assistant {
						continue
					}
					ids, err := v.Completion(m)
					if err != nil {
						t.Fatal(err)
					}
					r := v.Read(ids, ReadOptions{Tools: twoTools})
					said := strings.TrimSpace(r.Content) == strings.TrimSpace(m.Content) &&
						strings.TrimSpace(r.Reasoning) == strings.TrimSpace(m.ReasoningContent)
					if !said || r.Err != "" || !slices.EqualFunc(r.Calls, m.ToolCalls, sameCall) {
						t.Fatalf("%q is read as %+v, want %+v", v.tok.Decode(ids), r, m)
					}
				}
			})
		})
	}
}

// A template that has no place for reasoning gets one in its text, and a model of it does not count as one that thinks.
func TestRewrittenReasons(t *testing.T) {
	m := chat.Message{Role: chat.Assistant, ReasoningContent: "3 + 4 = 7", Content: "7"}
	for name, thinks := range map[string]bool{"chatml/llama3_json": false, "thinker/llama3_json": true} {
		v := rewrittenVendors(t)[name]
		ids, err := v.Completion(m)
		if err != nil {
			t.Fatal(err)
		}
		if text := v.tok.Decode(ids); !strings.HasPrefix(text, "<think>\n3 + 4 = 7\n</think>\n\n7") {
			t.Errorf("%s writes %q", name, text)
		}
		if Thinks(v) != thinks {
			t.Errorf("%s thinks: %v", name, Thinks(v))
		}
	}
}

// Writes tells which form a template's calls are in by reading one; Rewritten's are in the form asked for.
func TestWritesItsForm(t *testing.T) {
	chatml := newChatML(t, Options{ToolFormat: ToolsJSON}).Template()
	for _, form := range []string{"llama3_json", "hermes", "qwen3_coder"} {
		f, err := toolcall.ByName(form)
		if err != nil {
			t.Fatal(err)
		}
		if got := Writes(chatml, f); got != (form == "hermes") {
			t.Errorf("ChatML writes %s: %v", form, got)
		}
		text, ok := Rewritten(chatml, f)
		if ok != (form != "qwen3_coder") || ok && !Writes(text, f) {
			t.Errorf("%s: rewritten %v, which writes it: %v", form, ok, Writes(text, f))
		}
	}
	bare, err := toolcall.ByName("llama3_json")
	if err != nil {
		t.Fatal(err)
	}
	const unmarked = `{% for m in messages %}{{ '<|user|>' + m.content }}{% for c in m.tool_calls or [] %}` +
		`{{ '{' + '"' + 'name": "' + c.function.name + '", ' + '"' + 'parameters": ' + c.function.arguments | tojson + '}' }}` +
		`{% endfor %}{% endfor %}`
	if !Writes(unmarked, bare) {
		t.Error("a form that the template's text does not tell is not read")
	}
	if text, _ := Rewritten(chatml, bare); Writes(text, toolcall.Hermes()) {
		t.Error("bare JSON counts as Hermes' form")
	}
	if Writes("{% for m in messages %}{{ m.content }}{% endfor %}", toolcall.Hermes()) ||
		Writes("{{", toolcall.Hermes()) {
		t.Error("a template without calls writes them")
	}
}
