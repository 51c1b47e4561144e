package dataset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hone/internal/chat"
	"hone/internal/text/toolcall"
)

// message is an entry of a conversation under all names that formats have for its parts.
type message struct {
	Role             string         `json:"role"`
	From             string         `json:"from"`
	Content          jsontext.Value `json:"content"`
	Refusal          jsontext.Value `json:"refusal"`
	Value            jsontext.Value `json:"value"`
	ReasoningContent jsontext.Value `json:"reasoning_content"`
	Reasoning        jsontext.Value `json:"reasoning"`
	Thinking         jsontext.Value `json:"thinking"`
	STSReasoning     jsontext.Value `json:"reasoningContent"`
	ToolCalls        jsontext.Value `json:"tool_calls"`
	STSToolCalls     jsontext.Value `json:"toolCalls"`
	FunctionCall     jsontext.Value `json:"function_call"`
	ToolCallID       jsontext.Value `json:"tool_call_id"`
	STSToolCallID    jsontext.Value `json:"toolCallId"`
	Name             jsontext.Value `json:"name"`
	Weight           jsontext.Value `json:"weight"`
	Train            jsontext.Value `json:"train"`
	Training         jsontext.Value `json:"training"`
	Loss             jsontext.Value `json:"loss"`
}

// reasoning is the reasoning under whichever name.
func (m *message) reasoning() string {
	for _, v := range []jsontext.Value{m.ReasoningContent, m.Reasoning, m.Thinking, m.STSReasoning} {
		if said := text(v); v.Kind() == '"' && said != "" {
			return said
		}
	}
	return ""
}

// noLoss reports whether a mask leaves the message out of the loss: OpenAI's weight, Axolotl's train and training,
// LLaMA-Factory's loss.
func (m *message) noLoss() bool {
	for _, v := range []jsontext.Value{m.Weight, m.Train, m.Training, m.Loss} {
		said := text(v)
		if weight, err := strconv.ParseFloat(said, 64); said == "false" || said == "False" ||
			err == nil && weight == 0 {
			return true
		}
	}
	return false
}

// checkWeight refuses a weight that is neither 0 nor 1, as OpenAI does: a loss that counts a message in part is another
// than hone's.
func (m *message) checkWeight() error {
	switch said := text(m.Weight); said {
	case "", "true", "false", "True", "False":
		return nil
	default:
		if weight, err := strconv.ParseFloat(said, 64); err == nil && (weight == 0 || weight == 1) {
			return nil
		}
		return refuse(badWeight, "%.60s", string(m.Weight))
	}
}

// roles are what formats call the four, and what they call a call that is a message of its own.
func roleOf(m *message) string {
	role := m.Role
	if role == "" {
		role = m.From
	}
	switch role {
	case "system", "developer":
		return chat.System
	case "user", "human":
		return chat.User
	case "assistant", "gpt", "model", "bot", "chatgpt":
		return chat.Assistant
	case "tool", "function", "observation", "tool_response", "function_response", "ipython":
		return chat.ToolRole
	case "function_call", "tool_call":
		return "call"
	}
	return ""
}

// conversation grows by messages, and gives each call an id and each result its call.
type conversation struct {
	messages []chat.Message
	open     []chat.ToolCall // calls without a result yet
	ours     bool            // their ids are ours
	calls    int
	lenient  bool        // keep what was recorded as it is
	tools    []chat.Tool // of the row, by which arguments that are null are told from filling
}

// add takes a list of messages.
func (c *conversation) add(list jsontext.Value) error {
	list, err := unwrap(list)
	if err != nil {
		return err
	}
	var messages []jsontext.Value
	if err := decode(list, &messages); err != nil {
		return refuse(badShape, "messages are not a list")
	}
	for i, raw := range messages {
		if err := c.addOne(raw); err != nil {
			return within(err, fmt.Sprintf("messages[%d]", i))
		}
	}
	return nil
}

// within says where in a row a refusal arose.
func within(err error, where string) error {
	if r, ok := err.(*refusal); ok {
		if r.detail == "" {
			return &refusal{r.reason, where}
		}
		return &refusal{r.reason, where + ": " + r.detail}
	}
	return err
}

