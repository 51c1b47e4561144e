package reward_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/chat"
	"hone/internal/episode/reward"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/testing/fakes"
)

func turnsOf(p reward.Turns, s *scenario.Scenario, t *trajectory.Trajectory) []float64 {
	fakes.ScoreAlone(reward.Scorer{Turns: &p}, s, t)
	return t.TurnRewards
}

// A chain of two calls, each of which earns when it is made; the answer earns the rest. With progress, the checks that
// hold from a turn on earn beside.
func TestTurnRewardsByHand(t *testing.T) {
	look, hash := call("look", `{}`), right
	s := hashScenario()
	s.Gold = []scenario.Gold{{Name: "look", Arguments: json.RawMessage(`{}`)}, {Name: "hash", Arguments: hashArguments}}
	made := func(calls ...chat.ToolCall) *trajectory.Trajectory {
		return episode{calls: calls, answer: "d8932aac"}.trajectory()
	}
	for name, c := range map[string]struct {
		p    reward.Turns
		t    *trajectory.Trajectory
		want []float64
	}{
		"gold": {reward.Turns{}, made(look, hash), []float64{0.35, 0.35, 1.2}},
		// of the two checks one is of a call
		"with progress":         {reward.Turns{Progress: 3}, made(look, hash), []float64{0.35, 3.35, 1.2}},
		"wrong arguments first": {reward.Turns{}, made(wrong, look), []float64{0.1, 0.35, 0}},
		"nothing, then a call":  {reward.Turns{}, made(call("nowhere", `{}`), look), []float64{0, 0.35, 0}},
	} {
		if got := turnsOf(c.p, s, c.t); !near(got, c.want) {
			t.Errorf("%s: %v, want %v; %+v", name, got, c.want, c.t.Terms)
		}
	}
	// A turn of a dialogue earns by what was seen of the world after it.
	s = &scenario.Scenario{ID: "x", Task: "Do it.", Checks: []scenario.Check{
		{Type: scenario.StateCheck, Name: "list", Contains: ptr("hat"), AfterTurn: 1},
		{Type: scenario.StateCheck, Name: "list", Contains: ptr("coat"), AfterTurn: 2},
	}}
	t2 := made(look)
	for i, text := range []string{"hat", "nothing"} {
		t2.Seen = append(t2.Seen, trajectory.Observation{Look: s.Checks[i].Look(), Status: trajectory.Seen, Text: text})
	}
	if got := turnsOf(reward.Turns{Progress: 2}, s, t2); !near(got, []float64{1, 0.2}) { // the answer ends it
		t.Errorf("%v; %+v", got, t2.Terms)
	}
}

func near(got, want []float64) bool {
	return slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
}

// Without progress the turns' rewards add up to the episode's, whatever it did; with it, to as much more as checks of
// calls hold.
func TestTurnRewardsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := rapid.SampledFrom([]chat.ToolCall{right, wrong, call("count", `{}`), call("hash", `{`),
			call("nowhere", `{}`)})
		e := episode{
			calls: rapid.SliceOfN(pick, 0, 6).Draw(t, "calls"),
			status: rapid.SampledFrom([]trajectory.CallStatus{"", trajectory.CallInvalid,
				trajectory.CallToolError}).Draw(t, "status"),
			content: rapid.SampledFrom([]string{"", "text"}).Draw(t, "content"),
			answer:  rapid.SampledFrom([]string{"", "d8932aac", "no"}).Draw(t, "answer"),
			parse:   rapid.SampledFrom([]string{"", "unterminated"}).Draw(t, "parse"),
		}
		for _, progress := range []float64{0, 0.5} {
			got := e.trajectory()
			sum, want := 0.0, 0.0
			for _, r := range turnsOf(reward.Turns{Progress: progress}, hashScenario(), got) {
				sum += r
			}
			if want = got.Reward; reward.Unmet(hashScenario().Checks[0], got, nil) == "" {
				want += progress
			}
			if math.Abs(sum-want) > 1e-9 || len(got.TurnRewards) != len(got.Turns) {
				t.Fatalf("%+v: %v of %d turns, the reward is %v", e, got.TurnRewards, len(got.Turns), got.Reward)
			}
		}
	})
}
