// Package chat holds the data every other package speaks: messages, tool calls and tools.
//
// It is data only and imports nothing of ours. The JSON forms are OpenAI's chat-completions forms, so a trajectory,
// a data set row and a served response are the same text.
package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Roles of a message.
const (
	System    = "system"
	User      = "user"
	Assistant = "assistant"
	ToolRole  = "tool"
)

// Message is one entry of a conversation.
//
// Example, an assistant message that calls one tool and the tool's answer:
//
//	{Role: "assistant", ToolCalls: [{ID: "call_0", Name: "hash", Arguments: `{"text": "hi"}`}]}
//	{Role: "tool", ToolCallID: "call_0", Name: "hash", Content: "49f6..."}
type Message struct {
	Role             string
	Content          string
	ReasoningContent string
	ToolCalls        []ToolCall // assistant only, in the order the model wrote them
	ToolCallID       string     // tool only: the call this answers
	Name             string     // tool only: the tool that answered
	// assistant only, of a row to learn from: it is context and not learnt, as "weight": 0 says in OpenAI's rows
	NoLoss bool
}

// Delta is what a part of a completion's text adds to the assistant message that it is: one of the three.
type Delta struct {
	Content   string
	Reasoning string
	Call      *ToolCall
	Arguments string // more of the arguments of the last call
}

// ToolCall is one call the model asks for. Arguments is JSON text exactly as the model wrote it, never re-encoded,
// so that key order and number text survive into the next prompt.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string
}

// Tool is what the model is told about a tool. InputSchema is the server's own JSON bytes, key order kept.
type Tool struct {
	Name        string          // the name shown to the model
	Description string          // may be empty
	InputSchema json.RawMessage // a JSON Schema object
}

type wireMessage struct {
	Role             string     `json:"role"`
	Content          *string    `json:"content"`
	ReasoningContent string     `json:"reasoning_content,omitempty"`
	ToolCalls        []wireCall `json:"tool_calls,omitempty"`
	ToolCallID       string     `json:"tool_call_id,omitempty"`
	Name             string     `json:"name,omitempty"`
	Weight           *int       `json:"weight,omitempty"`
}

type wireCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string    `json:"name"`
		Arguments Arguments `json:"arguments"`
	} `json:"function"`
}

// Arguments are a call's in JSON: OpenAI has the text of an object, others the object itself, or null for none.
type Arguments string

// UnmarshalJSON implements json.Unmarshaler.
func (a *Arguments) UnmarshalJSON(raw []byte) error {
	if raw = bytes.TrimSpace(raw); len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, (*string)(a))
	}
	if *a = Arguments(raw); string(raw) == "null" {
		*a = ""
	}
	return nil
}

// MarshalJSON writes OpenAI's form. Content is null only where there are calls and no text.
func (m Message) MarshalJSON() ([]byte, error) {
	w := wireMessage{Role: m.Role, ReasoningContent: m.ReasoningContent, ToolCallID: m.ToolCallID, Name: m.Name}
	if m.Content != "" || len(m.ToolCalls) == 0 {
		w.Content = &m.Content
	}
	if m.NoLoss {
		w.Weight = new(int)
	}
	for _, c := range m.ToolCalls {
		b := wireCall{ID: c.ID, Type: "function"}
		b.Function.Name, b.Function.Arguments = c.Name, Arguments(c.Arguments)
		w.ToolCalls = append(w.ToolCalls, b)
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads OpenAI's form; content may be a string, null, or a list of text parts, which are joined.
// Reasoning may stand under the names that endpoints and data sets have for it: reasoning_content, reasoning or
// thinking.
func (m *Message) UnmarshalJSON(data []byte) error {
	var w struct { // wireMessage would stand in the errors, were it embedded
		Role             string          `json:"role"`
		Content          json.RawMessage `json:"content"`
		Refusal          any             `json:"refusal"` // OpenAI's text of one, beside a content that is null
		ReasoningContent string          `json:"reasoning_content"`
		Reasoning        any             `json:"reasoning"` // of some endpoints an object; only a text is one here
		Thinking         any             `json:"thinking"`
		ToolCalls        []wireCall      `json:"tool_calls"`
		ToolCallID       string          `json:"tool_call_id"`
		Name             string          `json:"name"`
		Weight           any             `json:"weight"` // of others it may be anything
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	text, thought, err := contentText(w.Content, w.Role == ToolRole)
	if err != nil {
		return fmt.Errorf("message with role %q: %w", w.Role, err)
	}
	if no, isText := w.Refusal.(string); isText && text == "" && w.Role == Assistant {
		text = no
	}
	for _, also := range []any{w.Reasoning, w.Thinking, thought} {
		if text, isText := also.(string); isText && w.ReasoningContent == "" {
			w.ReasoningContent = text
		}
	}
	*m = Message{Role: w.Role, Content: text, ReasoningContent: w.ReasoningContent, ToolCallID: w.ToolCallID,
		Name: w.Name}
	m.NoLoss = w.Weight == float64(0)
	for _, c := range w.ToolCalls {
		m.ToolCalls = append(m.ToolCalls,
			ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: string(c.Function.Arguments)})
	}
	return nil
}

// NotText stands in the place of a part of a tool's result that is no text: a conversation is not to end because a tool
// showed an image.
func NotText(kind string) string { return "[" + kind + ": this model reads text alone]" }

// contentText is the text of a content, and the thoughts that stand among its parts, as Anthropic's clients send them
// on. Of a result's parts those that are no text are told of in words.
func contentText(raw json.RawMessage, ofResult bool) (text, thought string, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", "", nil
	}
	if raw[0] == '"' {
		err = json.Unmarshal(raw, &text)
		return text, "", err
	}
	var parts []struct {
		Type      string `json:"type"`
		Text      string `json:"text"`
		Refusal   string `json:"refusal"`
		Thinking  string `json:"thinking"`
		Reasoning string `json:"reasoning"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", "", errors.New("content is neither text nor a list of parts")
	}
	for _, p := range parts {
		switch p.Type {
		case "text", "input_text", "output_text":
			text += p.Text
		case "refusal":
			text += p.Refusal
		case "thinking", "reasoning":
			thought += p.Thinking + p.Reasoning
			if p.Thinking+p.Reasoning == "" {
				thought += p.Text
			}
		case "redacted_thinking":
		default:
			if ofResult {
				text += NotText(p.Type)
				continue
			}
			return "", "", fmt.Errorf("content part of type %q: only text is supported", p.Type)
		}
	}
	return text, thought, nil
}

type wireTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	} `json:"function"`
}

// MarshalJSON writes OpenAI's {"type":"function","function":{...}} form.
func (t Tool) MarshalJSON() ([]byte, error) {
	w := wireTool{Type: "function"}
	w.Function.Name, w.Function.Description, w.Function.Parameters = t.Name, t.Description, t.InputSchema
	return json.Marshal(w)
}

// UnmarshalJSON reads the form MarshalJSON writes. Another form, such as MCP's, is an error rather than a nameless
// tool.
func (t *Tool) UnmarshalJSON(data []byte) error {
	var w wireTool
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	if w.Function.Name == "" {
		return errors.New(`a tool has no function name: its form is {"type": "function", "function": {"name": ..., "parameters": ...}}`)
	}
	*t = Tool{Name: w.Function.Name, Description: w.Function.Description, InputSchema: w.Function.Parameters}
	return nil
}
