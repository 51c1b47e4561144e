// Package render turns conversations into token ids and completions back into messages. Calls holds
// completions to the form in which a model writes calls.
//
// One rule carries training: ids that a model has seen are never computed again from text. A prompt is built from
// segments, special ids come from the template alone, and turn k+1's prompt is turn k's prompt, the sampled ids, and
// what follows them, unless the template now writes them otherwise (Vendor.Next). What SFT trains on is built from the same segments, so it is what serving would prompt.
package render

import (
	"fmt"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/fault"
	"hone/internal/text/tokenizer"
	"hone/internal/text/toolcall"
)

// ToolFormat says how the system message lists the tools.
type ToolFormat string

const (
	ToolsCompact ToolFormat = "compact" // one signature a line, see compactTool; about a third of the tokens
	ToolsJSON    ToolFormat = "json"    // one OpenAI JSON object a line, as Qwen2.5's template writes it
)

// Options of NewChatML. The zero value has compact tools and no system message but for them.
type Options struct {
	ToolFormat ToolFormat // empty is ToolsCompact
	System     string     // for conversations that do not begin with a system message; empty for none. See OwnSystem
}

// ChatML renders SmolLM2's form, with Qwen2.5's conventions for what that lacks: tools stand at the end of the system
// message, calls are in the Hermes form, and the results that follow one completion form one user message:
//
//	<|im_start|>system\nYou are ...\n\n# Tools\n...<|im_end|>\n
//	<|im_start|>user\nHash "hi".<|im_end|>\n
//	<|im_start|>assistant\n<tool_call>\n{"name": "hash", ...}\n</tool_call><|im_end|>\n
//	<|im_start|>user\n<tool_response>\n49f6...\n</tool_response><|im_end|>\n
//	<|im_start|>assistant\n
//
// It has no place for reasoning: ReasoningContent is left out. It is immutable and safe for concurrent use.
type ChatML struct {
	tok     *tokenizer.Tokenizer
	options Options
	start   int32   // <|im_start|>
	end     int32   // <|im_end|>
	stop    []int32 // end first
	newline []int32 // what follows end
	opening []int32 // <|im_start|>assistant\n
}

// NewChatML needs a vocabulary with <|im_start|> and <|im_end|>.
func NewChatML(tok *tokenizer.Tokenizer, o Options) (*ChatML, error) {
	if o.ToolFormat == "" {
		o.ToolFormat = ToolsCompact
	}
	if o.ToolFormat != ToolsCompact && o.ToolFormat != ToolsJSON {
		return nil, &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("unknown tool format %q", o.ToolFormat), Next: "use compact or json"}
	}
	c := &ChatML{tok: tok, options: o}
	for _, s := range []struct {
		token string
		id    *int32
	}{{"<|im_start|>", &c.start}, {"<|im_end|>", &c.end}} {
		id, ok := tok.ID(s.token)
		if !ok || !tok.IsSpecial(id) {
			return nil, &fault.Error{
				Code: fault.CodeUsage, What: "the model cannot be prompted in ChatML",
				Why: "its vocabulary has no special token " + s.token, Next: "use an instruction-tuned model whose chat template is ChatML",
			}
		}
		*s.id = id
	}
	c.stop = []int32{c.end}
	if id, ok := tok.ID("<|endoftext|>"); ok {
		c.stop = append(c.stop, id)
	}
	c.newline = tok.EncodeOrdinary("\n")
	c.opening = append([]int32{c.start}, tok.EncodeOrdinary("assistant\n")...)
	return c, nil
}

// StopIDs are the ids that end a completion.
func (c *ChatML) StopIDs() []int32 { return slices.Clone(c.stop) }

// Prompt renders a conversation up to and including the opening of the next assistant message.
func (c *ChatML) Prompt(messages []chat.Message, tools []chat.Tool) ([]int32, error) {
	var r row
	if err := c.conversation(&r, messages, tools, c.assistantIDs); err != nil {
		return nil, err
	}
	r.add(false, c.opening...)
	return r.ids, nil
}

