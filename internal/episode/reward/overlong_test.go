package reward_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"hone/internal/episode/reward"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// Of each length the term takes away what TRL's soft overlong punishment does.
func TestOverlongIsTRLs(t *testing.T) {
	text, err := os.ReadFile("../../../testdata/reference/trl.json")
	if err != nil {
		t.Fatal(err)
	}
	var trl struct {
		Overlong struct {
			Limit, Buffer int
			Scores        []float64
		}
	}
	if err := json.Unmarshal(text, &trl); err != nil || len(trl.Overlong.Scores) < trl.Overlong.Limit {
		t.Fatalf("%v: %+v", err, trl)
	}
	s := &scenario.Scenario{ID: "x", Task: "Say it."}
	off := earned(t, reward.Scorer{}, s, 3)
	for n, want := range trl.Overlong.Scores {
		r := reward.Scorer{Overlong: &reward.Overlong{Weight: -1, Limit: trl.Overlong.Limit,
			Buffer: trl.Overlong.Buffer}}
		if got := earned(t, r, s, n) - off; math.Abs(got-want) > 1e-6 {
			t.Errorf("%d tokens earn %g, TRL has %g", n, got, want)
		}
	}
}

// earned is the reward of an episode whose first completion has n tokens, and whose second one.
func earned(t *testing.T, r reward.Scorer, s *scenario.Scenario, n int) float64 {
	t.Helper()
	x := &trajectory.Trajectory{Outcome: trajectory.OK, StopReason: trajectory.StopCompleted,
		Turns: []trajectory.Turn{{CompletionIDs: make([]int32, n)}, {CompletionIDs: make([]int32, min(1, n))}}}
	scores, err := r.Score(t.Context(), s,
		trajectory.Group{ScenarioID: s.ID, Trajectories: []*trajectory.Trajectory{x}})
	if err != nil {
		t.Fatal(err)
	}
	return scores[0].Reward
}

// An endpoint's completions are as long as it counts; the term says how long, and is not there where it is off.
func TestOverlongOfAnEndpoint(t *testing.T) {
	s := &scenario.Scenario{ID: "x", Task: "Say it."}
	x := &trajectory.Trajectory{Outcome: trajectory.OK,
		Turns: []trajectory.Turn{{Usage: &trajectory.Usage{PromptTokens: 90, CompletionTokens: 15}}}}
	for _, o := range []*reward.Overlong{nil, {Weight: -0.5, Limit: 20, Buffer: 10}} {
		scores, err := reward.Scorer{Overlong: o}.Score(t.Context(), s,
			trajectory.Group{Trajectories: []*trajectory.Trajectory{x}})
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, term := range scores[0].Terms {
			if term.Name == "overlong" {
				found = true
				if term.Score != 0.5 || term.Weight != -0.5 ||
					term.Why != "its longest completion has 15 of 20 tokens" {
					t.Errorf("%+v", term)
				}
			}
		}
		if found != (o != nil) {
			t.Errorf("%+v: %+v", o, scores[0].Terms)
		}
	}
}
