package llm

import (
	"slices"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
	"hone/internal/text/toolcall"
)

// Each form in which models write calls is known again in a text, by its name, with flags of a server that reads it.
func TestUnreadCallKnowsAllForms(t *testing.T) {
	same := map[string]string{"mistral_v3": "mistral"} // which differ behind the mark
	rest := []string{"functiongemma"}                  // of which no server has a parser in both tables
	written := map[string]string{
		"hermes":       "<tool_call>\n{\"name\": \"look\", \"arguments\": {\"name\": \"hat\"}}\n</tool_call>",
		"qwen3_coder":  "<tool_call>\n<function=look>\n<parameter=name>\nhat\n</parameter>\n</function>\n</tool_call>",
		"glm45":        "<tool_call>look\n<arg_key>name</arg_key>\n<arg_value>hat</arg_value>\n</tool_call>",
		"minimax_m2":   "<minimax:tool_call>\n<invoke name=\"look\">\n<parameter name=\"name\">hat</parameter>\n</invoke>\n</minimax:tool_call>",
		"deepseek_v3":  "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>look\n```json\n{\"name\": \"hat\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
		"deepseek_v31": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>look<｜tool▁sep｜>{\"name\": \"hat\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
		"deepseek_v32": "\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"look\">\n<｜DSML｜parameter name=\"name\" " +
			"string=\"true\">hat</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
		"deepseek_v4": "\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"look\">\n<｜DSML｜parameter name=\"name\" " +
			"string=\"true\">hat</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
		"kimi_k2": "<|tool_calls_section_begin|><|tool_call_begin|>functions.look:0<|tool_call_argument_begin|" +
			">{\"name\": \"hat\"}<|tool_call_end|><|tool_calls_section_end|>",
		"lfm2":        "<|tool_call_start|>[look(name='hat')]<|tool_call_end|>",
		"olmo3":       "<function_calls>look(name=\"hat\")</function_calls>",
		"gemma4":      "<|tool_call>call:look{name:<|\"|>hat<|\"|>}<tool_call|>",
		"llama3_json": "{\"name\": \"look\", \"parameters\": {\"name\": \"hat\"}}",
		"pythonic":    "[look(name='hat')]",
		"mistral":     "[TOOL_CALLS]look[ARGS]{\"name\": \"hat\"}",
		"mistral_v3":  "[TOOL_CALLS][{\"name\": \"look\", \"arguments\": {\"name\": \"hat\"}, \"id\": \"call00000\"}]",
		"phi4_mini":   "functools[{\"name\": \"look\", \"arguments\": {\"name\": \"hat\"}}]",
		"harmony":     "<|channel|>commentary to=functions.look <|constrain|>json<|message|>{\"name\": \"hat\"}<|call|>",
	}
	for _, f := range toolcall.All() {
		if slices.Contains(rest, f.Name()) {
			continue
		}
		want := f.Name()
		if w, ok := same[want]; ok {
			want = w
		}
		text := written[f.Name()]
		if m, ok := UnreadCall(text, "look"); !ok || m.Name != want ||
			!strings.Contains(m.Mend(), "--tool-call-parser ") {
			t.Errorf("%s: %q is told as %+v, %v", f.Name(), text, m, ok)
		}
	}
	if m, ok := UnreadCall("A tool call is a call of a tool, as look(name).", "look"); ok {
		t.Errorf("%+v", m)
	}
}

// Reasoning that is left in a text is told from it, with flags.
func TestUnsplitReasoning(t *testing.T) {
	for text, want := range map[string]string{
		"<think>hm</think>Yes.":            "SGLang with --reasoning-parser deepseek-r1",
		"hm[/THINK]Yes.":                   "SGLang with --reasoning-parser mistral",
		"<|channel|>analysis<|message|>hm": "vLLM with --reasoning-parser openai_gptoss",
	} {
		if m, ok := UnsplitReasoning(text); !ok || !strings.Contains(m.Mend(), want) {
			t.Errorf("%q: %q", text, m.Mend())
		}
	}
	if _, ok := UnsplitReasoning("I think so."); ok {
		t.Error("no reasoning")
	}
}

func TestFormsOfAnswers(t *testing.T) {
	const lone, python = `{"name": "f", "arguments": {"a": 1}}`, "f(a=1)"
	call := trajectory.Turn{Content: lone, Calls: []chat.ToolCall{{Name: "f"}}}
	for _, x := range []struct {
		name  string
		turns []trajectory.Turn
		want  string
	}{
		{"none", []trajectory.Turn{{Content: "It is 1."}}, "0 of 1"},
		{"one", []trajectory.Turn{{Content: lone}, {Content: "It is 1."}}, "1 of 2 answers holds a call in another form, as Llama 3 (JSON alone)"},
		{"several forms", []trajectory.Turn{{Content: lone}, {Content: python}, {Content: lone}},
			"3 of 3 answers hold a call in another form, most as Llama 3 (JSON alone) (2)"},
		{"a call that was read", []trajectory.Turn{call, {Content: python}}, "1 of 1 answer holds a call in another form, as a call of Python"},
		{"a broken one of its own form", []trajectory.Turn{{Content: "<tool_call>{", ParseError: "it breaks off"}}, "0 of 1"},
	} {
		var f Forms
		f.Add(&trajectory.Trajectory{Tools: []chat.Tool{{Name: "f"}}, Turns: x.turns})
		if got := f.String(); !strings.HasPrefix(got, x.want) {
			t.Errorf("%s: %q", x.name, got)
		}
	}
}