func (c *conversation) addOne(raw jsontext.Value) error {
	var m message
	if err := decode(raw, &m); err != nil {
		return refuse(badShape, "a message that is not an object of texts")
	}
	role := roleOf(&m)
	if err := m.checkWeight(); err != nil && (role == chat.Assistant || role == "call") {
		return err
	}
	if blocks := blocksOf(first(m.Content, m.Value)); blocks != nil && (role == chat.Assistant || role == chat.User) {
		return c.blocks(&m, role, blocks)
	}
	said, err := contentOf(first(m.Content, m.Value))
	if err != nil {
		return err
	}
	switch role {
	case chat.System, chat.User:
		if err := c.pendingError(); err != nil {
			return err
		}
		c.messages = append(c.messages, chat.Message{Role: role, Content: said})
	case chat.Assistant:
		return c.assistant(&m, said)
	case chat.ToolRole:
		return c.result(said, text(first(m.ToolCallID, m.STSToolCallID)), text(m.Name))
	case "call":
		calls, err := c.callsIn(said)
		if err != nil {
			return err
		}
		return c.call(chat.Message{ReasoningContent: m.reasoning(), NoLoss: m.noLoss()}, calls)
	default:
		return refuse(badRole, "%q", m.Role+m.From)
	}
	return nil
}

// assistant adds what an assistant said and called.
func (c *conversation) assistant(m *message, said string) error {
	// OpenAI has the text of one beside the content
	if no := text(m.Refusal); strings.TrimSpace(said) == "" && m.Refusal.Kind() == '"' {
		said = no
	}
	out := chat.Message{Role: chat.Assistant, Content: said, ReasoningContent: m.reasoning(), NoLoss: m.noLoss()}
	if legacy := first(m.FunctionCall); legacy != nil {
		calls, err := c.callList(legacy)
		if err != nil {
			return err
		}
		return c.call(out, calls)
	}
	var err error
	if out.ToolCalls, err = c.callList(first(m.ToolCalls, m.STSToolCalls)); err != nil {
		return err
	}
	return c.say(out)
}

// say adds an assistant message, and opens its calls.
func (c *conversation) say(m chat.Message) error {
	if err := c.pendingError(); err != nil {
		return err
	}
	m.Role = chat.Assistant
	c.messages = append(c.messages, m)
	c.openCalls(len(c.messages)-1, 0)
	return nil
}

// call adds calls that stand apart: to the assistant message just before them, where there is one, since a model says
// both in one.
func (c *conversation) call(m chat.Message, calls []chat.ToolCall) error {
	last := len(c.messages) - 1
	if last < 0 || c.messages[last].Role != chat.Assistant {
		m.ToolCalls = calls
		return c.say(m)
	}
	before := &c.messages[last]
	from := len(before.ToolCalls)
	before.ToolCalls = append(before.ToolCalls, calls...)
	before.Content, before.ReasoningContent =
		join(before.Content, m.Content), join(before.ReasoningContent, m.ReasoningContent)
	before.NoLoss = before.NoLoss || m.NoLoss
	c.openCalls(last, from)
	return nil
}

func join(a, b string) string {
	switch {
	case a == "" || a == b:
		return b
	case b == "":
		return a
	}
	return a + "\n" + b
}

// openCalls gives the calls of a message from one on their ids, and waits for their results.
func (c *conversation) openCalls(message, from int) {
	calls := c.messages[message].ToolCalls
	if from == 0 {
		c.open, c.ours = nil, false
	}
	for i := from; i < len(calls); i++ {
		if calls[i].ID == "" && !c.lenient {
			calls[i].ID, c.ours = fmt.Sprintf("call_%d", c.calls), true
		}
		c.calls++
		c.open = append(c.open, calls[i])
	}
}

// result adds the answer to a call: the one it names, else the first that is open, of its tool where it says which.
func (c *conversation) result(said, id, name string) error {
	m := chat.Message{Role: chat.ToolRole, Content: said, ToolCallID: id, Name: name}
	i := slices.IndexFunc(c.open, func(call chat.ToolCall) bool { return id != "" && call.ID == id })
	if i < 0 && (id == "" || c.ours) {
		if i = slices.IndexFunc(c.open, func(call chat.ToolCall) bool { return call.Name == name }); i < 0 &&
			len(c.open) > 0 {
			i = 0
		}
	}
	switch {
	case i >= 0:
		m.ToolCallID = c.open[i].ID
		if m.Name == "" {
			m.Name = c.open[i].Name
		}
		c.open = slices.Delete(c.open, i, i+1)
	case !c.lenient:
		return refuse(noCall, "%.60q", said)
	}
	c.messages = append(c.messages, m)
	return nil
}

