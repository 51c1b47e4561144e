package proxy

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"hone/internal/chat"
)

// NewAnswer is an answer of a mode's own, in the place of the upstream's. fingerprint tells who answered.
func (x *Exchange) NewAnswer(m chat.Message, finish, fingerprint string, used Usage) (*Answer, error) {
	var id [12]byte
	_, _ = rand.Read(id[:]) // never fails
	body, err := json.Marshal(map[string]any{
		"id": "chatcmpl-" + hex.EncodeToString(id[:]), "object": "chat.completion", "created": time.Now().Unix(),
		"model": x.Request.Model, "system_fingerprint": fingerprint, "usage": used,
		"choices": []any{map[string]any{"index": 0, "message": m, "logprobs": nil, "finish_reason": finish}},
	})
	return &Answer{Message: m, FinishReason: finish, Usage: &used, body: body}, err
}

// readWhole reads an answer that is not streamed.
func readWhole(text []byte) *Answer {
	a := &Answer{body: text}
	var whole struct {
		Choices []struct {
			Message      json.RawMessage `json:"message"`
			FinishReason *string         `json:"finish_reason"`
		} `json:"choices"`
		Usage *Usage `json:"usage"`
	}
	if a.Opaque = json.Unmarshal(text, &whole); a.Opaque != nil {
		return a
	}
	if a.Usage = whole.Usage; len(whole.Choices) == 0 || len(whole.Choices[0].Message) == 0 {
		return a
	}
	if f := whole.Choices[0].FinishReason; f != nil {
		a.FinishReason = *f
	}
	a.Message, a.Opaque = readMessage(whole.Choices[0].Message)
	return a
}

// readMessage reads a message. Arguments that are an object, and no text that holds one, are taken as its text: some
// servers write them so.
func readMessage(raw json.RawMessage) (m chat.Message, err error) {
	var loose struct {
		Calls []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	}
	if err := json.Unmarshal(raw, &loose); err != nil {
		return m, err
	}
	without, err := With(raw, "tool_calls", json.RawMessage("null"))
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(without, &m); err != nil {
		return m, err
	}
	for _, c := range loose.Calls {
		call := chat.ToolCall{ID: c.ID, Name: c.Function.Name}
		if json.Unmarshal(c.Function.Arguments, &call.Arguments) != nil {
			call.Arguments = string(c.Function.Arguments)
		}
		m.ToolCalls = append(m.ToolCalls, call)
	}
	return m, nil
}

// whole is the text of an answer that is not streamed. Of one that was changed, all but the first choice's message and
// reason to end is as it came.
func (a *Answer) whole() ([]byte, error) {
	if !a.replaced {
		return a.body, nil
	}
	var choices []json.RawMessage
	raw, err := Get(a.body, "choices")
	if err == nil {
		choices, err = elements(raw)
	}
	if err != nil || len(choices) == 0 {
		return nil, badUpstream("upstream_invalid", "the upstream's answer has no choice")
	}
	old, err := Get(choices[0], "message")
	if err != nil || old == nil {
		old = []byte(`{"role":"assistant"}`)
	}
	new, err := json.Marshal(a.Message)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"content", "tool_calls"} {
		value, err := Get(new, name)
		if err != nil {
			return nil, err
		}
		if value == nil {
			value = json.RawMessage("null")
		}
		if old, err = With(old, name, value); err != nil {
			return nil, err
		}
	}
	finish, err := json.Marshal(a.FinishReason)
	if err != nil {
		return nil, err
	}
	if choices[0], err = With(choices[0], "message", old); err == nil {
		choices[0], err = With(choices[0], "finish_reason", finish)
	}
	if err != nil {
		return nil, err
	}
	all, err := json.Marshal(choices)
	if err != nil {
		return nil, err
	}
	return With(a.body, "choices", all)
}

// chunkBase is what the chunks of a changed answer have in common: all of the upstream's first chunk but its choices,
// or what of a whole answer goes into chunks.
func (a *Answer) chunkBase() ([]byte, error) {
	if a.base != nil {
		return With(a.base, "usage", json.RawMessage("null"))
	}
	base := []byte(`{"object":"chat.completion.chunk"}`)
	for _, name := range []string{"id", "created", "model", "system_fingerprint"} {
		value, err := Get(a.body, name)
		if err == nil && value != nil {
			base, err = With(base, name, value)
		}
		if err != nil {
			return nil, err
		}
	}
	return base, nil
}

// tellChunks tells of an answer as a stream that is made here. What the client was told already is not told again.
func (x *Exchange) tellChunks(a *Answer) error {
	if x.path != "/chat/completions" || x.Request.N != 1 {
		return badUpstream("upstream_invalid", "the upstream answered without a stream, and one was asked for")
	}
	base, err := a.chunkBase()
	if err != nil {
		return err
	}
	if !x.tellOwnCalls() {
		return errGone
	}
	var choices []map[string]any
	add := func(delta map[string]any, finish any) {
		choices = append(choices, map[string]any{"index": 0, "delta": delta, "finish_reason": finish})
	}
	if a.told == 0 {
		add(map[string]any{"role": chat.Assistant, "content": nil}, nil)
	}
	if a.Message.ReasoningContent != "" && a.told == 0 {
		add(map[string]any{"reasoning_content": a.Message.ReasoningContent}, nil)
	}
	if rest := strings.TrimPrefix(a.Message.Content, a.saidText); rest != "" {
		add(map[string]any{"content": rest}, nil)
	}
	for i, c := range a.Message.ToolCalls {
		d := deltaCall{Index: i, ID: c.ID, Type: "function"}
		d.Function.Name, d.Function.Arguments = c.Name, c.Arguments
		add(map[string]any{"tool_calls": []deltaCall{d}}, nil)
	}
	add(map[string]any{}, a.FinishReason)
	for _, c := range choices {
		if err := x.tellChunk(base, "choices", []any{c}); err != nil {
			return err
		}
	}
	if x.Request.IncludeUsage && a.Usage != nil {
		if base, err = With(base, "choices", json.RawMessage("[]")); err != nil {
			return err
		}
		used := *a.Usage
		used.PromptTokens += x.before.PromptTokens
		used.CompletionTokens += x.before.CompletionTokens
		if x.before != (Usage{}) {
			used.TotalTokens = used.PromptTokens + used.CompletionTokens
		}
		if err := x.tellChunk(base, "usage", used); err != nil {
			return err
		}
	}
	if !x.stream.Send("data: [DONE]") {
		return errGone
	}
	return nil
}

func (x *Exchange) tellChunk(base []byte, name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if text, err = With(base, name, text); err != nil {
		return err
	}
	if !x.stream.Send("data: " + strings.ReplaceAll(string(text), "\n", " ")) {
		return errGone
	}
	return nil
}
