package access

import (
	"context"

	"hone/internal/chat"
	"hone/internal/episode/environment"
	"hone/internal/episode/trajectory"
)

// Wrap returns tools whose sessions send only the calls that the gate allows. Results come in call order, each with
// the decision in Approval; a denied call has a result that says so. at says where in a run an episode stands, for the
// person who is asked; without it nothing is said of that.
func (g *Gate) Wrap(inner environment.Tools, at func(episode string) Place) environment.Tools {
	return &gatedTools{g, inner, at}
}

type gatedTools struct {
	gate  *Gate
	inner environment.Tools
	at    func(episode string) Place
}

func (t *gatedTools) Open(
	ctx context.Context, episode string, templates ...environment.Template,
) (environment.Session, error) {
	s, err := t.inner.Open(ctx, episode, templates...)
	if err != nil {
		return nil, err
	}
	gated := &session{gate: t.gate, Session: s}
	if t.at != nil {
		gated.place = t.at(episode)
	}
	return gated, nil
}

type session struct {
	gate  *Gate
	place Place // Call counts the calls
	environment.Session
}

// Call decides all calls of the turn before any is sent, so that a person sees them in the model's order, and then
// sends the allowed ones together.
func (s *session) Call(ctx context.Context, calls []chat.ToolCall) []trajectory.ToolResult {
	results := make([]trajectory.ToolResult, len(calls))
	decisions := make([]Decision, len(calls))
	var allowed []chat.ToolCall
	var places []int
	for i, call := range calls {
		s.place.Call++
		decisions[i] = s.gate.Decide(ctx, call, s.place)
		if decisions[i].Allowed {
			allowed, places = append(allowed, call), append(places, i)
		} else {
			results[i] = Denial(call, decisions[i])
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

// Probe sends the scenario's calls unasked, for they are the user's own, unless they are denied.
func (s *session) Probe(ctx context.Context, call chat.ToolCall) trajectory.ToolResult {
	if why := s.gate.Refusal(call.Name); why != "" {
		return Denial(call, Decision{Why: why})
	}
	return s.Session.Probe(ctx, call)
}

// Denial is the result of a call that was not sent; Text is what the model sees.
func Denial(call chat.ToolCall, d Decision) trajectory.ToolResult {
	return trajectory.ToolResult{Call: call, Status: trajectory.CallDenied, Text: "The call was denied: " + d.Why,
		Error: d.Why, Approval: d.Why}
}
