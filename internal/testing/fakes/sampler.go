package fakes

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/episode/policy"
)

// Stop is the id that ends a completion; ids 0 to 255 are bytes.
const Stop int32 = 256

// Logprob is what every id gets: all 257 are equally likely.
const Logprob float32 = -5.5490761 // -ln 257

// Sampler replies by script. Only Reply is required.
type Sampler struct {
	// Reply gives the text of one completion from the text of its prompt (Stop ids shown as "\x00"). It must not
	// depend on anything but its arguments, since it is called from many goroutines. An error fails Sample.
	Reply      func(prompt string, r policy.Request) (string, error)
	Slots      int // NumSlots; 0 means 1
	MaxContext int // ids of prompt and completion; 0 means no limit
}

// NumSlots implements policy.Sampler.
func (s *Sampler) NumSlots() int { return max(s.Slots, 1) }

// Sample implements policy.Sampler. The reply is cut at MaxTokens, with FinishLength, or ends in Stop.
func (s *Sampler) Sample(ctx context.Context, r policy.Request) (policy.Completion, error) {
	if err := ctx.Err(); err != nil {
		return policy.Completion{}, err
	}
	room := r.MaxTokens
	if s.MaxContext > 0 {
		room = min(room, s.MaxContext-len(r.Prompt))
		if room <= 0 {
			return policy.Completion{}, &policy.ContextError{NumPrompt: len(r.Prompt), MaxContext: s.MaxContext}
		}
	}
	text, err := s.Reply(Text(r.Prompt), r)
	if err != nil {
		return policy.Completion{}, err
	}
	c := policy.Completion{IDs: append(IDs(text), Stop), FinishReason: policy.FinishStop}
	if len(c.IDs) > room {
		c.IDs, c.FinishReason = c.IDs[:room], policy.FinishLength
	}
	for _, id := range c.IDs {
		c.SamplerLogprobs = append(c.SamplerLogprobs, Logprob)
		if r.Each != nil {
			r.Each(policy.Token{ID: id, Logprob: Logprob})
		}
	}
	return c, nil
}

// IDs returns the bytes of a text as ids.
func IDs(text string) []int32 {
	ids := make([]int32, len(text), len(text)+1)
	for i := range len(text) {
		ids[i] = int32(text[i])
	}
	return ids
}

// Text is the inverse of IDs; Stop becomes "\x00".
func Text(ids []int32) string {
	b := make([]byte, len(ids))
	for i, id := range ids {
		if id != Stop {
			b[i] = byte(id)
		}
	}
	return string(b)
}

// Renderer writes a message as "<role>", "<think>reasoning</think>" where there is any, the content, each call as
// "<call>{...}</call>", and Stop. It implements rollout.Renderer.
type Renderer struct{}

// StopIDs implements rollout.Renderer.
func (Renderer) StopIDs() []int32 { return []int32{Stop} }

// Prompt implements rollout.Renderer. Only the tools' names are shown.
func (r Renderer) Prompt(messages []chat.Message, tools []chat.Tool) ([]int32, error) {
	var ids []int32
	if len(tools) > 0 {
		ids = append(ids, IDs("<tools>")...)
		for _, t := range tools {
			ids = append(ids, IDs(t.Name+" ")...)
		}
		ids = append(ids, Stop)
	}
	for _, m := range messages {
		body, err := r.Completion(m)
		if err != nil {
			return nil, err
		}
		ids = append(append(ids, IDs("<"+m.Role+">")...), body...)
	}
	return append(ids, IDs("<assistant>")...), nil
}

// Next implements rollout.Renderer.
func (r Renderer) Next(
	messages []chat.Message, at int, completion []int32, tools []chat.Tool,
) (ids []int32, rewrite string, err error) {
	if shown, err := r.Completion(messages[at]); err != nil || !slices.Equal(shown, completion) {
		ids, err = r.Prompt(messages, tools)
		return ids, "it is written otherwise", err
	}
	ids, err = r.Prompt(messages[at+1:], nil)
	return ids, "", err
}

// Completion implements rollout.Renderer.
func (Renderer) Completion(m chat.Message) ([]int32, error) {
	text := m.Content
	if m.ReasoningContent != "" {
		text = Think(m.ReasoningContent) + text
	}
	for _, c := range m.ToolCalls {
		text += Call(c.Name, c.Arguments)
	}
	return append(IDs(text), Stop), nil
}

// Call writes a call as the policy is to write it.
func Call(name, arguments string) string {
	return fmt.Sprintf(`<call>{"name": %q, "arguments": %s}</call>`, name, arguments)
}

// Think writes reasoning as the policy is to write it, before all else.
func Think(text string) string { return "<think>" + text + "</think>" }

// Parse implements rollout.Renderer.
func (Renderer) Parse(completion []int32, _ []chat.Tool) (m chat.Message, parseError string) {
	m.Role = chat.Assistant
	rest := strings.TrimSuffix(Text(completion), "\x00")
	if inner, opens := strings.CutPrefix(rest, "<think>"); opens {
		m.ReasoningContent, rest, _ = strings.Cut(inner, "</think>")
	}
	text := rest
	for {
		before, after, found := strings.Cut(rest, "<call>")
		m.Content += before
		if !found {
			return m, ""
		}
		body, behind, closed := strings.Cut(after, "</call>")
		var call struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		}
		why := ""
		if !closed {
			why = "unterminated call"
		} else if err := json.Unmarshal([]byte(body), &call); err != nil || call.Name == "" {
			why = "malformed call"
		}
		if why != "" {
			m.Content, m.ToolCalls = text, nil
			return m, why
		}
		m.ToolCalls = append(m.ToolCalls, chat.ToolCall{Name: call.Name, Arguments: string(call.Arguments)})
		rest = behind
	}
}
