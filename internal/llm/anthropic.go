package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"hone/internal/chat"
)

// anthropicVersion is that of the Messages API which is spoken (docs.anthropic.com, API versioning).
const anthropicVersion = "2023-06-01"

// block is one part of a message: text, a call, or the result of one.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	Thinking  string          `json:"thinking,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   *string         `json:"content,omitempty"` // of a result
}

type blocks struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type anthropicRequest struct {
	Model       string          `json:"model"`
	MaxTokens   int             `json:"max_tokens"` // required there
	System      string          `json:"system,omitempty"`
	Messages    []blocks        `json:"messages"`
	Tools       []anthropicTool `json:"tools,omitempty"`
	Temperature *float64        `json:"temperature,omitempty"`
	TopP        float64         `json:"top_p,omitempty"`
	TopK        int             `json:"top_k,omitempty"`
}

// anthropicBody is a request in the form of Anthropic's Messages API: the system message apart, results of calls as the
// user's, roles in turns. It has no seed and no min_p.
func anthropicBody(r Request, temperature bool) ([]byte, error) {
	w := anthropicRequest{Model: r.Model, MaxTokens: r.MaxTokens, TopP: r.TopP, TopK: r.TopK}
	if w.MaxTokens == 0 {
		w.MaxTokens = assumedCompletion
	}
	if temperature {
		cooled := min(1, r.Temperature) // its greatest
		w.Temperature = &cooled
	}
	for _, t := range r.Tools {
		schema := t.InputSchema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		w.Tools = append(w.Tools, anthropicTool{t.Name, t.Description, schema})
	}
	for _, m := range r.Messages {
		if m.Role == chat.System {
			w.System = strings.TrimPrefix(w.System+"\n\n"+m.Content, "\n\n")
			continue
		}
		role, list, err := blocksOf(m)
		if err != nil {
			return nil, err
		}
		if n := len(w.Messages); n > 0 && w.Messages[n-1].Role == role {
			w.Messages[n-1].Content = append(w.Messages[n-1].Content, list...)
		} else {
			w.Messages = append(w.Messages, blocks{role, list})
		}
	}
	return json.Marshal(w)
}

func blocksOf(m chat.Message) (role string, list []block, err error) {
	if m.Role == chat.ToolRole {
		return chat.User, []block{{Type: "tool_result", ToolUseID: m.ToolCallID, Content: &m.Content}}, nil
	}
	if m.Content != "" {
		list = append(list, block{Type: "text", Text: m.Content})
	}
	for _, c := range m.ToolCalls {
		input := json.RawMessage(c.Arguments)
		if strings.TrimSpace(c.Arguments) == "" {
			input = json.RawMessage("{}")
		}
		if !json.Valid(input) {
			return "", nil, fmt.Errorf("the arguments of the call of %s are no JSON, "+
				"which Anthropic's API cannot be told", c.Name)
		}
		list = append(list, block{Type: "tool_use", ID: c.ID, Name: c.Name, Input: input})
	}
	if len(list) == 0 { // a message without a text is refused
		list = []block{{Type: "text", Text: "(empty)"}}
	}
	return m.Role, list, nil
}

// parseAnthropic reads a message of that API.
func parseAnthropic(text []byte) (Response, error) {
	var wire struct {
		Type       string  `json:"type"`
		Content    []block `json:"content"`
		StopReason string  `json:"stop_reason"`
		Usage      struct {
			Input        int `json:"input_tokens"`
			CacheWritten int `json:"cache_creation_input_tokens"`
			CacheRead    int `json:"cache_read_input_tokens"`
			Output       int `json:"output_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(text, &wire); err != nil {
		return Response{}, fmt.Errorf("the answer is not a message: %w", err)
	}
	if wire.Type != "message" {
		return Response{}, errors.New("the answer is not a message")
	}
	r := Response{Message: chat.Message{Role: chat.Assistant}, FinishReason: wire.StopReason,
		Usage: Usage{PromptTokens: wire.Usage.Input + wire.Usage.CacheWritten + wire.Usage.CacheRead,
			CompletionTokens: wire.Usage.Output}}
	for _, b := range wire.Content {
		switch b.Type {
		case "text":
			r.Message.Content += b.Text
		case "thinking":
			r.Message.ReasoningContent += b.Thinking
		case "tool_use":
			r.Message.ToolCalls = append(r.Message.ToolCalls,
				chat.ToolCall{ID: b.ID, Name: b.Name, Arguments: string(b.Input)})
		}
	}
	switch wire.StopReason {
	case "max_tokens", "model_context_window_exceeded":
		r.FinishReason = "length"
	case "tool_use":
		r.FinishReason = "tool_calls"
	case "end_turn", "stop_sequence":
		r.FinishReason = "stop"
	}
	return r, nil
}