// Next renders the prompt of the turn that follows a completion, as Vendor.Next does.
func (c *ChatML) Next(messages []chat.Message, at int, completion []int32, tools []chat.Tool) (ids []int32, rewrite string, err error) {
	if err := checkNext(messages, at); err != nil {
		return nil, "", err
	}
	shown, err := c.assistantIDs(messages[at])
	if err != nil {
		return nil, "", err
	}
	written, sampled := c.tok.Decode(shown), c.tok.Decode(completion)
	messages, _ = inOrder(messages)
	if written == sampled || written == sampled+"<|im_end|>" {
		ids, err = c.bridge(completion, messages[at+1:])
		return ids, "", err
	}
	ids, err = c.Prompt(messages, tools)
	return ids, otherwise(at, divergence(sampled, written, "")), err
}

// bridge renders what stands between a completion and the next one: <|im_end|> where the completion does not end with
// it, the results (tool or user messages), and the opening of the next assistant message.
func (c *ChatML) bridge(completion []int32, results []chat.Message) ([]int32, error) {
	var r row
	if n := len(completion); n == 0 || completion[n-1] != c.end {
		r.add(false, c.end)
	}
	r.add(false, c.newline...)
	if err := c.messages(&r, results, c.assistantIDs); err != nil {
		return nil, err
	}
	r.add(false, c.opening...)
	return r.ids, nil
}

// Completion renders an assistant message as it would be sampled, <|im_end|> last. A message that Parse would not read
// back is an error: it holds a call written as text, or characters the vocabulary has no bytes for.
func (c *ChatML) Completion(m chat.Message) ([]int32, error) {
	ids, err := c.assistantIDs(m)
	if err != nil {
		return nil, err
	}
	read, parseError := c.Parse(ids)
	same := parseError == "" && read.Content == m.Content && slices.EqualFunc(read.ToolCalls, m.ToolCalls, func(a, b chat.ToolCall) bool {
		return a.Name == b.Name && a.Arguments == b.Arguments
	})
	if !same {
		return nil, badMessage(m, "the model could not write it so that it is read back: "+parseError)
	}
	return ids, nil
}

// Parse reads a completion back, with or without its stop id.
func (c *ChatML) Parse(completion []int32) (m chat.Message, parseError string) {
	if n := len(completion); n > 0 && slices.Contains(c.stop, completion[n-1]) {
		completion = completion[:n-1]
	}
	result := toolcall.Hermes().Parse(c.tok.Decode(completion), toolcall.Options{})
	return chat.Message{Role: chat.Assistant, Content: result.Content, ToolCalls: result.Calls}, result.Err
}

// Sequences renders a conversation as one training row, since ChatML rewrites nothing. It ends with the last assistant
// message. Trained are exactly the assistant messages from first on, with their <|im_end|>: what serving would sample. The
// rest is what serving would prompt.
func (c *ChatML) Sequences(messages []chat.Message, first int, tools []chat.Tool) ([]Sequence, error) {
	var r row
	if err := c.conversation(&r, messages, tools, c.Completion); err != nil {
		return nil, err
	}
	for _, s := range r.spans {
		if s.Message < first {
			clear(r.trained[s.Start:s.End])
		}
	}
	ids, trained, err := r.training()
	if err != nil {
		return nil, err
	}
	spans := slices.DeleteFunc(r.spans, func(s Span) bool { return s.Start >= len(ids) })
	return maskLoss([]Sequence{{IDs: ids, Trained: trained, Spans: spans}}, messages)
}

// row is ids, and for each whether an assistant wrote it.
type row struct {
	ids     []int32
	trained []bool
	spans   []Span
	next    int // the message that the next span is of
}

// end ends the span of the next message, which began at an id.
func (r *row) end(start int) {
	r.spans = append(r.spans, Span{r.next, start, len(r.ids)})
	r.next++
}

