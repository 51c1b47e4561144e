package access

import (
	"context"
	"slices"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
)

// A denial is answered in the place of a result, with who decided; the person is told where in the run each call
// stands, and denied calls count. The scenario's own calls are not asked about, and a rule denies them too.
func TestSessionsAreGated(t *testing.T) {
	var asked []Place
	g := gate(t, GateOptions{
		Mode: Ask,
		Deny: []string{"files/write"},
		Prompter: prompt(func(_ context.Context, q Question) (Answer, error) {
			asked = append(asked, q.Place)
			return []Answer{Yes, No}[len(asked)%2], nil
		}),
	})
	inner := &fakeTools{}
	s, err := g.Wrap(inner,
		func(episode string) Place { return Place{Task: episode, Episode: 2, Episodes: 3} }).Open(t.Context(), "tidy")
	if err != nil {
		t.Fatal(err)
	}
	call := func(names ...string) (calls []chat.ToolCall) {
		for _, n := range names {
			calls = append(calls, chat.ToolCall{Name: n})
		}
		return calls
	}
	results := append(s.Call(t.Context(), call("add", "sub", "write")), s.Call(t.Context(), call("add"))...)
	var got []trajectory.CallStatus
	for _, r := range results {
		got = append(got, r.Status)
	}
	if want := []trajectory.CallStatus{trajectory.CallDenied, trajectory.CallOK, trajectory.CallDenied,
		trajectory.CallDenied}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if r := results[2]; r.Approval != `denied by the rule "files/write"` ||
		r.Text != "The call was denied: "+r.Approval || results[1].Approval != "allowed by the user" {
		t.Errorf("%+v", results)
	}
	if want := []Place{{"tidy", 2, 3, 1}, {"tidy", 2, 3, 2}, {"tidy", 2, 3, 4}}; !slices.Equal(asked, want) {
		t.Errorf("asked at %+v", asked)
	}
	if r := s.Probe(t.Context(), call("add")[0]); r.Status != trajectory.CallOK || len(asked) != 3 {
		t.Errorf("a call of the scenario: %+v, asked %d times", r, len(asked))
	}
	if r := s.Probe(t.Context(), call("write")[0]); r.Status != trajectory.CallDenied || len(inner.sent) != 2 {
		t.Errorf("a denied call of the scenario: %+v, sent %v", r, inner.sent)
	}
}

// What nobody could be asked about is told once a tool, and not of a run that was stopped.
func TestUnaskedIsToldOnce(t *testing.T) {
	var told []string
	g := gate(t, GateOptions{Mode: Ask, Unasked: func(tool, why string) { told = append(told, tool+": "+why) }})
	stopped, stop := context.WithCancel(t.Context())
	stop()
	g.Decide(stopped, chat.ToolCall{Name: "sub"}, Place{})
	for range 3 {
		g.Decide(t.Context(), chat.ToolCall{Name: "add"}, Place{})
	}
	if want := `add: denied because nobody can be asked and no rule allows it; to send it, add "calc/add" to mcp.approval.allow`; !slices.Equal(told, []string{want}) {
		t.Errorf("told %q", told)
	}
}
