package render

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"hone/internal/chat"
	"hone/internal/fault"
	"hone/internal/jinja"
	"hone/internal/text/tokenizer"
	"hone/internal/text/toolcall"
)

// VendorOptions are what a model's files say about its chat template. Template alone is needed.
type VendorOptions struct {
	Template string          // Jinja text, as in tokenizer_config.json's chat_template
	Name     string          // of the template, for errors: a path
	BOS, EOS string          // bos_token and eos_token, which templates write
	Format   toolcall.Format // how calls are written; the zero value is told from the template's text
	// for conversations that do not begin with a system message; empty leaves it to the template
	System string
	// more variables, such as enable_thinking; one that the template never reads is an error; may be nil
	Variables *chat.Object
	Now       time.Time // for templates that write the date; the zero value is defaultNow
	own       *Options  // of NewChatML, which lists the tools itself; nil for others' templates
}

// defaultNow is a fixed date, so that a run prompts the same on the day it is resumed and on the day it is served.
func defaultNow() time.Time { return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) }

// Vendor renders by the chat template that came with the model.
//
// The template is asked, never read: it is rendered for the front of a conversation up to each assistant message, with
// and without that message, and the difference is the completion. So whatever a template does holds here, and where it
// writes an earlier message otherwise than it was sampled (Qwen3 drops the reasoning of earlier user turns), that
// shows. Text between two completions is encoded apart from them, as it is when a model samples.
//
// Message content, tool names, descriptions and results come from anyone: no part of them becomes an added token, see
// marks. Vendor is immutable and safe for concurrent use.
type Vendor struct {
	tok       *tokenizer.Tokenizer
	options   VendorOptions
	template  *jinja.Template
	danger    *danger
	format    toolcall.Format
	reasoning reasoning
	stops     []int32
	// afterText and afterCalls are the special tokens that end a completion, by whether it has calls. With open set,
	// the template writes none: what ends the completion is the token that opens the next message.
	afterText, afterCalls string
	open                  bool
	probed                string      // the completion that a message of probeContent is
	textArguments         bool        // the template takes arguments as JSON text, not as an object
	openedBehindResults   bool        // the same of a prompt that ends with results of calls
	opened                bool        // the prompt begins the reasoning, and the completion stands inside it
	probeTools            []chat.Tool // what short conversations of ours are rendered with
	masks                 bool        // the template has {% generation %}
	oneText               bool        // the template refuses content beside the reasoning of a call
}

// Words that no template writes, to find a message in a rendered text by.
const (
	probeUser      = "honeuser"
	probeContent   = "honecontent"
	probeReasoning = "honereasoning"
	probeArgument  = "honeargument"
	probeTool      = "honetool"
)

// NewVendor compiles the template and learns from it how completions end and where reasoning stands. A template that
// does not compile, writes no assistant messages, or whose tool calls are in no known form is a *fault.Error.
func NewVendor(tok *tokenizer.Tokenizer, o VendorOptions) (*Vendor, error) {
	if o.Name == "" {
		o.Name = "the model's chat template"
	}
	if o.Now.IsZero() {
		o.Now = defaultNow()
	}
	var limits jinja.Limits
	if o.own != nil {
		limits.Depth = 4 * maxNested // each level of a schema is a call or two
	}
	compiled, err := jinja.CompileWith(o.Name, o.Template, jinja.Options{Limits: limits})
	if err != nil {
		return nil, err
	}
	v := &Vendor{tok: tok, options: o, template: compiled, format: o.Format, danger: newDanger(tok)}
	if v.format.Name() == "" {
		detected, ok := toolcall.Detect(o.Template)
		if !ok {
			return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot tell how the model writes tool calls",
				Where: o.Name, Why: "the template has the marks of no known form",
				Next: "name one with model.tool_format: " + strings.Join(toolcall.Names(), ", ")}
		}
		v.format = detected
	}
	if err := v.checkVariables(); err != nil {
		return nil, err
	}
	v.masks = generationTag().MatchString(o.Template)
	err = v.learn()
	if err != nil { // some templates iterate over the tools unasked
		v.probeTools = probeTools()
		if v.learn() == nil {
			err = nil
		}
	}
	if err != nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot prompt by the chat template",
			Where: o.Name, Err: err, Next: "give another one with model.chat_template"}
	}
	return v, nil
}

