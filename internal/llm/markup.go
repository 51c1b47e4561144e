package llm

import "strings"

// Markup is a form in which models write calls and reasoning, and what makes a server of it read them.
type Markup struct {
	Form   string // whose form it is
	VLLM   string // the flags of vLLM (docs/features/tool_calling.md, reasoning_outputs.md)
	SGLang string // the flags of SGLang (docs/advanced_features/tool_parser, separate_reasoning); "" where it has no parser of the form
}

// markups are marks that no answer has whose calls were read, in the order in which they are looked for: some have others within.
func markups() []struct {
	mark string
	Markup
} {
	calls := func(form, vllm, sglang string) Markup {
		if sglang != "" {
			sglang = "--tool-call-parser " + sglang
		}
		return Markup{form, "--enable-auto-tool-choice --tool-call-parser " + vllm, sglang}
	}
	return []struct {
		mark string
		Markup
	}{
		{"<function=", calls("Qwen3-Coder", "qwen3_xml", "qwen3_coder")},
		{"<arg_key>", calls("GLM-4.5", "glm45", "glm45")},
		{"<minimax:tool_call>", calls("MiniMax-M2", "minimax_m2", "minimax-m2")},
		{"<tool_call>", calls("Hermes and Qwen", "hermes", "qwen25")},
		{"[TOOL_CALLS]", calls("Mistral", "mistral", "mistral")},
		{"<|python_tag|>", calls("Llama 3", "llama3_json", "llama3")},
		{"functools[", calls("Phi-4-mini", "phi4_mini_json", "")},
		{"<|tool_calls_section_begin|>", calls("Kimi-K2", "kimi_k2", "kimi_k2")},
		{"<｜tool▁calls▁begin｜>", calls("DeepSeek-V3", "deepseek_v3", "deepseekv3")},
		{"<|channel|>commentary", calls("gpt-oss", "openai", "gpt-oss")},
		{"<function_calls>", calls("Olmo 3", "olmo3", "")},
	}
}

// UnreadCall is the form of a call that an endpoint left in the text of its answer; ok is false where there is none. tools are the names of
// those that were offered: a model may also write the JSON of a call alone.
func UnreadCall(content string, tools ...string) (Markup, bool) {
	for _, m := range markups() {
		if strings.Contains(content, m.mark) {
			return m.Markup, true
		}
	}
	flat := strings.Join(strings.Fields(content), "")
	for _, name := range tools {
		if strings.Contains(flat, `{"name":"`+name+`"`) && (strings.Contains(flat, `"arguments":`) || strings.Contains(flat, `"parameters":`)) {
			return Markup{"a call as JSON alone, as Llama 3", "--enable-auto-tool-choice --tool-call-parser llama3_json", "--tool-call-parser llama3"}, true
		}
		if strings.HasPrefix(flat, "["+name+"(") {
			return Markup{"a call as Python's, as Llama 4", "--enable-auto-tool-choice --tool-call-parser pythonic", "--tool-call-parser pythonic"}, true
		}
	}
	return Markup{}, false
}

// Mend is what helps.
func (m Markup) Mend() string {
	if m.SGLang == "" {
		return "restart vLLM with " + m.VLLM
	}
	return "restart vLLM with " + m.VLLM + ", or SGLang with " + m.SGLang
}

// UnsplitReasoning is the form of reasoning that an endpoint left in the text of its answer; ok is false where there is none.
func UnsplitReasoning(content string) (Markup, bool) {
	for _, x := range []struct {
		mark string
		Markup
	}{
		{"</think>", Markup{"<think>", "--reasoning-parser deepseek_r1 (qwen3 for Qwen3)", "--reasoning-parser deepseek-r1 (qwen3 for Qwen3)"}},
		{"[/THINK]", Markup{"[THINK]", "--reasoning-parser mistral", ""}},
		{"<|channel|>analysis", Markup{"gpt-oss's channel analysis", "--reasoning-parser openai_gptoss", "--reasoning-parser gpt-oss"}},
	} {
		if strings.Contains(content, x.mark) {
			return x.Markup, true
		}
	}
	return Markup{}, false
}
