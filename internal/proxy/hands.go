package proxy

import (
	"context"
	"fmt"
	"slices"
	"time"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/trajectory"
	"hone/internal/grade"
	"hone/internal/serve"
)

// Hands make calls in the client's place.
type Hands struct {
	Tools environment.Tools // send what they are given
	// Approve says whether a call may be sent, and why; nobody is asked about one that is only tried.
	Approve func(ctx context.Context, c chat.ToolCall) (why string, allowed bool)
	// ReadOnly is of each tool there is, by the name that models use, whether its server says that it changes nothing
	// (readOnlyHint of MCP's annotations). It is worth as much as the server is trusted, so a call is sent only where
	// Approve allows it as well.
	ReadOnly map[string]bool
	// Speculate has calls that change nothing sent also where the small model is not sure of them, while the upstream
	// reads. The result is used where the upstream makes the same calls.
	Speculate bool
}

// made are calls that were made, with their results.
type made struct {
	results  []trajectory.ToolResult
	readOnly bool // none of those that were sent changes anything
	took     time.Duration
	err      error // the servers could not be opened: nothing was sent
}

// may says why calls are not made here; "" where all of them are. Either all are made, or none.
func (h *Hands) may(ctx context.Context, calls []chat.ToolCall) string {
	for _, c := range calls {
		if _, known := h.ReadOnly[c.Name]; !known {
			return fmt.Sprintf("%s is no tool of the servers", c.Name)
		}
		if why, allowed := h.Approve(ctx, c); !allowed {
			return fmt.Sprintf("%s: %s", c.Name, why)
		}
	}
	return ""
}

// mayTry reports whether calls of which nobody is sure may be made.
func (h *Hands) mayTry(ctx context.Context, calls []chat.ToolCall) bool {
	if h == nil || !h.Speculate || len(calls) == 0 {
		return false
	}
	for _, c := range calls {
		if !h.ReadOnly[c.Name] {
			return false
		}
	}
	return h.may(ctx, calls) == ""
}

// changes reports whether one of the calls may change something.
func (h *Hands) changes(calls []chat.ToolCall) bool {
	return slices.ContainsFunc(calls, func(c chat.ToolCall) bool { return !h.ReadOnly[c.Name] })
}

// make makes calls in a session of their own. A call that may change something is not given up where the client leaves:
// it is made or not, and nobody knows which of one that was cut off.
func (h *Hands) make(ctx context.Context, calls []chat.ToolCall) (m made) {
	if m.readOnly = !h.changes(calls); !m.readOnly {
		ctx = context.WithoutCancel(ctx)
	}
	began := time.Now()
	session, err := h.Tools.Open(ctx, newID())
	if err != nil {
		return made{readOnly: true, err: err}
	}
	m.results = session.Call(ctx, calls)
	m.took = time.Since(began)
	_ = session.Close() // the results are there, whatever the servers say to that
	return m
}

// whole reports whether all calls have the result that was asked for.
func (m made) whole() bool {
	for _, r := range m.results {
		if r.Status != trajectory.CallOK {
			return false
		}
	}
	return m.err == nil
}

// failure is what became of the calls, for a log.
func (m made) failure() string {
	if m.err != nil {
		return m.err.Error()
	}
	for _, r := range m.results {
		if r.Status != trajectory.CallOK {
			return fmt.Sprintf("%s: %s: %.200s", r.Call.Name, r.Status, r.Text)
		}
	}
	return ""
}

// messages are the calls as a message of the assistant's, and their results.
func (m made) messages(said chat.Message) []chat.Message {
	out := []chat.Message{said}
	for i, r := range m.results {
		c := said.ToolCalls[i]
		out = append(out, chat.Message{Role: chat.ToolRole, ToolCallID: c.ID, Name: c.Name, Content: r.Text})
	}
	return out
}

// steps are the calls as a client is told of them.
func (m made) steps(calls []chat.ToolCall) (out []serve.Step) {
	for i, r := range m.results {
		c := calls[i]
		out = append(out, serve.Step{ID: c.ID, Name: c.Name, Arguments: c.Arguments, Status: r.Status, Result: r.Text,
			Approval: r.Approval})
	}
	return out
}

// same reports whether the upstream makes just the calls that were tried.
func same(said, tried []chat.ToolCall) bool {
	if len(said) != len(tried) {
		return false
	}
	for i, c := range said {
		if equal, err := grade.EqualCalls(c, tried[i], nil); err != nil || !equal {
			return false
		}
	}
	return true
}
