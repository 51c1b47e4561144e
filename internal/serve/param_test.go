package serve

import (
	"encoding/json"
	"strings"
	"testing"
)

// A refusal names the parameter, by the name that the dialect has for it, whatever reads the value.
func TestRefusalsNameTheParameter(t *testing.T) {
	const text, chat = `{"model":"m","prompt":"x"`, "/v1/chat/completions"
	for _, x := range []struct{ path, body, param, says string }{
		{chat, hi + `,"stop":7}`, "stop", `"stop" must be a string or an array of strings`},
		{chat, hi + `,"stop":[7]}`, "stop", `"stop" must be a string or an array of strings`},
		{chat, hi + `,"stop":{"a":1}}`, "stop", `"stop" must be`},
		{chat, hi + `,"stop":["a",""]}`, "stop", "stop holds an empty text"},
		{chat, hi + `,"temperature":"warm"}`, "temperature", `"temperature" must be a number, not a string`},
		{chat, hi + `,"n":[1]}`, "n", `"n" must be a whole number, not an array`},
		{chat, hi + `,"stream":"perhaps"}`, "stream", `"stream" must be true or false`},
		{chat, hi + `,"seed":1.5}`, "seed", `"seed" must be a whole number`},
		{chat, hi + `,"tools":{}}`, "tools", "tools is no list"},
		{chat, hi + `,"tools":[{"type":"function","function":{"name":7}}]}`, "tools", "tools[0]"},
		{chat, hi + `,"stream_options":[]}`, "stream_options", "stream_options"},
		{chat, hi + `,"response_format":"json"}`, "response_format", `"response_format" must be an object`},
		{chat, hi + `,"response_format":{"type":"xml"}}`, "response_format", "its type is"},
		{chat, hi + `,"tool_choice":7}`, "tool_choice", "tool_choice"},
		{chat, hi + `,"logit_bias":[]}`, "logit_bias", "logit_bias"},
		{chat, hi + `,"max_tokens":"many"}`, "max_tokens", `"max_tokens" must be a whole number`},
		{chat, hi + `,"unheard":1}`, "unheard", "unheard is not supported"},
		{chat, `{"model":7,"messages":[]}`, "model", `"model" must be a string`},
		{chat, `{"model":"m","messages":"hi"}`, "messages", "messages is no list"},
		{chat, `{"model":"m","messages":[{"role":"user","content":"x","tool_calls":7}]}`, "messages", "messages[0]"},
		{chat, `{"model":"m","messages":`, "", "it is not JSON"},
		{chat, `[]`, "", "must be an object"},
		{"/v1/completions", `{"model":"m","prompt":7}`, "prompt", `"prompt" must be a string, an array of strings`},
		{"/v1/completions", text + `,"logprobs":"x"}`, "logprobs", `"logprobs" must be`},
		{"/v1/completions", text + `,"logprobs":99}`, "logprobs", "top_logprobs must lie"},
		{"/v1/completions", text + `,"stop":7}`, "stop", `"stop" must be`},
		{"/v1/responses", `{"model":"m","input":7}`, "input", `"input" must be a string or an array of items`},
		{"/v1/responses", `{"model":"m","input":[7]}`, "input", `"input" must be`},
		{"/v1/responses", `{"model":"m","input":[{"role":"wizard","content":"x"}]}`, "input", "wizard"},
		{"/v1/responses", responsesHi + `,"max_output_tokens":0}`, "max_output_tokens", "must be positive"},
		{"/v1/responses", responsesHi + `,"instructions":[]}`, "instructions", `"instructions" must be a string`},
		{"/v1/responses", responsesHi + `,"text":7}`, "text", `"text" must be an object`},
		{"/tokenize", `{"model":"m","prompt":7}`, "prompt", `"prompt" must be a string`},
	} {
		got := answered(t, &sampler{says: "x"}, x.path, x.body)
		var e struct {
			Error struct {
				Message string
				Param   *string
			}
		}
		if err := json.Unmarshal(got.Body.Bytes(), &e); err != nil {
			t.Fatalf("%s: %v", x.body, err)
		}
		param := ""
		if e.Error.Param != nil {
			param = *e.Error.Param
		}
		if got.Code != 400 || param != x.param || !strings.Contains(e.Error.Message, x.says) {
			t.Errorf("%s %s: %d, param %q, %s", x.path, x.body, got.Code, param, e.Error.Message)
		}
	}
}
