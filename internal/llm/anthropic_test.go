package llm

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"hone/internal/chat"
)

// headers keeps those of the last request.
type headers struct {
	*endpoint
	last http.Header
	path string
}

func (h *headers) RoundTrip(r *http.Request) (*http.Response, error) {
	h.last, h.path = r.Header.Clone(), r.URL.Path
	return h.endpoint.RoundTrip(r)
}

// A conversation with calls goes out in the form of Anthropic's Messages API, and the answer comes back in chat's.
func TestAnthropic(t *testing.T) {
	e := &headers{endpoint: &endpoint{answers: []answer{{status: 200, body: `{"type": "message", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "I look."},
		{"type": "tool_use", "id": "t2", "name": "look", "input": {"at": 2}}], "stop_reason": "tool_use", "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 7}}`}}}}
	c, err := New(Options{BaseURL: "http://127.0.0.1/v1", API: Anthropic, Key: "sk-1", Transport: e,
		CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	q := Request{
		Model:       "m",
		Temperature: 1.5,
		Seed:        3,
		Tools: []chat.Tool{
			{Name: "look", Description: "Looks.", InputSchema: json.RawMessage(`{"type":"object"}`)},
		},
		Messages: []chat.Message{{Role: chat.System, Content: "Be brief."}, {Role: chat.User, Content: "What is it?"},
			{Role: chat.Assistant, ToolCalls: []chat.ToolCall{{ID: "a", Name: "look", Arguments: `{"at":1}`}, {ID: "b", Name: "look"}}},
			{Role: chat.ToolRole, ToolCallID: "a", Content: "a hat"}, {Role: chat.ToolRole, ToolCallID: "b",
				Content: ""}, {Role: chat.User, Content: "And?"}},
	}
	for range 2 { // the second from the cache
		r, err := c.Chat(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		want := chat.Message{Role: chat.Assistant, Content: "I look.", ReasoningContent: "hm",
			ToolCalls: []chat.ToolCall{{ID: "t2", Name: "look", Arguments: `{"at": 2}`}}}
		if r.FinishReason != "tool_calls" || r.Usage != (Usage{15, 7}) || r.Message.Content != want.Content ||
			r.Message.ReasoningContent != "hm" || len(r.Message.ToolCalls) != 1 || r.Message.ToolCalls[0].ID != "t2" {
			t.Errorf("%+v", r)
		}
	}
	var got, want any
	if err := json.Unmarshal([]byte(e.bodies[0]), &got); err != nil {
		t.Fatal(err)
	}
	_ = json.Unmarshal([]byte(`{"model": "m", "max_tokens": 4096, "system": "Be brief.", "temperature": 1, "tools": [{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}],
		"messages": [{"role": "user", "content": [{"type": "text", "text": "What is it?"}]},
		{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "look", "input": {"at": 1}}, {"type": "tool_use", "id": "b", "name": "look", "input": {}}]},
		{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "a hat"}, {"type": "tool_result", "tool_use_id": "b", "content": ""}, {"type": "text", "text": "And?"}]}]}`), &want)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("sent %s", e.bodies[0])
	}
	if len(e.bodies) != 1 || e.path != "/v1/messages" || e.last.Get("X-Api-Key") != "sk-1" ||
		e.last.Get("Anthropic-Version") != "2023-06-01" || e.last.Get("Authorization") != "" {
		t.Errorf("%d requests to %s with %v", len(e.bodies), e.path, e.last)
	}
	for body, want := range map[string]string{
		`{"type": "error", "error": {"message": "no"}}`: "not a message",
		`{"choices": []}`: "not a message",
		``:                "not a message",
	} {
		if _, err := parseAnthropic([]byte(body)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", body, err)
		}
	}
	if r, err := parseAnthropic([]byte(`{"type": "message", "content": [], "stop_reason": "max_tokens"}`)); err !=
		nil || r.FinishReason != "length" {
		t.Errorf("%+v %v", r, err)
	}
}
