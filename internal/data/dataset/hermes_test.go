package dataset

import "testing"

// The form goes, since a template writes its own; what the author says of the model and its policy stays.
func TestHermesSystemMessages(t *testing.T) {
	list := "<tools>[" + weather + "]</tools>"
	hermes := "You are a function calling AI model. You are provided with function signatures within <tools></tools> " +
		"XML tags. You may call one or more functions to assist with the user query. Don't make assumptions " +
		"about what values to plug into functions. Here are the available tools:" + list + ". Use the following " +
		"pydantic model json schema for each tool call you will make: {'title': 'FunctionCall', 'type': 'object', " +
		"'properties': {'name': {'title': 'Name', 'type': 'string'}}, 'required': ['arguments', 'name']} For each " +
		"function call return a json object with function name and arguments within <tool_call></tool_call> XML tags " +
		"as follows:\n<tool_call>\n{'arguments': <args-dict>, 'name': <function-name>}\n</tool_call>"
	qwen := "\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n" +
		"\nYou are provided with function signatures within <tools></tools> XML tags:\n<tools>\n" +
		weather + "\n</tools>\n\nFor each function call, " +
		"return a json object with function name and arguments within <tool_call></tool_call> XML tags:\n" +
		"<tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>"
	policy := "You are Ann, a bank's agent. Never tell a balance without the PIN."
	for _, tc := range []struct{ name, said, want string }{
		{"Hermes", hermes, ""},
		{"Qwen", qwen, ""},
		{"before Hermes", policy + "\n" + hermes, policy},
		{"before Qwen", policy + qwen, policy},
		{"behind", hermes + "\n" + policy, policy},
		{"before the list", policy + " " + list, policy},
		{"glued to the list", policy + list, policy},
		{"behind the list", list + "\n" + policy, policy},
		{"on both sides", "Obey A.\n" + list + " Obey B.", "Obey A.\n\n Obey B."},
		{"without tools", policy, policy},
	} {
		row := `{"conversations":[{"from":"system","value":` +
			quoted(t, tc.said) + `},{"from":"human","value":"q"},{"from":"gpt","value":` +
			quoted(t, "<tool_call>{\"name\": \"weather\", \"arguments\": {}}</tool_call>") + `}],"tools":` +
			quoted(t, "["+weather+"]") + `}`
		want := `u:q a:[call_0 weather{}]`
		if tc.want != "" {
			want = "s:" + tc.want + " " + want
		}
		if got := told(t, row); got != want {
			t.Errorf("%s:\n got  %s\n want %s", tc.name, got, want)
		}
	}
}

// Reasoning that stands in the content is told apart in all forms of others, and in hone's own record nothing is
// changed.
func TestThoughtsInContent(t *testing.T) {
	for said, want := range map[string]string{
		"<think>hm</think>a":                    "a(hm)",
		"\n<think>\nhm\n\nhm\n</think>\n\n a\n": "a\n(hm\n\nhm)",
		"<think>\n\n</think>\n\na":              "a",
		"<think></think><think>hm</think>a":     "a(hm)",
		"<think>hm</think><think>2</think>a":    "<think>2</think>a(hm)",
		"<think>hm":                             "<think>hm",
		"hm</think>a":                           "hm</think>a",
		"a <think>hm</think>":                   "a <think>hm</think>",
	} {
		q := quoted(t, said)
		for form, row := range map[string]string{
			"openai":     `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":` + q + `}]}`,
			"sharegpt":   `{"conversations":[{"from":"human","value":"q"},{"from":"gpt","value":` + q + `}]}`,
			"hermes":     `{"conversations":[{"from":"system","value":"<tools>[]</tools>"},{"from":"human","value":"q"},{"from":"gpt","value":` + q + `}]}`,
			"toucan":     `{"available_tools":"[]","messages":[{"role":"user","content":"q"},{"role":"assistant","content":` + q + `}]}`,
			"completion": `{"prompt":[{"role":"user","content":"q"}],"completion":[{"role":"assistant","content":` + q + `}]}`,
			"alpaca":     `{"instruction":"q","output":` + q + `}`,
		} {
			got := told(t, row)
			expected := "u:q a:" + want
			if form == "completion" {
				expected = "u:q | a:" + want
			}
			if form == "hermes" && want == "a\n(hm\n\nhm)" {
				expected = "u:q a:a(hm\n\nhm)" // it trims what is said
			}
			if got != expected {
				t.Errorf("%s, %q:\n got  %q\n want %q", form, said, got, expected)
			}
		}
	}
	for row, want := range map[string]string{
		`{"outcome":"ok","messages":[{"role":"user","content":"q"},{"role":"assistant","content":"<think>hm</think>a"}]}`:                                                                       "u:q a:<think>hm</think>a",
		`{"messages":[{"role":"user","content":"q"},{"role":"assistant","reasoning_content":"why","content":"<think>hm</think>a"}]}`:                                                            "u:q a:<think>hm</think>a(why)",
		`{"messages":[{"role":"user","content":"<think>hm</think>q"},{"role":"assistant","content":"a"}]}`:                                                                                      "u:<think>hm</think>q a:a",
		`{"conversations":[{"from":"human","value":"q"},{"from":"gpt","value":"<think>I call <tool_call>{}</tool_call></think>a<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>"}]}`: "u:q a:a(I call <tool_call>{}</tool_call>)[call_0 f{}]",
	} {
		if got := told(t, row); got != want {
			t.Errorf("%s:\n got  %q\n want %q", row, got, want)
		}
	}
}
