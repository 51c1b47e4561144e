package curate

import (
	"fmt"
	"slices"

	"hone/internal/chat"
	"hone/internal/chat/schema"
	"hone/internal/data/dataset"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// Checker holds traces against the schemas of their tools. It keeps what it compiled, since traces share tools.
type Checker struct {
	schemas map[string]*schema.Schema
}

// NewChecker returns one that has compiled nothing yet.
func NewChecker() *Checker { return &Checker{schemas: map[string]*schema.Schema{}} }

func (c *Checker) schemaOf(t chat.Tool) *schema.Schema {
	key := string(t.InputSchema)
	if c.schemas[key] == nil {
		c.schemas[key] = schema.Compile(t.InputSchema)
	}
	return c.schemas[key]
}

// Findings say what is wrong with a trace, as it is now: calls that its tools do not take, calls without a result or
// with that of another call, and that there is nothing to learn from it.
func (c *Checker) Findings(t *Trace) []string {
	var out []string
	r := &t.Row
	tools := r.Tools
	open, learnt := []string{}, false
	for i, m := range r.Messages {
		if m.Role != chat.ToolRole && len(open) > 0 {
			out = append(out, fmt.Sprintf("message %d: the conversation goes on without the result of %q", i, open[0]))
			open = open[:0]
		}
		switch m.Role {
		case chat.Assistant:
			learnt = learnt || r.Trains(i)
			for j, call := range m.ToolCalls {
				open = append(open, call.ID)
				if i >= r.Opening {
					out = append(out, c.call(call, tools, fmt.Sprintf("message %d, call %d", i, j))...)
				}
			}
		case chat.ToolRole:
			at := slices.Index(open, m.ToolCallID)
			if at < 0 {
				out = append(out, fmt.Sprintf("message %d is the result of no call", i))
				continue
			}
			open = slices.Delete(open, at, at+1)
		}
	}
	if !learnt {
		out = append(out, "no assistant message is left to learn from")
	}
	return append(out, t.staleResults()...)
}

// Misfits are the findings of calls that a person edited to what their tools do not take, and has not accepted the
// trace with. What the policy called wrongly is no such: a trace may show how it recovered. Nor is it one that only its
// placeholders do not fit: who edits those would write the values again.
func (c *Checker) Misfits(t *Trace) (out []string) {
	for _, s := range t.rewritten {
		if s.message >= t.Row.Opening {
			call := t.Row.Messages[s.message].ToolCalls[s.call]
			call.Arguments = t.restore(s.written)
			out = append(out, c.call(call, t.Row.Tools, fmt.Sprintf("message %d, call %d", s.message, s.call))...)
		}
	}
	return out
}

func (c *Checker) call(call chat.ToolCall, tools []chat.Tool, where string) []string {
	if len(tools) == 0 {
		return nil // nothing is known of the tools
	}
	i := slices.IndexFunc(tools, func(t chat.Tool) bool { return t.Name == call.Name })
	if i < 0 {
		var names []string
		for _, t := range tools {
			names = append(names, t.Name)
		}
		return []string{where + ": " + fault.NoTool(call.Name, names)}
	}
	verdict, reasons := c.schemaOf(tools[i]).Validate(call.Arguments)
	if verdict != schema.Invalid {
		return nil
	}
	var out []string
	for _, reason := range reasons {
		out = append(out, fmt.Sprintf("%s: arguments of %s: %s", where, call.Name, reason))
	}
	return out
}

// toolErrors are the calls of a trace that went wrong, as far as is known: known is false where nobody wrote that down.
func toolErrors(r *dataset.Row) (failed []failedCall, known bool) {
	for _, m := range r.Messages {
		for _, call := range m.ToolCalls {
			for _, result := range r.Results {
				if result.Call.ID != call.ID {
					continue
				}
				if known = true; result.Status != trajectory.CallOK {
					failed = append(failed, failedCall{call.Name, result.Status})
				}
			}
		}
	}
	return failed, known
}

// failedCall is one that was not answered, or with an error.
type failedCall struct {
	tool   string
	status trajectory.CallStatus
}

func (f failedCall) String() string { return fmt.Sprintf("%s: %s", f.tool, f.status) }
