package llm

import (
	"strings"
	"testing"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// Collected episodes are looked at as trained ones are: between turns, at the end, and where a limit ended them; what
// cannot be looked at masks them.
func TestCollectLooks(t *testing.T) {
	first := scenario.Check{Type: "state", Name: "look", AfterTurn: 1}
	last := scenario.Check{Type: "state", Name: "look"}
	checks := []scenario.Check{first, last, {Type: "unchanged", Name: "look"}}
	for name, limits := range map[string]Limits{"ends": {}, "is cut off": {MaxTurns: 1}} {
		s := &script{responses: []Response{calling("a"), answering("done")}}
		got, err := Collect(t.Context(), s, tools{}, Episode{Task: "t", Checks: checks, Limits: limits, Approve: approveAllBut("")})
		if err != nil || !got.Outcome.Trainable() || len(got.Seen) != 3 || got.Seen[0].Look != first.Look() || got.Seen[1].Text != "did look" || got.Seen[2].Text != "[]" {
			t.Errorf("an episode that %s: %+v, %v", name, got, err)
		}
	}
	for status, outcome := range map[trajectory.CallStatus]trajectory.Outcome{
		trajectory.CallTransportError: trajectory.EnvironmentError, trajectory.CallDenied: trajectory.InfrastructureError} {
		for _, check := range checks {
			s := &script{responses: []Response{calling("a"), answering("done")}}
			got, err := Collect(t.Context(), s, tools{"look": status}, Episode{Task: "t", Checks: []scenario.Check{check}, Approve: approveAllBut("")})
			if err != nil || got.Outcome != outcome || !strings.Contains(got.Error, "checks[0] ("+check.Type+") cannot be evaluated") {
				t.Errorf("%s, %+v: %+v, %v", status, check, got, err)
			}
		}
	}
}