func generationTag() *regexp.Regexp { return regexp.MustCompile(`\{%[-+]?\s*generation\s*[-+]?%\}`) }

// KnowsTools reports whether a template writes tools and calls. One that does not leaves both out silently.
func KnowsTools(source string) bool {
	compiled, err := jinja.Compile("", source)
	if err != nil {
		return false
	}
	v := &Vendor{template: compiled, options: VendorOptions{Now: defaultNow(), Template: source}, danger: &danger{}}
	v.format, _ = toolcall.Detect(source)
	c, err := v.conversation(probeTurn(probeCall("")), probeTools())
	if err != nil {
		return false
	}
	listed, _, err := c.text(c.shift+1, true)
	if err != nil || !strings.Contains(listed, probeTool) {
		return false
	}
	v.learnArguments()
	if c, err = v.conversation(c.messages, c.tools); err != nil {
		return false
	}
	called, _, err := c.text(c.shift+2, false)
	return err == nil && strings.Contains(called, probeArgument)
}

func probeCall(reasoning string) chat.Message {
	return chat.Message{Role: chat.Assistant, ReasoningContent: reasoning,
		ToolCalls: []chat.ToolCall{{ID: "call_0", Name: probeTool, Arguments: `{"honekey": "` + probeArgument + `"}`}}}
}

func probeTools() []chat.Tool {
	return []chat.Tool{{Name: probeTool, Description: probeTool, InputSchema: []byte(
		`{"type": "object", "properties": {"honekey": {"type": "string", "description": "honekey"}}, "required": ["honekey"]}`)}}
}

// probeTurn is a conversation of one assistant message and what follows it.
func probeTurn(m chat.Message, after ...chat.Message) []chat.Message {
	return append([]chat.Message{{Role: chat.User, Content: probeUser}, m}, after...)
}

// learn asks the template for a text and a call.
func (v *Vendor) learn() error {
	text := chat.Message{Role: chat.Assistant, Content: probeContent}
	next := chat.Message{Role: chat.User, Content: probeUser}
	stop, inText, err := v.ending(probeTurn(text, next), probeContent)
	if err != nil {
		return err
	}
	v.afterText, v.open = stop, !inText
	if err := v.learnReasoning(); err != nil {
		return err
	}
	c, err := v.conversation(probeTurn(text), v.probeTools)
	if err != nil {
		return err
	}
	prompt, _, err := c.text(c.shift+1, true)
	if err != nil {
		return err
	}
	_, opened, closed := v.reasoning.opening(prompt)
	v.opened = opened && !closed
	t, err := c.turn(c.shift + 1)
	if err != nil {
		return err
	}
	v.probed = t.completion
	v.learnArguments()
	v.learnBeside()
	result := chat.Message{Role: chat.ToolRole, ToolCallID: "call_0", Name: probeTool, Content: probeUser}
	if v.afterCalls, _, err = v.ending(probeTurn(probeCall(""), result), probeArgument); err != nil {
		v.afterCalls = v.afterText // a template without calls is of use for talk
	}
	v.openedBehindResults = v.opened
	if c, err = v.conversation(probeTurn(probeCall(""), result), v.probeTools); err == nil {
		if prompt, _, err = c.text(c.shift+3, true); err == nil {
			_, opened, closed = v.reasoning.opening(prompt)
			v.openedBehindResults = opened && !closed
		}
	}
	for _, s := range []string{v.afterText, v.afterCalls, v.options.EOS} {
		if id, ok := v.tok.ID(s); ok && !slices.Contains(v.stops, id) {
			v.stops = append(v.stops, id)
		}
	}
	if len(v.stops) == 0 {
		return fmt.Errorf("it writes no special token of the vocabulary behind an assistant message")
	}
	return nil
}

