package toolcall

import "strings"

// Detect tells the wire form from a chat template's own text: each form is known by the marks that its template
// writes or tells the model to write. A model's name says nothing: one name has been served with several templates.
// It is false where no form is recognised, as with templates that know no tools.
func Detect(template string) (Format, bool) {
	has := func(marks ...string) bool {
		for _, m := range marks {
			if !strings.Contains(template, m) {
				return false
			}
		}
		return true
	}
	name := ""
	switch { // the first that fits; those whose marks occur in others' templates come last
	case has(hChannel, hMessage, "functions."):
		name = "harmony"
	case has("<|tool_call>call:"):
		name = "gemma4"
	case has("<start_function_call>"):
		name = "functiongemma"
	case has("<|tool_call_start|>"), has("<|tool_list_start|>"):
		name = "lfm2"
	case has(kimiSection, kimiArguments):
		name = "kimi_k2"
	case has(dsml, "function_calls>"):
		name = "deepseek_v32"
	case has(dsml, "tool_calls>"):
		name = "deepseek_v4"
	case has(dsSection, "```"):
		name = "deepseek_v3"
	case has(dsSection):
		name = "deepseek_v31"
	case has("<minimax:tool_call>", "<invoke name="):
		name = "minimax_m2"
	case has("<tool_call>", "<arg_key>", "<arg_value>"):
		name = "glm45"
	case has("<tool_call>", "<function=", "<parameter="):
		name = "qwen3_coder"
	case has("<function_calls>"):
		name = "olmo3"
	case has(mistralMark, "[ARGS]"):
		name = "mistral"
	case has(mistralMark):
		name = "mistral_v3"
	case has("functools["), has("<|tool|>", "<|/tool|>"):
		name = "phi4_mini"
	case has("<tool_call>", `"name": `) || has("<tool_call>", `\"name\": `):
		if !has("<tool_calls>[") { // Apriel's list, in which the single tag is only spoken of
			name = "hermes"
		}
	case has("func_name1("):
		name = "pythonic"
	case has("ipython", `"parameters": `):
		name = "llama3_json"
	}
	f, err := ByName(name)
	return f, err == nil
}
