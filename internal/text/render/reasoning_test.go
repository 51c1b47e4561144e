package render

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/jinja"
)

// cached is a vendor's template; the test of it is skipped where nobody has fetched it.
func cached(name string) func(t *testing.T) string {
	return func(t *testing.T) string {
		path := filepath.Join(templatesDir(t), name)
		if _, err := os.Stat(path); err != nil {
			t.Skip(err)
		}
		return path
	}
}

func ours(name string) func(t *testing.T) string {
	return func(*testing.T) string { return own(name) }
}

// A model thinks whose template has a place for it and has not closed it in the prompt.
func TestThinks(t *testing.T) {
	for _, c := range []struct {
		template string
		change   func(*VendorOptions)
		want     bool
	}{{"thinker", nil, true}, {"thinker", noThinking, false}, {"opens", nil, true}, {"channels", nil, true},
		{"moves", nil, false}} {
		if got := Thinks(newVendor(t, own(c.template), c.change)); got != c.want {
			t.Errorf("%s: %v", c.template, got)
		}
	}
	if Thinks(nil) {
		t.Error("nothing thinks")
	}
}

// What a model thinks is in the message it is read as. Given back with the result of its call, the message is rendered
// as it was sampled: the prompt of the next turn is the last one's, the sampled ids, and the bridge.
func TestReasoningIsReadAndRenderedAgain(t *testing.T) {
	const hermesCall = "<tool_call>\n{\"name\": \"hash\", \"arguments\": {\"text\": \"a\"}}\n</tool_call>"
	const harmonyCall = " to=functions.hash<|channel|>commentary json<|message|>{\"text\": \"a\"}<|call|>"
	const deepseekCall = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>hash\n```json\n" +
		"{\"text\": \"a\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>"
	for _, c := range []struct {
		name     string
		template func(t *testing.T) string
		change   func(*VendorOptions)
		sampled  string
		want     chat.Message
		drops    bool // the template writes it otherwise in the next prompt, so that a row begins anew
	}{
		{name: "like Qwen3", template: ours("thinker"), sampled: "<think>\nHm.\n</think>\n\n" + hermesCall + "<|end|>",
			want: chat.Message{ReasoningContent: "Hm."}},
		{name: "like Qwen3, content", template: ours("thinker"),
			sampled: "<think>\nHm.\n\nSo.\n</think>\n\nI look.\n" +
				hermesCall + "<|end|>", want: chat.Message{ReasoningContent: "Hm.\n\nSo.", Content: "I look."}},
		{name: "like Qwen3, thinking off", template: ours("thinker"), change: noThinking, sampled: hermesCall + "<|end|>", drops: true},
		{
			name:     "like R1",
			template: ours("opens"),
			sampled: "Hm.\n</think>\n\n\n<tool_call>\n<function=hash>\n<parameter=text>\na\n</parameter>\n" +
				"</function>\n</tool_call></s>",
			want: chat.Message{ReasoningContent: "Hm."},
		},
		{name: "like R1, dropped", template: ours("forgets"), sampled: "Hm.\n</think>\n\n" + hermesCall + "<|end|>",
			want: chat.Message{ReasoningContent: "Hm."}, drops: true},
		{
			name:     "like gpt-oss",
			template: ours("channels"),
			sampled:  "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant" + harmonyCall,
			want:     chat.Message{ReasoningContent: "Hm."},
		},
		{name: "like gpt-oss, preamble", template: ours("channels"), drops: true,
			sampled: "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary<|message|>I " +
				"look.<|end|><|start|>assistant" + harmonyCall,
			want: chat.Message{ReasoningContent: "Hm.", Content: "I look."}},
		{name: "Qwen3", template: cached("llama-cpp-python/Qwen-Qwen3-0.6B.jinja"),
			sampled: "<think>\nHm.\n</think>\n\n" +
				hermesCall + "<|im_end|>", want: chat.Message{ReasoningContent: "Hm."}},
		{name: "R1", template: cached("llama-cpp-python/deepseek-ai-DeepSeek-R1-Distill-Qwen-32B.jinja"),
			change: yesThinking, sampled: "Hm.\n</think>\n\n" +
				deepseekCall, want: chat.Message{ReasoningContent: "Hm."}, drops: true},
		{name: "DeepSeek-V3.1", template: cached("llama-cpp-python/deepseek-ai-DeepSeek-V3.1.jinja"), change: thinking,
			drops: true, want: chat.Message{ReasoningContent: "Hm."},
			sampled: "Hm.</think><｜tool▁calls▁begin｜><｜tool▁call▁begin｜>hash<｜tool▁sep｜>{\"text\": " +
				"\"a\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>"},
		{name: "gpt-oss", template: cached("llama-cpp-python/openai-gpt-oss-120b.jinja"),
			sampled: "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant" + harmonyCall,
			want:    chat.Message{ReasoningContent: "Hm."}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newVendor(t, c.template(t), c.change)
			user := []chat.Message{{Role: chat.User, Content: "Hash a."}}
			prompt, err := v.Prompt(user, tools)
			if err != nil {
				t.Fatal(err)
			}
			sampled := v.tok.Encode(c.sampled)
			m, parseError := v.Parse(sampled, nil)
			if parseError != "" || m.Role != chat.Assistant || m.ReasoningContent != c.want.ReasoningContent ||
				m.Content != c.want.Content || len(m.ToolCalls) != 1 || m.ToolCalls[0].Name != "hash" ||
				m.ToolCalls[0].Arguments != `{"text": "a"}` {
				t.Fatalf("%q is read as %+v, %s", c.sampled, m, parseError)
			}
			result := chat.Message{Role: chat.ToolRole, ToolCallID: m.ToolCalls[0].ID, Name: "hash", Content: "0cc1"}
			ids, split, err := v.Next(append(user, m, result), 1, sampled, tools)
			if err != nil || (split != "") != c.drops {
				t.Fatalf("the split is %q (%v)", split, err)
			}
			next, err := v.Prompt(append(user, m, result), tools)
			if err != nil {
				t.Fatal(err)
			}
			if !c.drops {
				ids = slices.Concat(prompt, sampled, ids)
			}
			if !slices.Equal(next, ids) {
				t.Errorf("serving shows\n%q\nand an episode\n%q", v.tok.Decode(next), v.tok.Decode(ids))
			}
			if c.want.ReasoningContent != "" &&
				strings.Contains(v.tok.Decode(next), "Hm.") == (c.drops && c.want.Content == "") {
				t.Errorf("the next prompt is %q", v.tok.Decode(next))
			}
		})
	}
}

// What the template finds is what it finds under transformers, which make_reasoning.py asked.
func TestFillReasoningEqualsTransformers(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(referenceDir, "render", "reasoning.json"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := chat.Decode(data, chat.DecodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cases, _ := file.([]chat.Value)
	if len(cases) < 30 {
		t.Fatalf("%d cases", len(cases))
	}
	for i, c := range cases {
		get := func(key string) chat.Value { v, _ := c.(*chat.Object).Get(key); return v }
		source := []byte("{{ messages | tojson }}")
		if name := get("template").(string); name != "messages" {
			if source, err = os.ReadFile(own(name)); err != nil {
				t.Fatal(err)
			}
		}
		compiled, err := jinja.Compile("", string(source))
		if err != nil {
			t.Fatal(err)
		}
		before, _ := chat.AppendJSON(nil, get("messages"), chat.Format{})
		variables := chat.NewObject("messages", FillReasoning(get("messages")), "add_generation_prompt", true)
		text, _, err := compiled.Render(jinja.Values{Variables: variables})
		if err != nil || text != get("text") {
			t.Errorf("case %d: %v\n got %q\nwant %q", i, err, text, get("text"))
		}
		if after, _ := chat.AppendJSON(nil, get("messages"), chat.Format{}); string(after) != string(before) {
			t.Errorf("case %d: the caller's messages became %s", i, after)
		}
	}
	for _, v := range []chat.Value{nil, "x", []chat.Value{"x", nil}} {
		if got := FillReasoning(v); !reflect.DeepEqual(got, v) {
			t.Errorf("%v became %v", v, got)
		}
	}
}

func noThinking(o *VendorOptions) { o.Variables = chat.NewObject("enable_thinking", false) }

func yesThinking(o *VendorOptions) { o.Variables = chat.NewObject("enable_thinking", true) }

func thinking(o *VendorOptions) { o.Variables = chat.NewObject("thinking", true) }
