package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"hone/internal/chat"
)

// responsesDialect is OpenAI's /v1/responses: the parts that agents use. What was answered is kept, so that a request
// may go on from it.
type responsesDialect struct{ kept *responses }

type responsesRequest struct {
	knobs
	Model        string          `json:"model"`
	Input        inputItems      `json:"input"`
	Instructions string          `json:"instructions"`
	Tools        tools           `json:"tools"`
	ToolChoice   json.RawMessage `json:"tool_choice"`
	Parallel     *bool           `json:"parallel_tool_calls"`
	MaxTokens    *int            `json:"max_output_tokens"`
	Stream       bool            `json:"stream"`
	Store        *bool           `json:"store"` // absent: true, as OpenAI has it
	Previous     string          `json:"previous_response_id"`
	Text         struct {
		Format responseFormat `json:"format"`
	} `json:"text"`
	TopLogprobs int               `json:"top_logprobs"`
	Include     []string          `json:"include"`
	Metadata    map[string]string `json:"metadata"`
	Truncation  string            `json:"truncation"`
	Background  bool              `json:"background"`
}

// inputItems is what a conversation goes on with: a text, or items.
type inputItems []inputItem

type inputItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments chat.Arguments  `json:"arguments"`
	Output    json.RawMessage `json:"output"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (in *inputItems) UnmarshalJSON(raw []byte) error {
	if raw = bytes.TrimSpace(raw); len(raw) > 0 && raw[0] == '"' {
		*in = inputItems{{Role: chat.User, Content: raw}}
		return nil
	}
	err := json.Unmarshal(raw, (*[]inputItem)(in))
	if wrong, is := errors.AsType[*json.UnmarshalTypeError](err); is && wrong.Field == "" {
		return errors.New("must be a string or an array of items")
	}
	return err
}

// partsText is the text of a content: a text, or parts that may be nothing else.
func partsText(raw json.RawMessage, kinds ...string) (text string, err error) {
	return joinParts(raw, kinds, func(kind string) (string, error) {
		return "", fmt.Errorf("a part of type %q, where only text is supported", kind)
	})
}

// resultText is the text of a tool's result. What is none is told of in words.
func resultText(raw json.RawMessage) (string, error) {
	return joinParts(raw, []string{"input_text", "output_text", "text"},
		func(kind string) (string, error) { return chat.NotText(kind), nil })
}

// joinParts is a text, or that of parts of some kinds; other says what stands for one of another kind.
func joinParts(raw json.RawMessage, kinds []string, other func(kind string) (string, error)) (text string, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	if raw[0] == '"' {
		err = json.Unmarshal(raw, &text)
		return text, err
	}
	var parts []struct{ Type, Text, Refusal string }
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", fmt.Errorf("content that is neither text nor a list of parts")
	}
	for _, p := range parts {
		if !slices.Contains(kinds, p.Type) {
			if p.Text, err = other(p.Type); err != nil {
				return "", err
			}
		}
		text += p.Text + p.Refusal
	}
	return text, nil
}

// messages are the items as chat has them: calls that follow each other, or a message, are one message's. Those of
// tools that no model is told of here are left aside.
func (in inputItems) messages() (out []chat.Message, err error) {
	last := func() *chat.Message { // the assistant's message that an item belongs to
		if n := len(out); n == 0 || out[n-1].Role != chat.Assistant {
			out = append(out, chat.Message{Role: chat.Assistant})
		}
		return &out[len(out)-1]
	}
	for i, x := range in {
		text := ""
		switch x.Type {
		case "", "message":
			if text, err = partsText(x.Content, "input_text", "output_text", "text", "refusal"); err != nil {
				break
			}
			if n := len(out); x.Role == chat.Assistant && n > 0 && out[n-1].Role == chat.Assistant &&
				out[n-1].Content == "" && out[n-1].ToolCalls == nil {
				out[n-1].Content = text // behind its reasoning
				break
			}
			out = append(out, chat.Message{Role: x.Role, Content: text})
		case "reasoning":
			if text, err = partsText(x.Content, "reasoning_text", "text"); err == nil && text != "" {
				out = append(out, chat.Message{Role: chat.Assistant, ReasoningContent: text})
			}
		case "function_call":
			m := last()
			m.ToolCalls = append(m.ToolCalls, chat.ToolCall{ID: x.CallID, Name: x.Name, Arguments: string(x.Arguments)})
		case "function_call_output":
			if text, err = resultText(x.Output); err == nil {
				out = append(out, chat.Message{Role: chat.ToolRole, ToolCallID: x.CallID, Content: text})
			}
		default:
			if !strings.HasSuffix(x.Type, "_call") && !strings.HasSuffix(x.Type, "_output") &&
				!slices.Contains(asideItems(), x.Type) {
				err = fmt.Errorf("type %q; known are message, reasoning, function_call and function_call_output",
					x.Type)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("input[%d] has %w", i, err)
		}
	}
	return out, nil
}

// asideItems are items, beside calls of other tools and what came of them, without which a conversation can be read.
func asideItems() []string {
	return []string{"mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "compaction",
		"compaction_summary", "ghost_snapshot"}
}

// includeLogprobs asks for the logprobs of what is said. Nothing else can be included.
const includeLogprobs = "message.output_text.logprobs"

func (responsesDialect) name() string { return "resp" }
func (responsesDialect) failure(e *apiError) any {
	return e.under(map[string]string{"messages": "input"}).body()
}

func (d responsesDialect) read(w http.ResponseWriter, r *http.Request) (*request, *apiError) {
	var c responsesRequest
	aside, refused := readBody(w, r, &c, "user", "service_tier", "safety_identifier", "prompt_cache_key",
		"prompt_cache_retention", "stream_options", "max_tool_calls", "reasoning", "client_metadata")
	if refused != nil {
		return nil, refused
	}
	q := &request{model: c.Model, aside: aside, stream: c.Stream, oneCall: c.Parallel != nil && !*c.Parallel,
		logprobs: c.TopLogprobs > 0 || slices.Contains(c.Include, includeLogprobs)}
	q.setTools(c.Tools)
	refused = c.into(q)
	q.sampling.TopLogprobs = c.TopLogprobs
	if refused == nil {
		refused = q.limit("max_output_tokens", c.MaxTokens)
	}
	if refused == nil {
		refused = q.readChoice(c.ToolChoice)
	}
	if refused == nil {
		refused = c.Text.Format.into(q, "text.format")
	}
	switch {
	case refused != nil:
		return nil, refused
	case c.Background:
		return nil, unsupportedError("background", "answers are not made in the background")
	case c.Truncation != "" && c.Truncation != "disabled":
		return nil, unsupportedError("truncation", "a conversation that is too long is refused, not cut")
	}
	for _, what := range c.Include {
		if what != includeLogprobs {
			aside.Add(fmt.Sprintf("the include %.60s", what), "at include")
		}
	}
	more, err := c.Input.messages()
	if err != nil {
		return nil, invalid("input", err.Error())
	}
	before, refused := d.kept.conversation(ownerOf(r.Context()), c.Previous)
	if refused != nil {
		return nil, refused
	}
	q.messages = append(before, more...)
	if len(q.messages) == 0 {
		return nil, invalid("input", "input is empty")
	}
	t := &responseTerms{request: &c, said: slices.Clone(q.messages)}
	if c.Instructions != "" { // of this request alone: who goes on from its answer gives his own
		q.messages = append([]chat.Message{{Role: chat.System, Content: c.Instructions}}, q.messages...)
	}
	q.extra = t
	return q, nil
}

// responseTerms are what an answer repeats of its request, and the conversation that is kept.
type responseTerms struct {
	request *responsesRequest
	said    []chat.Message
	added   []chat.Message // to them, of a task: calls and results
	last    *chat.Message  // of a task: what was said behind those
}

// response is the object that all of it is told in.
func (x *exchange) response(status string, output []any) map[string]any {
	c := x.request.extra.request
	var instructions, previous, most any
	if c.Instructions != "" {
		instructions = c.Instructions
	}
	if c.Previous != "" {
		previous = c.Previous
	}
	if c.MaxTokens != nil {
		most = *c.MaxTokens
	}
	tools := []any{}
	for _, t := range x.request.tools {
		schema := t.InputSchema
		if len(schema) == 0 {
			schema = json.RawMessage("null")
		}
		tools = append(tools, map[string]any{"type": "function", "name": t.Name, "description": t.Description,
			"parameters": schema, "strict": x.request.strict[t.Name]})
	}
	format := map[string]any{"type": "text"}
	if f := c.Text.Format; f.Type == "json_schema" {
		format = map[string]any{"type": f.Type, "name": f.Name, "schema": f.Schema, "strict": f.Strict}
	} else if f.Type != "" {
		format["type"] = f.Type
	}
	choice := json.RawMessage(`"auto"`)
	if len(c.ToolChoice) > 0 {
		choice = c.ToolChoice
	}
	metadata := c.Metadata
	if metadata == nil {
		metadata = map[string]string{}
	}
	topP := 1.0
	if c.TopP != nil {
		topP = *c.TopP
	}
	out := map[string]any{
		"id": x.id, "object": "response", "created_at": x.created.Unix(), "status": status, "background": false,
		"error": nil, "incomplete_details": nil, "instructions": instructions, "max_output_tokens": most,
		"model": x.model.ID, "output": output, "parallel_tool_calls": !x.request.oneCall,
		"previous_response_id": previous, "reasoning": map[string]any{"effort": nil, "summary": nil},
		"store": c.stores(), "temperature": x.request.sampling.Temperature, "text": map[string]any{"format": format},
		"tool_choice": choice, "tools": tools, "top_p": topP, "truncation": "disabled", "metadata": metadata,
		"usage": nil, "user": nil,
	}
	if x.request.agent != nil {
		out["hone"], out["tools"] = x.request.agent, []any{} // those are the server's
	}
	return out
}

func (c *responsesRequest) stores() bool { return c.Store == nil || *c.Store }

// responseObject is the whole response.
func (x *exchange) responseObject(output []any) map[string]any {
	a := x.answers[0]
	out := x.response("completed", output)
	if a.cut() {
		out["status"], out["incomplete_details"] = "incomplete", map[string]string{"reason": "max_output_tokens"}
	}
	reasoned := 0
	for _, b := range a.blocks {
		if b.reasoning != "" {
			// the tokens of its text: which ones were sampled for it is not told apart
			reasoned += len(x.model.Encode(b.reasoning))
		}
	}
	out["usage"] = map[string]any{
		"input_tokens": len(a.prompt), "input_tokens_details": map[string]int{"cached_tokens": 0},
		"output_tokens": len(a.IDs), "output_tokens_details": map[string]int{"reasoning_tokens": reasoned},
		"total_tokens": len(a.prompt) + len(a.IDs),
	}
	return out
}

// itemID names the item of a block.
func (x *exchange) itemID(kind string, at int) string {
	return fmt.Sprintf("%s_%s_%d", kind, x.id[len("resp-"):], at)
}

// item is the item of a block, and its parts as they are in the end.
func (x *exchange) item(at int, b block, status string) map[string]any {
	switch {
	case b.call != nil:
		if status == "completed" && !json.Valid([]byte(b.call.Arguments)) { // the answer ended within them
			status = "incomplete"
		}
		return map[string]any{"type": "function_call", "id": x.itemID("fc", at), "call_id": b.call.ID,
			"name": b.call.Name, "arguments": b.call.Arguments, "status": status}
	case b.reasoning != "":
		return map[string]any{"type": "reasoning", "id": x.itemID("rs", at), "summary": []any{},
			"content": []any{map[string]string{"type": "reasoning_text", "text": b.reasoning}}, "status": status}
	}
	return map[string]any{"type": "message", "id": x.itemID("msg", at), "role": chat.Assistant,
		"content": []any{x.part(b)}, "status": status}
}

func (x *exchange) part(b block) map[string]any {
	return map[string]any{"type": "output_text", "text": b.text, "annotations": []any{}, "logprobs": []any{}}
}

func (x *exchange) items() []any {
	a, out := x.answers[0], []any{}
	for i, b := range a.blocks {
		item := x.item(i, b, "completed")
		if x.request.logprobs && b.text != "" && len(a.blocks) == 1 {
			part := x.part(b)
			part["logprobs"] = x.model.logprobs(&a.Completion).Content
			item["content"] = []any{part}
		}
		out = append(out, item)
	}
	return out
}

func (d responsesDialect) whole(x *exchange) any {
	out := x.responseObject(x.items())
	d.kept.keep(x, out)
	return out
}

func (d responsesDialect) teller(x *exchange, e *events) teller {
	return &responsesTeller{d: d, x: x, e: e, open: -1}
}

type responsesTeller struct {
	d      responsesDialect
	x      *exchange
	e      *events
	number int // of the next event
	open   int // the block that is told of; -1 before the first
}

func (t *responsesTeller) send(kind string, more map[string]any) {
	more["type"], more["sequence_number"] = "response."+kind, t.number
	t.number++
	t.e.send("response."+kind, more)
}

func (t *responsesTeller) begin() {
	for _, kind := range []string{"created", "in_progress"} {
		t.send(kind, map[string]any{"response": t.x.response("in_progress", []any{})})
	}
}

// place says where a piece of a block belongs.
func (t *responsesTeller) place(more map[string]any) map[string]any {
	b := t.x.answers[0].blocks[t.open]
	more["output_index"], more["item_id"] = t.open, t.x.item(t.open, b, "")["id"]
	if b.call == nil {
		more["content_index"] = 0
	}
	return more
}

func (t *responsesTeller) delta(a *answer, d told) {
	b := a.blocks[d.at]
	if d.new {
		t.close(a)
		t.open = d.at
		item := t.x.item(d.at, b, "in_progress")
		switch {
		case b.call != nil:
			item["arguments"] = ""
		default:
			item["content"] = []any{}
		}
		t.send("output_item.added", map[string]any{"output_index": d.at, "item": item})
		if b.call == nil && b.reasoning == "" {
			t.send("content_part.added", t.place(map[string]any{"part": t.x.part(block{})}))
		}
	}
	switch {
	case d.Call != nil || d.Arguments != "":
		more := d.Arguments
		if d.Call != nil {
			more = d.Call.Arguments
		}
		if more != "" { // else the name alone was written so far, and the item has told of that
			t.send("function_call_arguments.delta", t.place(map[string]any{"delta": more}))
		}
	case d.Reasoning != "":
		t.send("reasoning_text.delta", t.place(map[string]any{"delta": d.Reasoning}))
	default:
		more := t.place(map[string]any{"delta": d.Content, "logprobs": []any{}})
		if noted := a.takeCompletion(); noted != nil {
			more["logprobs"] = t.x.model.logprobs(noted).Content
		}
		t.send("output_text.delta", more)
	}
}

// close ends the block that is open.
func (t *responsesTeller) close(a *answer) {
	if t.open < 0 {
		return
	}
	b := a.blocks[t.open]
	switch {
	case b.call != nil:
		t.send("function_call_arguments.done",
			t.place(map[string]any{"name": b.call.Name, "arguments": b.call.Arguments}))
	case b.reasoning != "":
		t.send("reasoning_text.done", t.place(map[string]any{"text": b.reasoning}))
	default:
		t.send("output_text.done", t.place(map[string]any{"text": b.text, "logprobs": []any{}}))
		t.send("content_part.done", t.place(map[string]any{"part": t.x.part(b)}))
	}
	t.send("output_item.done", map[string]any{"output_index": t.open, "item": t.x.item(t.open, b, "completed")})
}

func (t *responsesTeller) finish(a *answer) { t.close(a) }

func (t *responsesTeller) end() {
	out := t.x.responseObject(t.x.items())
	t.d.kept.keep(t.x, out)
	kind, _ := out["status"].(string)
	t.send(kind, map[string]any{"response": out})
}

func (t *responsesTeller) fail(e *apiError) {
	out := t.x.response("failed", []any{})
	out["error"] = map[string]string{"code": "server_error", "message": e.Message}
	t.send("failed", map[string]any{"response": out})
}