// pendingError is an error where a call waits for its result.
func (c *conversation) pendingError() error {
	if len(c.open) > 0 && !c.lenient {
		return refuse(unanswered, "%q", c.open[0].Name)
	}
	c.open = nil
	return nil
}

// contentOf is the text of a content: a string, null, a list of texts, or what a tool gave as JSON.
func contentOf(v jsontext.Value) (string, error) {
	if v.Kind() != '[' {
		return text(v), nil
	}
	var parts []jsontext.Value
	if err := decode(v, &parts); err != nil {
		return "", refuse(badContent, "")
	}
	var b strings.Builder
	for _, part := range parts {
		var p struct {
			Type    jsontext.Value `json:"type"`
			Text    jsontext.Value `json:"text"`
			Refusal jsontext.Value `json:"refusal"`
		}
		switch {
		case part.Kind() == '"':
			b.WriteString(text(part))
		case part.Kind() != '{' || decode(part, &p) != nil || p.Type == nil:
			return string(v), nil // a tool's list, not a list of parts
		case text(p.Type) == "refusal" && p.Refusal.Kind() == '"':
			b.WriteString(text(p.Refusal))
		case text(p.Type) != "text" || p.Text.Kind() != '"':
			return "", refuse(badContent, "a part of type %q: hone learns text and calls alone", text(p.Type))
		default:
			b.WriteString(text(p.Text))
		}
	}
	return b.String(), nil
}

// callList reads calls: a list, one object, or either as a string; each as {"function": {...}} or bare.
func (c *conversation) callList(v jsontext.Value) ([]chat.ToolCall, error) {
	return listOf(v, badCall, c.callOf)
}

// callsIn reads the calls that a text is: JSON, or what Python writes for it.
func (c *conversation) callsIn(said string) ([]chat.ToolCall, error) {
	v := jsontext.Value(strings.TrimSpace(said))
	if !v.IsValid(jsontext.AllowDuplicateNames(true)) {
		object, _, err := toolcall.RepairObject(said)
		if err != nil {
			return nil, refuse(badCall, "%.60q", said)
		}
		v = jsontext.Value(object)
	}
	calls, err := c.callList(v)
	if err == nil && len(calls) == 0 {
		return nil, refuse(badCall, "no call")
	}
	return calls, err
}

type functionOf struct {
	Name       jsontext.Value `json:"name"`
	Arguments  jsontext.Value `json:"arguments"`
	Parameters jsontext.Value `json:"parameters"`
	Input      jsontext.Value `json:"input"`
	Args       jsontext.Value `json:"args"`
}

func (c *conversation) callOf(v jsontext.Value) (chat.ToolCall, error) {
	var w struct {
		ID       jsontext.Value `json:"id"`
		Function jsontext.Value `json:"function"`
		functionOf
	}
	if v, err := unwrap(v); err != nil || decode(v, &w) != nil {
		return chat.ToolCall{}, refuse(badCall, "%.60q", string(v))
	}
	f := w.functionOf
	if w.Function.Kind() == '{' {
		if err := decode(w.Function, &f); err != nil {
			return chat.ToolCall{}, refuse(badCall, "")
		}
	}
	call := chat.ToolCall{ID: text(w.ID), Name: text(f.Name)}
	if call.Name == "" && !c.lenient {
		return call, refuse(badCall, "it has no name")
	}
	given := first(f.Arguments, f.Parameters, f.Input, f.Args)
	if c.lenient {
		call.Arguments = text(given)
		return call, nil
	}
	object := given.Kind() == '{'
	for range 3 { // some write JSON into a string, and that into a string again
		if given.Kind() != '"' {
			break
		}
		given = jsontext.Value(strings.TrimSpace(text(given)))
	}
	switch {
	case len(given) == 0 || string(given) == "null":
		call.Arguments = "{}"
	case given.Kind() == '{' && given.IsValid():
		call.Arguments = string(given)
		if object {
			call.Arguments = string(withoutFilling(given, argumentsSchema(c.tools, call.Name)))
		}
	default:
		return call, refuse(badArguments, "of %q: %.60q", call.Name, string(given))
	}
	return call, nil
}