// training is the row up to its last trained id.
func (r *row) training() (ids []int32, trained []bool, err error) {
	last := len(r.trained) - 1
	for last >= 0 && !r.trained[last] {
		last--
	}
	if last < 0 {
		return nil, nil, &fault.Error{Code: fault.CodeUsage, What: "the conversation has no assistant message to train on"}
	}
	return r.ids[:last+1], r.trained[:last+1], nil
}

func (r *row) add(trained bool, ids ...int32) {
	r.ids = append(r.ids, ids...)
	r.trained = append(r.trained, slices.Repeat([]bool{trained}, len(ids))...)
}

// conversation renders the system message with the tools, then the rest. completion renders an assistant message.
func (c *ChatML) conversation(r *row, messages []chat.Message, tools []chat.Tool, completion func(chat.Message) ([]int32, error)) error {
	system, given := c.options.System, len(messages) > 0 && messages[0].Role == chat.System
	messages, _ = inOrder(messages) // the span of results after each other is the last one's, whichever that is
	if given {
		system, messages = messages[0].Content, messages[1:]
	}
	text, err := c.SystemText(system, tools)
	if err != nil {
		return err
	}
	if !given && system == "" {
		text = strings.TrimLeft(text, "\n")
	}
	if given || text != "" {
		c.message(r, chat.System, text)
	}
	if given {
		r.end(0)
	}
	return c.messages(r, messages, completion)
}

func (c *ChatML) messages(r *row, messages []chat.Message, completion func(chat.Message) ([]int32, error)) error {
	for i := 0; i < len(messages); i++ {
		m, start := messages[i], len(r.ids)
		switch m.Role {
		case chat.System, chat.User:
			c.message(r, m.Role, m.Content)
		case chat.ToolRole:
			text := toolResponse(m.Content)
			for i+1 < len(messages) && messages[i+1].Role == chat.ToolRole {
				i++
				r.next++ // results after each other are one message: the span is the last one's
				text += "\n" + toolResponse(messages[i].Content)
			}
			c.message(r, chat.User, text)
		case chat.Assistant:
			ids, err := completion(m)
			if err != nil {
				return err
			}
			r.add(false, c.opening...)
			start = len(r.ids)
			r.add(true, ids...)
			r.end(start)
			r.add(false, c.newline...)
			continue
		default:
			return badMessage(m, "roles are system, user, assistant and tool")
		}
		r.end(start)
	}
	return nil
}

func toolResponse(content string) string {
	return "<tool_response>\n" + content + "\n</tool_response>"
}

// message renders one that no model wrote. Role and content are encoded together, as the template's text would be.
func (c *ChatML) message(r *row, role, content string) {
	r.add(false, c.start)
	r.add(false, c.tok.EncodeOrdinary(role+"\n"+content)...)
	r.add(false, c.end)
	r.add(false, c.newline...)
}

// assistantIDs renders an assistant message's content and calls. They are encoded apart from the opening, since the
// opening was prompted and they were sampled.
func (c *ChatML) assistantIDs(m chat.Message) ([]int32, error) {
	if m.Role != chat.Assistant {
		return nil, badMessage(m, "only an assistant message is a completion")
	}
	text := m.Content
	for _, call := range m.ToolCalls {
		block, err := toolcall.Hermes().Emit("", []chat.ToolCall{call})
		if err != nil {
			return nil, badMessage(m, err.Error())
		}
		if text != "" {
			text += "\n"
		}
		text += block
	}
	return append(c.tok.EncodeOrdinary(text), c.end), nil
}

func badMessage(m chat.Message, why string) error {
	return &fault.Error{
		Code: fault.CodeUsage, What: fmt.Sprintf("cannot render a message with role %q", m.Role),
		Where: fmt.Sprintf("the message beginning %.80q", m.Content), Why: why, Next: "correct or leave out the conversation that holds it",
	}
}
