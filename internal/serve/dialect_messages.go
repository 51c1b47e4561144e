package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"hone/internal/chat"
)

// messagesDialect is Anthropic's /v1/messages. Its tools, results and reasoning are blocks of a message's content.
type messagesDialect struct{}

type messagesRequest struct {
	Model         string             `json:"model"`
	Messages      []anthropicMessage `json:"messages"`
	System        anthropicContent   `json:"system"`
	MaxTokens     *int               `json:"max_tokens"`
	Tools         []anthropicTool    `json:"tools"`
	ToolChoice    *anthropicChoice   `json:"tool_choice"`
	Temperature   *float64           `json:"temperature"`
	TopP          *float64           `json:"top_p"`
	TopK          *int               `json:"top_k"`
	StopSequences []string           `json:"stop_sequences"`
	Stream        bool               `json:"stream"`
	OutputConfig  struct {
		Format responseFormat `json:"format"`
	} `json:"output_config"`
}

// idleMessages are parameters of Anthropic's that change no answer here: what a model thinks is its own doing.
func idleMessages() []string {
	return []string{"metadata", "service_tier", "thinking", "context_management", "container", "inference_geo",
		"cache_control", "speed", "betas", "diagnostics", "user_profile_id", "workspace_id"}
}

type anthropicMessage struct {
	Role    string           `json:"role"`
	Content anthropicContent `json:"content"`
}

type anthropicChoice struct {
	Type            string `json:"type"`
	Name            string `json:"name"`
	DisableParallel bool   `json:"disable_parallel_tool_use"`
}

type anthropicTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
	Strict      bool            `json:"strict"`
}

// anthropicContent is blocks, or a text, which is one.
type anthropicContent []anthropicBlock

