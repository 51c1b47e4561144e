package reward_test

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/reward"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/testing/fakes"
)

// What a malformed call costs is how much of it must be repaired.
func TestRepairCost(t *testing.T) {
	scorer := reward.Scorer{Effort: reward.Effort{Repair: -0.5}}
	turns := func(turns ...trajectory.Turn) *trajectory.Trajectory {
		return &trajectory.Trajectory{Outcome: trajectory.OK, StopReason: trajectory.StopCompleted, Turns: turns}
	}
	made := func(status trajectory.CallStatus, text, name, arguments string) trajectory.Turn {
		r := trajectory.ToolResult{Call: call(name, arguments), Status: status, Text: text}
		return trajectory.Turn{Calls: []chat.ToolCall{r.Call}, Results: []trajectory.ToolResult{r}}
	}
	broken := func(text string) trajectory.Turn { return trajectory.Turn{Content: text, ParseError: "malformed call"} }
	cut := turns(broken(`<call>{"name": "ha`))
	cut.StopReason = trajectory.StopMaxTokens
	const ok = trajectory.CallOK
	one, two := hashScenario(), hashScenario()
	one.Gold = nil
	two.Gold = append(two.Gold, scenario.Gold{Name: "hash", Arguments: json.RawMessage(`{"input": "ho"}`)})
	for of, c := range map[string]struct {
		t    *trajectory.Trajectory
		want float64
	}{
		"no broken call":             {turns(made(ok, "x", "hash", `{"input": "a"}`)), 0},
		"a comma too many":           {turns(broken(`<call>{"name": "hash", "arguments": {"input": "a",}}</call>`)), 0.25},
		"two repairs":                {turns(broken(`<call>{'name': "hash", "arguments": {"input": "a",}}</call>`)), 0.5},
		"its frame alone":            {turns(broken(`<call>{"name": "hash", "arguments": {}}`)), 0.25},
		"nobody can read it":         {turns(broken(`<call>{"name": "hash", "arguments": {"input": "a`)), 1},
		"two of them":                {turns(broken(`<call>{"name": "hash", "arguments": {},}</call>`), broken(`<call>{"name": "hash", "arguments": {},}</call>`)), 0.5},
		"three that nobody can read": {turns(broken("<call>x"), broken("<call>x"), broken("<call>x")), 1},
		"cut by the limit":           {cut, 0},
	} {
		fakes.ScoreAlone(scorer, one, c.t)
		i := slices.IndexFunc(c.t.Terms, func(term trajectory.Term) bool { return term.Name == "repair" })
		if i < 0 || math.Abs(c.t.Terms[i].Score-c.want) > 1e-9 {
			t.Errorf("%s: %+v, want %v", of, c.t.Terms, c.want)
		}
	}

	half := turns(made(ok, "x", "hash", string(hashArguments)), broken(`<call>{"name": "hash",}</call>`))
	fakes.ScoreAlone(scorer, two, half)
	weights := map[string]float64{}
	for _, term := range half.Terms {
		weights[term.Name] = term.Weight
	}
	if weights["repair"] != 0 {
		t.Errorf("an episode that made one gold call of two: %v", weights)
	}
	if fakes.ScoreAlone(reward.Scorer{}, one, half); slices.ContainsFunc(half.Terms,
		func(term trajectory.Term) bool { return term.Name == "repair" }) {
		t.Errorf("terms that nobody asked for: %+v", half.Terms)
	}

	scorer.Turns = &reward.Turns{}
	divided := turns(broken(`<call>{"name": "hash",}</call>`), made(ok, "x", "hash", `{"input": "a"}`),
		trajectory.Turn{Content: "done"})
	scores, err := scorer.Score(context.Background(), one,
		trajectory.Group{Trajectories: []*trajectory.Trajectory{divided}})
	if err != nil {
		t.Fatal(err)
	}
	// The first turn has all of the penalties for its broken call.
	if got := scores[0].Turns; math.Abs(got[0]-(-0.5*0.25-0.2)) > 1e-9 || got[1] != 0 {
		t.Errorf("by turn: %v of %v", got, scores[0].Terms)
	}
}
