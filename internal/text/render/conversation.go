package render

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"hone/internal/chat"
	"hone/internal/fault"
	"hone/internal/jinja"
)

// conversation is what a template is rendered with, its texts marked.
type conversation struct {
	v        *Vendor
	messages []chat.Message // with the default system message
	values   []chat.Value   // of messages
	tools    []chat.Tool
	listed   chat.Value // of tools; nil without
	shift    int        // how many messages stand before the caller's: the default system message, or none
	sentinel string     // a character that occurs nowhere else
	at       []int      // where the caller's messages stood before inOrder; nil where all stand there still
}

func (v *Vendor) conversation(messages []chat.Message, tools []chat.Tool) (*conversation, error) {
	messages, at := inOrder(messages)
	shift, described := 0, tools
	if v.options.own != nil {
		var err error
		if messages, shift, err = v.withSystem(messages, tools); err != nil {
			return nil, err
		}
		described = nil
	}
	if s := v.options.System; s != "" && (len(messages) == 0 || messages[0].Role != chat.System) {
		messages = append([]chat.Message{{Role: chat.System, Content: s}}, messages...)
		shift = 1
	}
	c := &conversation{v: v, messages: v.renameRoles(messages), tools: tools, shift: shift, at: at}
	for i, m := range c.messages {
		if m.Role == chat.Assistant && m.ReasoningContent == "" {
			if thought, content, ended := v.reasoning.split(m.Content, false); ended && thought != "" {
				m.ReasoningContent, m.Content = thought, content // as data sets have it that keep a message in one text
				c.messages = slices.Clone(c.messages)
				c.messages[i] = m
			}
		}
		value, err := v.messageValue(v.beside(m))
		if err != nil {
			return nil, err
		}
		c.values = append(c.values, value)
	}
	var err error
	if c.listed, err = toolValues(described); err != nil {
		return nil, err
	}
	if err := c.chooseSentinel(); err != nil {
		return nil, err
	}
	for i, value := range c.values {
		c.values[i] = c.mark(value)
	}
	c.listed = c.mark(c.listed)
	return c, nil
}

func (v *Vendor) messageValue(m chat.Message) (chat.Value, error) {
	switch m.Role {
	case chat.System, chat.User, chat.Assistant, chat.ToolRole:
	default:
		return nil, badMessage(m, "roles are system, user, assistant and tool")
	}
	o := chat.NewObject("role", role(m.Role), "content", m.Content)
	if m.ReasoningContent != "" {
		o.Set("reasoning_content", m.ReasoningContent)
		if v.reasoning.third {
			o.Set("reasoning", m.ReasoningContent)
		}
		o = fillReasoning(o)
	}
	var calls []chat.Value
	for _, call := range m.ToolCalls {
		text := call.Arguments
		if text == "" {
			text = "{}"
		}
		arguments, err := chat.Decode([]byte(text), chat.DecodeOptions{})
		if _, isObject := arguments.(*chat.Object); err != nil || !isObject {
			return nil, badMessage(m,
				fmt.Sprintf("the arguments of its call of %q are not a JSON object: %.200s", call.Name, call.Arguments))
		}
		if v.textArguments {
			arguments = text
		}
		calls = append(calls, chat.NewObject("id", call.ID, "type", role("function"),
			"function", chat.NewObject("name", call.Name, "arguments", arguments)))
	}
	if calls != nil {
		o.Set("tool_calls", calls)
	}
	if m.Role == chat.ToolRole {
		o.Set("tool_call_id", m.ToolCallID)
		if m.Name != "" {
			o.Set("name", m.Name)
		}
	}
	return o, nil
}

// toolValues are tools as templates take them; nil for none.
func toolValues(tools []chat.Tool) (chat.Value, error) {
	var listed []chat.Value
	for _, tool := range tools {
		function := chat.NewObject("name", tool.Name)
		if tool.Description != "" {
			function.Set("description", tool.Description)
		}
		if len(tool.InputSchema) > 0 {
			schema, err := chat.Decode(tool.InputSchema, chat.DecodeOptions{})
			if err != nil {
				return nil, &fault.Error{Code: fault.CodeUsage,
					What: fmt.Sprintf("cannot describe the tool %q to the model",
						tool.Name), Err: err, Next: "correct the tool's input schema, or leave the tool out"}
			}
			function.Set("parameters", schema)
		}
		listed = append(listed, chat.NewObject("type", role("function"), "function", function))
	}
	if listed == nil {
		return nil, nil
	}
	return listed, nil
}

// role is text of our own among a conversation's: marked makes it a string as it is.
type role string

// mark copies a value with its strings and keys marked, see danger.mark.
func (c *conversation) mark(v chat.Value) chat.Value {
	switch v := v.(type) {
	case role:
		return string(v)
	case string:
		return c.v.danger.mark(v, c.sentinel)
	case []chat.Value:
		out := make([]chat.Value, len(v))
		for i, item := range v {
			out[i] = c.mark(item)
		}
		return out
	case *chat.Object:
		out := &chat.Object{}
		for i := range v.Len() {
			key, item := v.At(i)
			out.Set(c.v.danger.mark(key, c.sentinel), c.mark(item))
		}
		return out
	}
	return v
}