type anthropicBlock struct {
	Type      string           `json:"type"`
	Text      string           `json:"text"`
	Thinking  string           `json:"thinking"`
	ID        string           `json:"id"`
	Name      string           `json:"name"`
	Input     json.RawMessage  `json:"input"`
	ToolUseID string           `json:"tool_use_id"`
	Content   anthropicContent `json:"content"`
	IsError   bool             `json:"is_error"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *anthropicContent) UnmarshalJSON(raw []byte) error {
	if raw = bytes.TrimSpace(raw); len(raw) > 0 && raw[0] == '"' {
		*c = anthropicContent{{Type: "text"}}
		return json.Unmarshal(raw, &(*c)[0].Text)
	}
	return json.Unmarshal(raw, (*[]anthropicBlock)(c))
}

// withoutBilling leaves out what coding agents write for Anthropic's bills: it is other text in each request, so no
// prompt would begin as one before it.
func (c anthropicContent) withoutBilling() anthropicContent {
	return slices.DeleteFunc(slices.Clone(c), func(b anthropicBlock) bool {
		return b.Type == "text" && strings.HasPrefix(b.Text, "x-anthropic-billing-header")
	})
}

// result is the text of a tool's result. What is none is told of in words.
func (c anthropicContent) result() string {
	var parts []string
	for _, b := range c {
		if b.Type != "text" {
			b.Text = chat.NotText(b.Type)
		}
		parts = append(parts, b.Text)
	}
	return strings.Join(parts, "\n")
}

// text is the text of blocks that may be nothing else.
func (c anthropicContent) text() (string, error) {
	var parts []string
	for _, b := range c {
		if b.Type != "text" {
			return "", fmt.Errorf("a block of type %q, where only text is supported", b.Type)
		}
		parts = append(parts, b.Text)
	}
	return strings.Join(parts, "\n"), nil
}

// messages are one of Anthropic's as chat has them: the results that stand in a user's message are messages of their
// own.
func (m anthropicMessage) messages() (out []chat.Message, err error) {
	if m.Role != chat.User && m.Role != chat.Assistant && m.Role != chat.System {
		return nil, fmt.Errorf("role %q; known are user and assistant", m.Role)
	}
	said := chat.Message{Role: m.Role}
	for _, b := range m.Content {
		switch {
		case b.Type == "text":
			said.Content += b.Text
		case b.Type == "thinking" && m.Role == chat.Assistant:
			said.ReasoningContent += b.Thinking
		case b.Type == "redacted_thinking" && m.Role == chat.Assistant:
		case b.Type == "tool_use" && m.Role == chat.Assistant:
			arguments := string(b.Input)
			if arguments == "" {
				arguments = "{}"
			}
			said.ToolCalls = append(said.ToolCalls, chat.ToolCall{ID: b.ID, Name: b.Name, Arguments: arguments})
		case m.Role == chat.Assistant &&
			(strings.HasSuffix(b.Type, "_tool_use") || strings.HasSuffix(b.Type, "_tool_result")):
			// of tools that the provider ran; aside
		case b.Type == "tool_result" && m.Role == chat.User:
			out = append(out, chat.Message{Role: chat.ToolRole, ToolCallID: b.ToolUseID, Content: b.Content.result()})
		default:
			return nil, fmt.Errorf("a block of type %q in a message of the %s: only text and tools are supported",
				b.Type, m.Role)
		}
	}
	if said.Content != "" || said.ReasoningContent != "" || said.ToolCalls != nil || len(out) == 0 {
		out = append(out, said)
	}
	return out, nil
}

func (c *messagesRequest) into(q *request) *apiError {
	kept := c.System.withoutBilling()
	for range len(c.System) - len(kept) {
		q.aside.Add("a header for Anthropic's bills", "at system")
	}
	system, err := kept.text()
	if err != nil {
		return invalid("system", "system has "+err.Error())
	}
	if system != "" {
		q.messages = append(q.messages, chat.Message{Role: chat.System, Content: system})
	}
	for i, m := range c.Messages {
		more, err := m.messages()
		if err != nil {
			return invalid("messages", fmt.Sprintf("messages.%d has %s", i, err))
		}
		q.messages = append(q.messages, more...)
	}
	if refused := q.goOn(); refused != nil {
		return refused
	}
	var functions tools
	for i, t := range c.Tools {
		if t.Type != "" && t.Type != "custom" { // one that the provider has
			continue
		}
		if t.Name == "" {
			return invalid("tools", fmt.Sprintf("tools.%d has no name", i))
		}
		functions = append(functions,
			tool{chat.Tool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema}, t.Strict})
	}
	q.setTools(functions)
	if x := c.ToolChoice; x != nil {
		q.oneCall = x.DisableParallel
		mode, known := map[string]string{"auto": choiceAuto, "none": choiceNone, "any": choiceRequired,
			"tool": choiceRequired}[x.Type]
		if !known || (x.Type == "tool") != (x.Name != "") {
			return invalid("tool_choice",
				fmt.Sprintf("tool_choice is %q; known are auto, any, none, and tool with a name", x.Type))
		}
		q.choice = toolChoice{mode: mode, name: x.Name}
	}
	return nil
}

// goOn takes a last message of the assistant's as the beginning of the answer, as Anthropic does (docs, "Prefill
// Claude's response").
func (q *request) goOn() *apiError {
	n := len(q.messages) - 1
	if n < 0 || q.messages[n].Role != chat.Assistant || q.messages[n].ToolCalls != nil || q.messages[n].Content == "" {
		return nil
	}
	if text := q.messages[n].Content; strings.TrimRight(text, " \t\r\n") != text {
		return invalid("messages", "final assistant content cannot end with trailing whitespace")
	}
	q.begun, q.messages = &q.messages[n], q.messages[:n:n]
	return nil
}

func (messagesDialect) name() string { return "msg" }

func (messagesDialect) failure(e *apiError) any {
	kind, ok := map[int]string{401: "authentication_error", 403: "permission_error", 404: "not_found_error",
		413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 503: "overloaded_error",
		504: "timeout_error"}[e.Status]
	if !ok {
		kind = "invalid_request_error"
	}
	return map[string]any{"type": "error", "error": map[string]string{"type": kind, "message": e.Message}}
}

func (messagesDialect) read(w http.ResponseWriter, r *http.Request) (*request, *apiError) {
	var c messagesRequest
	aside, refused := readBody(w, r, &c, idleMessages()...)
	if refused != nil {
		return nil, refused
	}
	q := &request{model: c.Model, aside: aside, stream: c.Stream}
	k := knobs{Temperature: c.Temperature, TopP: c.TopP, TopK: c.TopK}
	refused = k.into(q)
	if refused == nil {
		refused = c.into(q)
	}
	if refused == nil {
		refused = c.OutputConfig.Format.into(q, "output_config.format")
	}
	if refused == nil && c.MaxTokens == nil {
		refused = invalid("max_tokens", "max_tokens is missing")
	}
	if refused == nil {
		refused = q.limit("max_tokens", c.MaxTokens)
	}
	q.sampling.Stop = c.StopSequences
	return q, refused
}

// countTokens is Anthropic's /v1/messages/count_tokens.
func (s *Server) countTokens(w http.ResponseWriter, r *http.Request) {
	d := messagesDialect{}
	fail := func(e *apiError) { refuseAs(w, e, d.failure(e)) }
	var c messagesRequest
	aside, refused := readBody(w, r, &c, idleMessages()...)
	q := &request{aside: aside}
	if refused == nil {
		refused = c.into(q)
	}
	if refused != nil {
		fail(refused)
		return
	}
	s.tellOmissions(w, r, q.aside)
	m, refused := s.models.take(c.Model)
	if refused != nil {
		fail(refused)
		return
	}
	defer s.models.leave(m)
	ids, refused := m.promptIDs(r, s, q)
	if refused != nil {
		fail(refused)
		return
	}
	writeJSON(w, http.StatusOK, map[string]int{"input_tokens": len(ids)})
}

// anthropicUsage counts tokens; streams tell of those of the prompt first.
type anthropicUsage struct {
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
}

// content is a block as Anthropic has it. Arguments that are no JSON object cannot stand in one.
func (b block) content() map[string]any {
	switch {
	case b.call != nil:
		input := json.RawMessage(b.call.Arguments)
		if !json.Valid(input) { // the answer ended within them
			input = json.RawMessage("{}")
		}
		return map[string]any{"type": "tool_use", "id": b.call.ID, "name": b.call.Name, "input": input}
	case b.reasoning != "":
		return map[string]any{"type": "thinking", "thinking": b.reasoning, "signature": ""}
	}
	return map[string]any{"type": "text", "text": b.text}
}

func (x *exchange) anthropicHead(content []any, u anthropicUsage) map[string]any {
	return map[string]any{
		"id": x.id, "type": "message", "role": chat.Assistant, "model": x.model.ID, "content": content,
		"stop_reason": nil, "stop_sequence": nil, "usage": u,
	}
}

// stopReason is why an answer ended, in Anthropic's words, and the stop text that ended it.
func (a *answer) stopReason() (reason string, text any) {
	switch {
	case a.cut():
		return "max_tokens", nil
	case len(a.message.ToolCalls) > 0:
		return "tool_use", nil
	case a.StopText != "":
		return "stop_sequence", a.StopText
	}
	return "end_turn", nil
}

func (messagesDialect) whole(x *exchange) any {
	a := x.answers[0]
	content := []any{}
	for _, b := range a.blocks {
		content = append(content, b.content())
	}
	out := x.anthropicHead(content, anthropicUsage{len(a.prompt), len(a.IDs)})
	out["stop_reason"], out["stop_sequence"] = a.stopReason()
	if x.request.agent != nil {
		out["hone"] = x.request.agent
	}
	return out
}

func (messagesDialect) teller(x *exchange, e *events) teller {
	return &messagesTeller{x, e, -1}
}

type messagesTeller struct {
	x    *exchange
	e    *events
	open int // the block that is told of; -1 before the first
}

func (t *messagesTeller) send(kind string, more map[string]any) {
	more["type"] = kind
	t.e.send(kind, more)
}

func (t *messagesTeller) begin() {
	t.send("message_start",
		map[string]any{"message": t.x.anthropicHead([]any{}, anthropicUsage{len(t.x.answers[0].prompt), 0})})
}

func (t *messagesTeller) close() {
	if t.open >= 0 {
		t.send("content_block_stop", map[string]any{"index": t.open})
	}
}

func (t *messagesTeller) delta(_ *answer, d told) {
	var first, more map[string]any
	switch {
	case d.Call != nil:
		first = block{call: &chat.ToolCall{ID: d.Call.ID, Name: d.Call.Name, Arguments: "{}"}}.content()
		more = map[string]any{"type": "input_json_delta", "partial_json": d.Call.Arguments}
	case d.Arguments != "":
		more = map[string]any{"type": "input_json_delta", "partial_json": d.Arguments}
	case d.Reasoning != "":
		first = map[string]any{"type": "thinking", "thinking": "", "signature": ""}
		more = map[string]any{"type": "thinking_delta", "thinking": d.Reasoning}
	default:
		first = block{}.content()
		more = map[string]any{"type": "text_delta", "text": d.Content}
	}
	if d.new {
		t.close()
		t.open = d.at
		t.send("content_block_start", map[string]any{"index": d.at, "content_block": first})
	}
	t.send("content_block_delta", map[string]any{"index": d.at, "delta": more})
}

func (t *messagesTeller) finish(a *answer) {
	t.close()
	reason, text := a.stopReason()
	t.send("message_delta", map[string]any{"delta": map[string]any{"stop_reason": reason, "stop_sequence": text},
		"usage": anthropicUsage{len(a.prompt), len(a.IDs)}})
}

func (t *messagesTeller) end()             { t.send("message_stop", map[string]any{}) }
func (t *messagesTeller) fail(e *apiError) { t.e.send("error", messagesDialect{}.failure(e)) }
