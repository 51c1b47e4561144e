package stats

import (
	"strings"
	"testing"

	"hone/internal/episode/trajectory"
)

// What a simulated user said and cost is counted apart, over the episodes that had one.
func TestUsersAreCountedApart(t *testing.T) {
	ended := func(u *trajectory.User) *trajectory.Trajectory {
		return &trajectory.Trajectory{ScenarioID: "x", Outcome: trajectory.OK, User: u, Seconds: 9,
			Turns: []trajectory.Turn{{CompletionIDs: make([]int32, 5)}}}
	}
	yes := func(*trajectory.Trajectory) bool { return true }
	s := NewSystem("a", []*trajectory.Trajectory{
		ended(nil), ended(&trajectory.User{Ended: trajectory.EndedByUser, Turns: 3, PromptTokens: 40,
			CompletionTokens: 8, Seconds: 2}),
		ended(&trajectory.User{Ended: trajectory.EndedByOutOfScope, Turns: 1}),
	}, Criteria{FirstCall: yes, Episode: yes})
	got := Summarize(s, Bootstrap{}).Metrics
	for name, want := range map[string]float64{
		"user_turns": 2, "user_tokens": 24, "user_out_of_scope": 0.5, "completion_tokens": 5, "seconds": 25.0 / 3,
	} {
		if got[name].Mean != want {
			t.Errorf("%s is %v, not %v", name, got[name].Mean, want)
		}
	}
	if s.Rows[1].UserSeconds != 2 || s.Rows[1].UserEnded != trajectory.EndedByUser {
		t.Errorf("%+v", s.Rows[1])
	}
	if facts := (Example{Trajectory: ended(&trajectory.User{Played: "m",
		Ended: trajectory.EndedByUser})}).Facts(); !strings.Contains(facts, "user played by m, ended by user") {
		t.Error(facts)
	}
	alone := NewSystem("b", []*trajectory.Trajectory{ended(nil)}, Criteria{FirstCall: yes, Episode: yes})
	if m, found := Summarize(alone, Bootstrap{}).Metrics["user_turns"]; found {
		t.Errorf("without a user: %+v", m)
	}
}