// chooseSentinel takes a character for private use that neither the conversation nor the template has.
func (c *conversation) chooseSentinel() error {
	c.sentinel = "\uf8ff"
	taken := false
	c.eachText(func(text string) { taken = taken || strings.Contains(text, c.sentinel) })
	if !taken {
		return nil
	}
	used := map[rune]bool{}
	c.eachText(func(text string) {
		for _, r := range text {
			if r >= 0xE000 && r <= 0xF8FF {
				used[r] = true
			}
		}
	})
	for r := rune(0xF8FF); r >= 0xE000; r-- { // of these, JSON writes one as one escape: see text
		if !used[r] {
			c.sentinel = string(r)
			return nil
		}
	}
	return &fault.Error{Code: fault.CodeUsage, What: "cannot render the conversation", Where: c.v.options.Name,
		Why:  "it holds all 6,400 characters for private use, of which one has to mark where messages begin and end",
		Next: "leave them out"}
}

// eachText yields the texts that a rendering is made of.
func (c *conversation) eachText(yield func(string)) {
	var walk func(v chat.Value)
	walk = func(v chat.Value) {
		switch v := v.(type) {
		case string:
			yield(v)
		case []chat.Value:
			for _, item := range v {
				walk(item)
			}
		case *chat.Object:
			for i := range v.Len() {
				key, item := v.At(i)
				yield(key)
				walk(item)
			}
		}
	}
	yield(c.v.options.Template)
	walk(c.listed)
	for _, v := range c.values {
		walk(v)
	}
}

// text renders the first n messages, with sentinels. The spans are those of {% generation %}.
func (c *conversation) text(n int, prompt bool) (string, []jinja.Span, error) {
	o := &c.v.options
	variables := chat.NewObject("messages", c.values[:n:n], "tools", c.listed, "documents", nil,
		"add_generation_prompt", prompt, "bos_token", o.BOS, "eos_token", o.EOS)
	if o.Variables != nil {
		for i := range o.Variables.Len() {
			variables.Set(o.Variables.At(i))
		}
	}
	text, spans, err := c.v.template.Render(jinja.Values{Variables: variables, Now: o.Now})
	if strings.Contains(o.Template, "ensure_ascii") { // which writes the sentinel in this way
		text = strings.ReplaceAll(text, fmt.Sprintf(`\u%04x`, []rune(c.sentinel)[0]), c.sentinel)
	}
	return text, spans, err
}

// encode returns the ids of a text with sentinels that follows another one. Both are encoded together, so that the text
// does not look like the beginning of an input, but no token reaches over the seam.
func (c *conversation) encode(before, text string) []int32 {
	if start, _ := c.v.danger.lastSpecial(before); start > 0 {
		before = before[start:] // nothing reaches over a special token
	}
	if before == "" {
		return c.v.tok.EncodeParts(parts(text, c.sentinel)...)
	}
	stop, _ := c.v.tok.Token(c.v.stops[0])
	// where a token would reach over the seam, one that cannot be part of it
	for _, front := range []string{before, "\n", stop} {
		first := c.v.tok.EncodeParts(parts(front, c.sentinel)...)
		both := c.v.tok.EncodeParts(parts(front+text, c.sentinel)...)
		if len(both) >= len(first) && slices.Equal(both[:len(first)], first) {
			return both[len(first):]
		}
	}
	return c.v.tok.EncodeParts(parts(text, c.sentinel)...)
}

// renameRoles gives calls ids in the form that the template demands, the same in their results. An id depends on the
// one it replaces alone, so that it is the same in a bridge.
func (v *Vendor) renameRoles(messages []chat.Message) []chat.Message {
	var form func(id, tool string) string
	switch v.format.Name() {
	case "mistral", "mistral_v3":
		form = nineCharacters
	case "kimi_k2":
		form = kimiID
	default:
		return messages
	}
	out, tools := slices.Clone(messages), map[string]string{}
	for i, m := range out {
		calls := slices.Clone(m.ToolCalls)
		for j, call := range calls {
			tools[call.ID] = call.Name
			calls[j].ID = form(call.ID, call.Name)
		}
		out[i].ToolCalls = calls
		if m.Role == chat.ToolRole {
			tool := m.Name
			if called, ok := tools[m.ToolCallID]; ok {
				tool = called
			}
			out[i].ToolCallID = form(m.ToolCallID, tool)
		}
	}
	return out
}

// number is the one that an id ends with ("call_7"), else one made from it.
func number(id string) uint32 {
	digits := id[len(strings.TrimRight(id, "0123456789")):]
	if n, err := strconv.ParseUint(digits, 10, 29); err == nil || id == "" {
		return uint32(n)
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // never fails
	return h.Sum32() % 1e9
}

// nineCharacters is the form of Mistral's templates.
func nineCharacters(id, _ string) string {
	if len(id) == 9 && !strings.ContainsFunc(id, func(r rune) bool { return r > 'z' || notWord(r) }) {
		return id
	}
	return fmt.Sprintf("%09d", number(id))
}

// kimiID holds the tool's name and the number of the call.
func kimiID(id, tool string) string {
	if name, n, ok := strings.Cut(id, ":"); ok && name == "functions."+tool && n == strconv.Itoa(int(number(n))) {
		return id
	}
	return fmt.Sprintf("functions.%s:%d", tool, number(id))
}
