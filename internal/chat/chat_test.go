package chat_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/chat"
)

func TestMessageJSON(t *testing.T) {
	for _, c := range []struct {
		m    chat.Message
		want string
	}{
		{chat.Message{Role: chat.User, Content: "hi"}, `{"role":"user","content":"hi"}`},
		{chat.Message{Role: chat.Assistant}, `{"role":"assistant","content":""}`},
		{
			chat.Message{Role: chat.Assistant,
				ToolCalls: []chat.ToolCall{{ID: "call_0", Name: "hash", Arguments: `{"b": 1.0, "a": 2}`}}},
			`{"role":"assistant","content":null,"tool_calls":[{"id":"call_0","type":"function",` +
				`"function":{"name":"hash","arguments":"{\"b\": 1.0, \"a\": 2}"}}]}`,
		},
		{chat.Message{Role: chat.ToolRole, Content: "49f6", ToolCallID: "call_0", Name: "hash"},
			`{"role":"tool","content":"49f6","tool_call_id":"call_0","name":"hash"}`},
	} {
		got, err := json.Marshal(c.m)
		if err != nil || string(got) != c.want {
			t.Errorf("got %s (%v), want %s", got, err, c.want)
		}
	}
}

func TestMessageRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		want := chat.Message{
			Role: rapid.SampledFrom([]string{chat.System, chat.User, chat.Assistant, chat.ToolRole}).Draw(t,
				"role"),
			Content:          text.Draw(t, "content"),
			ReasoningContent: text.Draw(t, "reasoning"),
			ToolCallID:       text.Draw(t, "id"),
			Name:             text.Draw(t, "name"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "calls") {
			want.ToolCalls = append(want.ToolCalls, chat.ToolCall{
				ID:        text.Draw(t, "call id"),
				Name:      text.Draw(t, "tool"),
				Arguments: text.Draw(t, "arguments"),
			})
		}
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got chat.Message
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
}

func TestMessageReasoningForms(t *testing.T) {
	for text, want := range map[string]string{
		`{"role":"assistant","content":"a","reasoning_content":"r"}`:                 "r",
		`{"role":"assistant","content":"a","reasoning":"r"}`:                         "r",
		`{"role":"assistant","content":"a","thinking":"r"}`:                          "r",
		`{"role":"assistant","content":"a","reasoning_content":"r","reasoning":"s"}`: "r",
		`{"role":"assistant","content":"a","reasoning":{"effort":"low"}}`:            "",
		`{"role":"assistant","content":"a","reasoning":null}`:                        "",
	} {
		var m chat.Message
		if err := json.Unmarshal([]byte(text), &m); err != nil || m.ReasoningContent != want || m.Content != "a" {
			t.Errorf("%s: %+v, %v", text, m, err)
		}
	}
}

func TestMessageContentForms(t *testing.T) {
	for text, want := range map[string]string{
		`{"role":"user","content":"a"}`:  "a",
		`{"role":"user","content":null}`: "",
		`{"role":"user"}`:                "",
		`{"role":"user","content":[]}`:   "",
		`{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`:                   "ab",
		`{"role":"assistant","content":null,"refusal":"No."}`:                                                 "No.",
		`{"role":"assistant","content":"a","refusal":null}`:                                                   "a",
		`{"role":"assistant","content":"a","refusal":"No."}`:                                                  "a",
		`{"role":"assistant","content":[{"type":"refusal","refusal":"No."}]}`:                                 "No.",
		`{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"}]}`:     "a",
		`{"role":"assistant","content":[{"type":"reasoning","text":"hm"},{"type":"output_text","text":"a"}]}`: "a",
		`{"role":"assistant","content":[{"type":"redacted_thinking","data":"x"},{"type":"text","text":"a"}]}`: "a",
		`{"role":"user","content":[{"type":"input_text","text":"a"}]}`:                                        "a",
		`{"role":"user","content":null,"refusal":"No."}`:                                                      "",
		`{"role":"user","content": [ {"type":"text","text":"\u00e9"} ],"name":"someone","x":true}`:            "é",
	} {
		m := chat.Message{Content: "old", ToolCalls: []chat.ToolCall{{ID: "old"}}}
		if err := json.Unmarshal([]byte(text), &m); err != nil || m.Content != want || m.ToolCalls != nil {
			t.Errorf("%s: got %+v (%v), want content %q", text, m, err, want)
		}
	}
}

func TestMessageRefusals(t *testing.T) {
	for text, want := range map[string]string{
		`{"role":"user","content":7}`:                                `role "user"`,
		`{"role":"user","content":{"type":"text","text":"a"}}`:       "neither text nor a list",
		`{"role":"user","content":[{"type":"image_url","text":""}]}`: `"image_url"`,
		`[]`: "cannot unmarshal",
	} {
		var m chat.Message
		if err := json.Unmarshal([]byte(text), &m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", text, err, want)
		}
	}
}

func TestToolRoundTripKeepsTheSchemaBytes(t *testing.T) {
	for _, want := range []chat.Tool{
		{Name: "bare"},
		{Name: "hash", Description: "Hashes text.", InputSchema: json.RawMessage(`{"type":"object","properties":{"z":{"maximum":1.0},"a":{}}}`)},
	} {
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(data), `{"type":"function","function":{"name":"`+want.Name+`"`) ||
			!strings.Contains(string(data), string(want.InputSchema)) {
			t.Errorf("%s is not OpenAI's form", data)
		}
		var got chat.Tool
		if err := json.Unmarshal(data, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v (%v), want %+v", got, err, want)
		}
	}
}

// A thought among the parts of a content is the message's reasoning, unless it says that elsewhere; arguments may be an
// object.
func TestThoughtsAmongParts(t *testing.T) {
	for text, want := range map[string]string{
		`{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"}]}`:                              "hm",
		`{"role":"assistant","content":[{"type":"reasoning","reasoning":"h"},{"type":"thinking","thinking":"m"}]}`:                     "hm",
		`{"role":"assistant","reasoning_content":"so","content":[{"type":"thinking","thinking":"hm"}]}`:                                "so",
		`{"role":"assistant","content":[{"type":"thinking","thinking":"hm"}],"tool_calls":[{"function":{"name":"f","arguments":{}}}]}`: "hm",
	} {
		var m chat.Message
		if err := json.Unmarshal([]byte(text), &m); err != nil || m.ReasoningContent != want {
			t.Errorf("%s: %q, %v", text, m.ReasoningContent, err)
		}
	}
	for arguments, want := range map[string]string{
		`{"a": 1}`: `{"a": 1}`, `"{\"a\": 1}"`: `{"a": 1}`, `null`: "", `""`: "", `[1]`: "[1]",
	} {
		var m chat.Message
		err := json.Unmarshal([]byte(`{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f","arguments":`+
			arguments+`}}]}`), &m)
		if err != nil || m.ToolCalls[0].Arguments != want {
			t.Errorf("%s: %+v, %v", arguments, m.ToolCalls, err)
		}
	}
}
