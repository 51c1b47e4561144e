package approval

import (
	"context"

	"hone/internal/chat"
	"hone/internal/episode/rollout"
	"hone/internal/episode/trajectory"
)

// Wrap returns tools whose sessions send only the calls that the gate allows. Results come in call order, each with
// the decision in Approval; a denied call has a result that says so.
func (g *Gate) Wrap(inner rollout.Tools) rollout.Tools { return &gatedTools{g, inner} }

type gatedTools struct {
	gate  *Gate
	inner rollout.Tools
}

func (t *gatedTools) Open(ctx context.Context, episode string, templates ...rollout.Template) (rollout.Session, error) {
	s, err := t.inner.Open(ctx, episode, templates...)
	if err != nil {
		return nil, err
	}
	return &session{t.gate, s}, nil
}

type session struct {
	gate *Gate
	rollout.Session
}

// Call decides all calls of the turn before any is sent, so that a person sees them in the model's order, and then
// sends the allowed ones together.
func (s *session) Call(ctx context.Context, calls []chat.ToolCall) []trajectory.ToolResult {
	results := make([]trajectory.ToolResult, len(calls))
	decisions := make([]Decision, len(calls))
	var allowed []chat.ToolCall
	var places []int
	for i, call := range calls {
		decisions[i] = s.gate.Decide(ctx, call, Place{})
		if decisions[i].Allowed {
			allowed, places = append(allowed, call), append(places, i)
		} else {
			results[i] = Denied(call, decisions[i])
		}
	}
	if len(allowed) == 0 {
		return results
	}
	for k, r := range s.Session.Call(ctx, allowed) {
		i := places[k]
		r.Approval = decisions[i].Why
		results[i] = r
	}
	return results
}

// Probe decides the scenario's calls as it does the model's.
func (s *session) Probe(ctx context.Context, call chat.ToolCall) trajectory.ToolResult {
	d := s.gate.Decide(ctx, call, Place{})
	if !d.Allowed {
		return Denied(call, d)
	}
	r := s.Session.Probe(ctx, call)
	r.Approval = d.Why
	return r
}

// Denied is the result of a call that was not sent; Text is what the model sees.
func Denied(call chat.ToolCall, d Decision) trajectory.ToolResult {
	return trajectory.ToolResult{Call: call, Status: trajectory.CallDenied, Text: "The call was denied: " + d.Why,
		Error: d.Why, Approval: d.Why}
}
