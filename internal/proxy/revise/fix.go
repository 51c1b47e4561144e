// Package revise revises the tool calls of another model, the upstream: a deterministic Fixer, a Decision that asks a
// model only where the fixer does not do, the environment in which that model is trained, and what it is measured by.
// Mode is all of it before an upstream: an answer is mended by the fixer, or revised by the sidecar's model, or goes on
// as it is.
//
// Example. The upstream answers {"name": "hsh", "arguments": "{'n': '3'}"} where the tool is hash(n: integer). The
// fixer alone makes {"name": "hash", "arguments": {"n": 3}} of it. Had it named a tool that is near to none, the
// sidecar would be asked.
package revise

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/chat/schema"
	"hone/internal/text/toolcall"
)

// Change is one thing that the fixer put right.
type Change struct {
	Kind  string `json:"kind"`            // of Rescued, ToolName, ... or a toolcall.Repair
	Where string `json:"where,omitempty"` // the tool, or the place in its arguments as a JSON pointer
}

// Kinds of changes beside those of package toolcall.
const (
	Rescued      = "rescued"       // a call that stood in the text
	ToolName     = "tool_name"     // the name of a tool, near to one that there is
	NoArguments  = "no_arguments"  // arguments that were empty, and are {} now
	Unwrapped    = "unwrapped"     // {"arguments": {...}} in the place of the arguments
	ArgumentName = "argument_name" // the name of an argument, near to one that there is
	Coerced      = "coerced"       // a value of another type, which reads as one of the right type in one way only
	Dropped      = "dropped"       // an argument that the schema forbids
	EnumCase     = "enum_case"     // a value of an enumeration, but for its case
)

// Problem is what is wrong with a call.
type Problem struct {
	Call  int    `json:"call"`            // which of the calls, from 0; -1: the message
	Where string `json:"where,omitempty"` // a JSON pointer into the arguments; "" is the whole
	Text  string `json:"text"`            // in words that a model can act on
}

func (p Problem) String() string {
	if p.Where == "" {
		return p.Text
	}
	return p.Where + ": " + p.Text
}

// Fixed is a message behind the fixer.
type Fixed struct {
	Message  chat.Message `json:"message"`
	Changes  []Change     `json:"changes,omitempty"`
	Problems []Problem    `json:"problems,omitempty"` // that are left; none: its calls are valid, or it has none
}

// Valid reports whether nothing is wrong with the message that a rule could tell.
func (f Fixed) Valid() bool { return len(f.Problems) == 0 }

// IsPlain reports whether it makes no call.
func (f Fixed) IsPlain() bool { return len(f.Message.ToolCalls) == 0 }

// Fixer mends tool calls without a model. It never touches a valid call, invents no value, and mending twice is mending
// once. It may be used from many goroutines.
type Fixer struct {
	tools map[string]*tool
	names []string    // in the order of the tools
	list  []chat.Tool // whose schemas can be read
}

type tool struct {
	schema   *schema.Schema
	document *schema.Document
}

// NewFixer returns the fixer for calls of these tools.
func NewFixer(tools []chat.Tool) *Fixer {
	f := &Fixer{tools: map[string]*tool{}}
	for _, t := range tools {
		x := &tool{schema: schema.Compile(t.InputSchema), document: schema.ReadDocument(t.InputSchema)}
		if x.document.Root != nil {
			f.list = append(f.list, t)
		}
		f.tools[t.Name] = x
		f.names = append(f.names, t.Name)
	}
	return f
}

// Fix mends a message: calls that stand in its text, names, JSON, and values. A message without calls that holds none
// is left alone.
func (f *Fixer) Fix(m chat.Message) Fixed {
	out := Fixed{Message: m}
	if len(m.ToolCalls) == 0 {
		content, calls, changes := f.rescue(m.Content)
		if len(calls) == 0 {
			if looksLikeCall(m.Content, f.names) {
				out.Problems = []Problem{{Call: -1, Text: "the text begins a tool call that cannot be read"}}
			}
			return out
		}
		out.Message.Content, out.Message.ToolCalls, out.Changes = content, calls, changes
	} else {
		out.Message.ToolCalls = slices.Clone(m.ToolCalls)
	}
	for i := range out.Message.ToolCalls {
		changes, problems := f.call(i, &out.Message.ToolCalls[i])
		out.Changes, out.Problems = append(out.Changes, changes...), append(out.Problems, problems...)
	}
	return out
}

// Problems are what is wrong with a message as it stands.
func (f *Fixer) Problems(m chat.Message) (all []Problem) {
	for i, c := range m.ToolCalls {
		all = append(all, f.judge(i, c)...)
	}
	if len(m.ToolCalls) == 0 && looksLikeCall(m.Content, f.names) {
		all = append(all, Problem{Call: -1, Text: "the text begins a tool call that cannot be read"})
	}
	return all
}

// judge says what is wrong with a call as it stands.
func (f *Fixer) judge(i int, c chat.ToolCall) []Problem {
	t, known := f.tools[c.Name]
	if !known {
		return []Problem{
			{Call: i, Text: fmt.Sprintf("there is no tool %q; there are %s", c.Name, strings.Join(f.names, ", "))},
		}
	}
	verdict, reasons := t.schema.Validate(c.Arguments)
	if verdict != schema.Invalid {
		return nil
	}
	var all []Problem
	for _, r := range reasons {
		all = append(all, Problem{Call: i, Where: r.Pointer, Text: r.Text})
	}
	return all
}

// call mends one call in place.
func (f *Fixer) call(i int, c *chat.ToolCall) (changes []Change, problems []Problem) {
	if problems = f.judge(i, *c); len(problems) == 0 {
		return nil, nil
	}
	if _, known := f.tools[c.Name]; !known {
		name, ok := f.near(c.Name)
		if !ok {
			return f.mendJSON(c), f.judge(i, *c)
		}
		changes = append(changes, Change{ToolName, name})
		c.Name = name
	}
	changes = append(changes, f.mendJSON(c)...)
	coerced, more := f.tools[c.Name].coerce(c.Arguments)
	if len(more) > 0 {
		c.Arguments, changes = coerced, append(changes, more...)
	}
	return changes, f.judge(i, *c)
}

// mendJSON makes a JSON object of arguments that are none, where there is one way only.
func (f *Fixer) mendJSON(c *chat.ToolCall) (changes []Change) {
	if strings.TrimSpace(c.Arguments) == "" || strings.TrimSpace(c.Arguments) == "null" {
		c.Arguments = "{}"
		return []Change{{NoArguments, c.Name}}
	}
	if v, err := chat.Decode([]byte(c.Arguments), chat.DecodeOptions{}); err == nil {
		if _, ok := v.(*chat.Object); ok {
			return nil
		}
	}
	object, kinds, err := toolcall.RepairObject(c.Arguments)
	if err != nil || !json.Valid([]byte(object)) {
		return nil
	}
	c.Arguments = object
	for _, k := range kinds {
		changes = append(changes, Change{string(k), c.Name})
	}
	return changes
}
