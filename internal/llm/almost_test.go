package llm

import "testing"

// What is a call in all but form is found in every form in use, and words that speak of a tool are none.
func TestAlmost(t *testing.T) {
	for text, want := range map[string]string{
		"<tools>\n{\"name\": \"get_time\", \"arguments\": {\"zone\": \"UTC\"}}\n</tools>":                          "Llama 3 (JSON alone)",
		"```json\n{\"name\": \"get_time\", \"arguments\": {\"zone\": \"UTC\"}}\n```":                               "Llama 3 (JSON alone)",
		"{\"name\": \"get_clock\", \"arguments\": {\"zone\": \"UTC\"}}":                                            "JSON alone",
		"{\"tool\": \"get_time\", \"args\": {\"zone\": \"UTC\"}}":                                                  "JSON alone",
		"{'function': 'get_time', 'parameters': {'zone': 'UTC'}}":                                                  "JSON alone",
		"{\"type\": \"function\", \"function\": {\"name\": \"x.get_time\", \"arguments\": \"{\\\"zone\\\": 1}\"}}": "JSON alone",
		"{\"action\": \"get_time\", \"action_input\": {\"zone\": \"UTC\"}}":                                        "JSON alone",
		"[{\"tool_name\": \"get_time\", \"input\": {}}]":                                                           "JSON alone",
		"get_time {\"zone\": \"UTC\"}":                                                                             "a name before JSON",
		"**get_time**\n{\"zone\": \"UTC\"}":                                                                        "a name before JSON",
		"```python\nget_time(zone=\"UTC\")\n```":                                                                   "a call of Python",
		"I will look.\n`get_time(zone='UTC')`":                                                                     "a call of Python",
		"print(1)\nt = await tools.get_time({\"zone\": 1})":                                                        "a call of Python",
		"get_time()": "a call of Python",
		"Thought: I need it.\nAction: get_time\nAction Input: {\"zone\": \"UTC\"}": "ReAct",
		"**Action**: `get_time`":                "ReAct",
		"<get_time><zone>UTC</zone></get_time>": "tags of the tool's name",
		"<get_time zone=\"UTC\"/>":              "tags of the tool's name",
		"<invoke name=\"get_time\"><parameter name=\"zone\">UTC</parameter></invoke>": "an attribute",
		"<tool_call>\n{\"name\": \"get_time\", \"arguments\": {}}\n</tool_call>":      "Hermes and Qwen",
		"It is noon.":                                                "",
		"I used get_time to see the time.":                           "",
		"The tool get_time (of the server) says noon.":               "",
		"{\"name\": \"Ines\", \"age\": 7}":                           "",
		"{\"name\": \"alder\", \"input\": \"oak\"}":                  "",
		"No action is needed: get_time was called.":                  "",
		"A function get_time(zone) would return it; I did not call.": "",
		"": "",
	} {
		got, ok := Almost(text, "get_time", "other")
		if got.Form != want || ok != (want != "") {
			t.Errorf("%q: %q, want %q", text, got.Form, want)
		}
	}
}
