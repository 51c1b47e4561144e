package collect

import (
	"encoding/json"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/job"
	"hone/internal/testing/hosttest"
)

// Episodes that a limit cut are told apart from those that passed, with the key to raise.
func TestCutEpisodesAreTold(t *testing.T) {
	ended := Tally{Outcomes: map[trajectory.Outcome]int{}, cut: map[trajectory.StopReason]int{}}
	checks := func(score float64) []trajectory.Term { return []trajectory.Term{{Name: "checks", Score: score}} }
	for _, x := range []trajectory.Trajectory{
		{Outcome: trajectory.Limit, StopReason: trajectory.StopMaxTurns, Terms: checks(1)},
		{Outcome: trajectory.Limit, StopReason: trajectory.StopMaxTurns, Terms: checks(0)},
		{Outcome: trajectory.Limit, StopReason: trajectory.StopMaxTokens},
		{Outcome: trajectory.OK, Terms: checks(0)},
	} {
		ended.add(&x)
	}
	h, said := hosttest.Heard(t)
	ended.say(&job.Job{Env: job.Env{Host: h}})
	if want := "passed or not: 3; raise rollout.max_tokens (1), rollout.max_turns (2) for another --output-dir\n"; !strings.HasSuffix(said.String(), want) || ended.passed != 1 {
		t.Errorf("%d passed, %q, want %q", ended.passed, said, want)
	}
	if ended.shown != 0 {
		t.Errorf("sft is said to learn from %d episodes, all cut or failed", ended.shown)
	}
	for _, x := range []trajectory.Trajectory{{Outcome: trajectory.OK, Terms: checks(1)}, {Outcome: trajectory.OK}} {
		ended.add(&x)
	}
	if ended.shown != 2 {
		t.Errorf("sft learns from %d episodes, want 2", ended.shown)
	}
}

// Gold calls that the limits of an episode cut are told before any is made.
func TestGoldThatIsTooLong(t *testing.T) {
	two := []scenario.Gold{{Name: "look", Arguments: json.RawMessage("{}")}, {Name: "buy", Arguments: json.RawMessage("{}")}}
	asking := []scenario.Gold{{Name: "look", Arguments: json.RawMessage("{}")}, {Name: "buy", Arguments: json.RawMessage("{}"), Asks: "Shall I?"}}
	list := []scenario.Scenario{{ID: "one", Gold: two[:1]}, {ID: "two", Gold: two}, {ID: "asking", Gold: asking}}
	for _, c := range []struct {
		turns, calls int
		want         string
	}{
		{2, 2, "note: 2 scenarios of 3 take more than 2 turns to show, which is rollout.max_turns: they will be cut; the longest takes 4\n"},
		{4, 1, "note: 2 scenarios of 3 take more than 1 call to show, which is rollout.max_tool_calls: they will be cut; the longest takes 2\n"},
		{4, 2, ""},
	} {
		h, said := hosttest.Heard(t)
		j := &job.Job{Env: job.Env{Host: h}, Config: config.Default()}
		j.Config.Rollout.MaxTurns, j.Config.Rollout.MaxToolCalls = c.turns, c.calls
		if sayTooLong(j, list); said.String() != c.want {
			t.Errorf("%d turns, %d calls: %q, want %q", c.turns, c.calls, said, c.want)
		}
	}
}
