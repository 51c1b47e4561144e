package doctor

import (
	"context"
	"errors"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/llm"
)

// says is an endpoint that always answers the same.
type says struct {
	message chat.Message
	err     error
}

func (s says) Chat(context.Context, llm.Request) (llm.Response, error) {
	return llm.Response{Message: s.message}, s.err
}

// What an endpoint leaves in the text is told, with the flags that mend it.
func TestEndpoint(t *testing.T) {
	call := []chat.ToolCall{{ID: "1", Name: "read_meter", Arguments: `{"meter": "m17"}`}}
	for name, tc := range map[string]struct {
		says
		want string // of each check its status
		next string
	}{
		"all is read":  {says{message: chat.Message{ReasoningContent: "hm", ToolCalls: call}}, "ok ok ok", ""},
		"no reasoning": {says{message: chat.Message{ToolCalls: call}}, "ok ok ok", ""},
		"Hermes": {
			says{message: chat.Message{Content: "<tool_call>\n{\"name\": \"read_meter\"}\n</tool_call>"}},
			"ok fail ok",
			"--enable-auto-tool-choice --tool-call-parser hermes, or SGLang with --tool-call-parser qwen25",
		},
		"Qwen3-Coder":            {says{message: chat.Message{Content: "<tool_call>\n<function=read_meter>"}}, "ok fail ok", "--tool-call-parser qwen3_xml"},
		"JSON alone":             {says{message: chat.Message{Content: `{"name": "read_meter", "parameters": {"meter": "m17"}}`}}, "ok fail ok", "llama3_json"},
		"Python":                 {says{message: chat.Message{Content: `[read_meter(meter="m17")]`}}, "ok fail ok", "pythonic"},
		"JSON of something else": {says{message: chat.Message{Content: `{"name": "Ada", "arguments": 3}`}}, "ok warn ok", ""},
		"thoughts in the text":   {says{message: chat.Message{Content: "I call it.</think>", ToolCalls: call}}, "ok ok fail", "--reasoning-parser"},
		"words alone":            {says{message: chat.Message{Content: "It shows 5."}}, "ok warn ok", ""},
		"another call":           {says{message: chat.Message{ToolCalls: []chat.ToolCall{{Name: "x", Arguments: "{}"}}}}, "ok warn ok", ""},
		"loading":                {says{err: &llm.StatusError{Status: 503}}, "fail", "ask again in a minute"},
		"gone":                   {says{err: errors.New("refused")}, "fail", "--endpoint"},
	} {
		var got, next []string
		for _, c := range Endpoint(t.Context(), tc.says, "m") {
			got, next = append(got, string(c.Status)), append(next, c.Next)
		}
		if strings.Join(got, " ") != tc.want || !strings.Contains(strings.Join(next, " "), tc.next) {
			t.Errorf("%s: %q, %q", name, got, next)
		}
	}
}
