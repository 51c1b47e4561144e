package toolcall

import (
	"strings"
	"testing"

	"hone/internal/chat"
)

// Calls of each form have marks, which are no more of them than need be, and no words have.
func TestMarks(t *testing.T) {
	want := map[string]string{"hermes": "<tool_call>", "mistral": "[TOOL_CALLS]", "mistral_v3": "[TOOL_CALLS]", "llama3_json": "{", "phi4_mini": "functools", "harmony": "to=functions.",
		"deepseek_v31": "<｜tool▁calls▁begin｜> <｜tool▁call▁begin｜>", "kimi_k2": "<|tool_calls_section_begin|> <|tool_call_begin|>"}
	for _, f := range All() {
		marks := strings.Join(f.Marks(), " ")
		if _, framed := f.Frame(); framed != (marks != "") || want[f.Name()] != "" && marks != want[f.Name()] {
			t.Errorf("%s: %q", f.Name(), marks)
		}
	}
}

// What a frame writes is read back as the call; two of them, where something stands between, as two.
func TestFrameIsReadBack(t *testing.T) {
	framed := map[string]bool{}
	for _, f := range All() {
		frame, ok := f.Frame()
		if !ok {
			continue
		}
		framed[f.Name()] = true
		call := func(arguments string) string { return frame.Open + "now" + frame.Middle + arguments + frame.Close }
		text, want := call(`{"zone": "UTC"}`), []string{`{"zone": "UTC"}`}
		if frame.Between != "" {
			text, want = text+frame.Between+call(`{}`), append(want, `{}`)
		}
		r := f.Parse(text, Options{Tools: []chat.Tool{{Name: "now"}}})
		if len(r.Calls) != len(want) || r.Err != "" || r.Content != "" {
			t.Errorf("%s: %q is read as %+v", f.Name(), text, r)
			continue
		}
		for i, c := range r.Calls {
			if c.Name != "now" || c.Arguments != want[i] {
				t.Errorf("%s: call %d of %q is %+v", f.Name(), i, text, c)
			}
		}
	}
	for _, name := range []string{"hermes", "llama3_json", "mistral", "phi4_mini", "deepseek_v31"} {
		if !framed[name] {
			t.Errorf("%s writes arguments as JSON, and has no frame", name)
		}
	}
	t.Log(framed)
}