// learnArguments finds out in which form the template takes a call's arguments.
func (v *Vendor) learnArguments() {
	if v.textArguments = v.options.own != nil; v.textArguments {
		return // so that they stay as they were sampled
	}
	for _, v.textArguments = range []bool{false, true} {
		c, err := v.conversation(probeTurn(probeCall("")), v.probeTools)
		if err != nil {
			return
		}
		if written, _, err := c.text(c.shift+2, false); err == nil && strings.Contains(written, probeArgument) {
			return
		}
	}
	v.textArguments = false
}

// ending returns the special token behind the second message of a conversation of three, and whether the template
// writes it as part of that message. mark is what the message holds.
func (v *Vendor) ending(messages []chat.Message, mark string) (stop string, own bool, err error) {
	c, err := v.conversation(messages, v.probeTools)
	if err != nil {
		return "", false, err
	}
	written, _, err := c.text(c.shift+2, false)
	if err != nil {
		return "", false, err
	}
	at := strings.LastIndex(written, mark)
	if at < 0 {
		return "", false, fmt.Errorf("it does not write %q of an assistant message", mark)
	}
	// With open set, what a text ends with is known to be no part of the message; a call's own tokens are none either.
	if start, end := v.danger.lastSpecial(written[at:]); start >= 0 && !v.open {
		return written[at:][start:end], true, nil
	}
	followed, _, err := c.text(c.shift+3, true)
	if err != nil {
		return "", false, err
	}
	if rest, ok := strings.CutPrefix(followed, strings.TrimRight(written, "\n")); ok {
		if start, end := v.danger.firstSpecial(rest); start >= 0 {
			return rest[start:end], false, nil
		}
	}
	return v.options.EOS, false, nil
}

// StopIDs are the ids that end a completion.
func (v *Vendor) StopIDs() []int32 { return slices.Clone(v.stops) }

// Template is the template's text, for chat_template.jinja beside the weights. It begins with what other servers are
// not given: the system message, the values of Variables, and the date.
func (v *Vendor) Template() string {
	if own := v.options.own; own != nil {
		return own.template()
	}
	return presets(v.options) + v.options.Template
}

// ToolFormat is how the model writes calls.
func (v *Vendor) ToolFormat() toolcall.Format { return v.format }

// Prompt renders a conversation up to and including the opening of the next assistant message.
func (v *Vendor) Prompt(messages []chat.Message, tools []chat.Tool) ([]int32, error) {
	c, err := v.conversation(messages, tools)
	if err != nil {
		return nil, err
	}
	last, _, err := c.text(len(c.messages), true)
	if err != nil {
		return nil, err
	}
	var s *sequence
	for i, m := range c.messages {
		if m.Role != chat.Assistant {
			continue
		}
		t, err := c.turn(i)
		if err != nil {
			s = nil // no completion that the template shows; what holds it is encoded as a whole
			continue
		}
		if s == nil || !s.extends(t.prompt) {
			s = &sequence{c: c}
		}
		s.context(t.prompt)
		s.completion(i, t)
	}
	if s == nil || !s.extends(last) {
		s = &sequence{c: c}
	}
	s.context(last)
	return s.ids(), nil
}

// Completion renders an assistant message as it would be sampled, its stop id last. One whose calls Parse would not
// read back is an error.
func (v *Vendor) Completion(m chat.Message) ([]int32, error) {
	if m.Role != chat.Assistant {
		return nil, badMessage(m, "only an assistant message is a completion")
	}
	c, err := v.conversation(probeTurn(m), v.probeTools)
	if err != nil {
		return nil, err
	}
	t, err := c.turn(len(c.messages) - 1)
	if err != nil {
		return nil, err
	}
	s := &sequence{c: c}
	s.context(t.prompt)
	s.completion(1, t)
	ids := s.parts[len(s.parts)-1].ids
	return ids, c.readsBack(m, t, ids)
}
