// Package toolcall reads tool calls as they stand in a model's text, in the wire form of each model family.
//
// A Format makes a Parser that reads calls from a text in chunks; a whole text is a text in one chunk.
// Nothing is swallowed: every byte of the text belongs to exactly one Event, a block that is no well-formed call stays
// in the content with the reason beside it, and a block that does not end is flagged.
//
// Reasoning between tags such as <think> is content here; the caller takes it off first. Only the harmony form, whose
// reasoning is a message of its own, has it told apart.
package toolcall

import (
	"fmt"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/fault"
)

// Format is one wire form. Named, Detect and All have them; it holds no state and may be shared.
type Format struct {
	name    string
	also    []string // other names in use
	lead    int      // newlines that stand between content and calls, at most
	blank   string   // what may stand between calls
	id      func(index int, c call) string
	validID func(id string) bool // nil where the wire holds no ids
	frame   Frame                // the zero value where arguments are not written as JSON
	marks   []string
	machine func() machine
}

// Options of a Parser. The zero value reads strictly and without schemas.
type Options struct {
	// Tools type the values of forms that write all of them as text.
	Tools []chat.Tool
	// Repair mends JSON that is not, within the rules of RepairObject. Without it such a block is malformed.
	Repair bool
}

// Result is what a text holds.
type Result struct {
	Content   string          // the text outside calls, without the newlines and tags that set calls apart
	Reasoning string          // of the harmony form; empty in the others
	Calls     []chat.ToolCall // in order; arguments are the JSON text as written wherever the wire holds JSON
	Complete  bool            // false where the text ends inside a block
	Repairs   []Repair        // what was put right to understand the calls, in the order of the text
	Err       string          // why the first bad block is no call, or that the text ends inside one; else empty
}

// Event is one piece of the text, in its order. The Raw of all events together are the text.
type Event struct {
	Raw       string
	Content   string         // what of it is content
	Reasoning string         // what of it is reasoning
	Call      *chat.ToolCall // the call it holds
	Err       string         // why its content is no call though it began as one
}

// All returns every form, in a fixed order.
func All() []Format {
	return slices.Concat(tagFormats(), deepseekFormats(), bracketFormats(), []Format{harmonyFormat()})
}

// Names of all forms, which Named takes.
func Names() []string {
	var names []string
	for _, f := range All() {
		names = append(names, f.name)
	}
	return names
}

// ByName returns the form with a name; the names that vLLM gives its parsers work too. The error is a *fault.Error.
func ByName(name string) (Format, error) {
	for _, f := range All() {
		if f.name == name || slices.Contains(f.also, name) {
			return f, nil
		}
	}
	return Format{}, &fault.Error{
		Code: fault.CodeUsage, What: fmt.Sprintf("unknown tool-call format %q", name),
		Why: "no reader is written for it", Next: "use one of " + strings.Join(Names(), ", "),
	}
}

// Hermes is the form of Hermes, Qwen2.5, Qwen3 and hone's own template for SmolLM2:
//
//	<tool_call>
//	{"name": "hash", "arguments": {"text": "hi"}}
//	</tool_call>
func Hermes() Format { return tagFormats()[0] }

// Name of the form.
func (f Format) Name() string { return f.name }

// Parse reads a whole text.
func (f Format) Parse(text string, o Options) Result {
	p := f.Parser(o)
	p.Feed(text)
	_, result := p.Close()
	return result
}

// callID is what most servers write.
func callID(index int, _ call) string { return fmt.Sprintf("call_%d", index) }

// nineDigits is a valid id of Mistral's template, which demands nine letters or digits.
func nineDigits(index int, _ call) string { return fmt.Sprintf("%09d", index) }

func isNineAlphanumerics(id string) bool {
	return len(id) == 9 && strings.Trim(id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}
