package llm

import (
	"slices"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/text/toolcall"
)

// Each form in which hone writes calls is known again in a text, by its name, with flags of a server that reads it.
func TestUnreadCallKnowsAllForms(t *testing.T) {
	same := map[string]string{"mistral_v3": "mistral"} // which differ behind the mark
	rest := []string{"functiongemma"}                  // of which no server has a parser in both tables
	for _, f := range toolcall.All() {
		if slices.Contains(rest, f.Name()) {
			continue
		}
		text, err := f.Emit("", []chat.ToolCall{{ID: "call00000", Name: "look", Arguments: `{"name": "hat"}`}})
		if err != nil {
			t.Errorf("%s: %v", f.Name(), err)
			continue
		}
		want := f.Name()
		if w, ok := same[want]; ok {
			want = w
		}
		if m, ok := UnreadCall(text, "look"); !ok || m.Name != want || !strings.Contains(m.Mend(), "--tool-call-parser ") {
			t.Errorf("%s: %q is told as %+v, %v", f.Name(), text, m, ok)
		}
	}
	if m, ok := UnreadCall("A tool call is a call of a tool, as look(name).", "look"); ok {
		t.Errorf("%+v", m)
	}
}

// Reasoning that is left in a text is told from it, with flags.
func TestUnsplitReasoning(t *testing.T) {
	for text, want := range map[string]string{"<think>hm</think>Yes.": "SGLang with --reasoning-parser deepseek-r1", "hm[/THINK]Yes.": "SGLang with --reasoning-parser mistral",
		"<|channel|>analysis<|message|>hm": "vLLM with --reasoning-parser openai_gptoss"} {
		if m, ok := UnsplitReasoning(text); !ok || !strings.Contains(m.Mend(), want) {
			t.Errorf("%q: %q", text, m.Mend())
		}
	}
	if _, ok := UnsplitReasoning("I think so."); ok {
		t.Error("no reasoning")
	}
}
