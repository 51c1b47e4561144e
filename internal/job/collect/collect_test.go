package collect

import (
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/job/episodes"
)

// Progress says of an episode that ended by itself how many checks it passed.
func TestHowAnEpisodeEnded(t *testing.T) {
	answer := func(equals string) scenario.Check { return scenario.Check{Type: "answer", Equals: &equals} }
	for _, x := range []struct {
		checks  []scenario.Check
		outcome trajectory.Outcome
		want    string
	}{
		{[]scenario.Check{answer("5"), answer("6")}, trajectory.OK, "done, 1 of 2 checks"},
		{[]scenario.Check{answer("6")}, trajectory.OK, "done, 0 of 1 check"},
		{nil, trajectory.OK, "done"},
		{[]scenario.Check{answer("5")}, trajectory.Limit, "limit"},
	} {
		s := &scenario.Scenario{Task: "Add.", Checks: x.checks}
		tr := &trajectory.Trajectory{Outcome: x.outcome, Messages: []chat.Message{{Role: chat.User, Content: "Add."}, {Role: chat.Assistant, Content: "5"}}}
		if got := howEnded(new(episodes.Episodes), s, tr); got != x.want {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
}
