package reward_test

import (
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

// What each term of effort says of episodes, by name; -1 where an episode has no such term.
func TestEffort(t *testing.T) {
	of := reward.Effort{Arguments: 1, Recovery: -1, Economy: reward.Economy{Weight: -1, Factor: 1.5},
		Length: reward.Length{Weight: -1, Budget: 10}}
	results := func(results ...trajectory.ToolResult) *trajectory.Trajectory {
		got := &trajectory.Trajectory{Outcome: trajectory.OK, StopReason: trajectory.StopCompleted}
		for _, r := range results {
			got.Turns = append(got.Turns,
				trajectory.Turn{Calls: []chat.ToolCall{r.Call}, Results: []trajectory.ToolResult{r}})
		}
		got.Turns = append(got.Turns, trajectory.Turn{Content: "done"})
		return got
	}
	with := func(status trajectory.CallStatus, c chat.ToolCall) trajectory.ToolResult {
		return trajectory.ToolResult{Call: c, Status: status}
	}
	const ok, failed, invalid = trajectory.CallOK, trajectory.CallToolError, trajectory.CallInvalid
	long := func(tokens, counted int) *trajectory.Trajectory {
		got := results(with(ok, right))
		got.Turns[0].CompletionIDs = make([]int32, tokens)
		got.Turns[1].Usage = &trajectory.Usage{CompletionTokens: counted}
		return got
	}
	two, none, hard := hashScenario(), hashScenario(), hashScenario()
	two.Gold = append(two.Gold,
		scenario.Gold{Name: "hash", Arguments: json.RawMessage(`{"input": "ho", "algorithm": "crc32"}`)})
	none.Gold = nil
	hard.Gold, hard.Difficulty = nil, "hard"
	one := hashScenario()
	for name, c := range map[string]struct {
		s    *scenario.Scenario
		t    *trajectory.Trajectory
		term string
		want float64
	}{
		"right arguments":       {one, results(with(ok, right)), "arguments", 1},
		"one of two":            {one, results(with(ok, wrong)), "arguments", 0.5},
		"one of three names":    {one, results(with(ok, call("hash", `{"input": "hi", "salt": 1}`))), "arguments", 1.0 / 3},
		"against the schema":    {one, results(with(invalid, call("hash", `{"input": "hi"}`))), "arguments", 0.5},
		"a key twice":           {one, results(with(ok, call("hash", `{"input": "hi", "input": "hi"}`))), "arguments", 0},
		"another tool":          {one, results(with(ok, call("count", string(hashArguments)))), "arguments", 0},
		"beyond the gold calls": {one, results(with(ok, wrong), with(ok, right)), "arguments", 0.5},
		"each call once":        {two, results(with(ok, right), with(ok, call("count", `{}`))), "arguments", 0.5},
		"the best of each":      {two, results(with(ok, wrong), with(ok, right)), "arguments", 1},
		"no gold calls":         {none, results(with(ok, right)), "arguments", -1},
		"nothing failed":        {one, results(with(ok, right)), "recovery", -1},
		"failed and mended":     {one, results(with(failed, wrong), with(ok, right)), "recovery", 0},
		"failed, and again":     {one, results(with(ok, right), with(failed, wrong)), "recovery", 1},
		"refused by the schema": {one, results(with(invalid, wrong), with(ok, call("count", `{}`))), "recovery", 1},
		"one tool of two":       {one, results(with(failed, wrong), with(failed, call("count", `{}`)), with(ok, right)), "recovery", 0.5},
		"in the budget":         {one, results(with(ok, right), with(ok, right)), "economy", 0},
		"one call above 2":      {one, results(with(ok, right), with(ok, right), with(ok, right)), "economy", 0.5},
		"far above":             {one, results(slices.Repeat([]trajectory.ToolResult{with(ok, right)}, 9)...), "economy", 1},
		"two gold calls":        {two, results(with(ok, right), with(ok, right), with(ok, right)), "economy", 0},
		"a hard task":           {hard, results(slices.Repeat([]trajectory.ToolResult{with(ok, right)}, 15)...), "economy", 0.25},
		"nobody knows":          {none, results(slices.Repeat([]trajectory.ToolResult{with(ok, right)}, 15)...), "economy", -1},
		"short":                 {one, long(10, 0), "length", 0},
		"a half above":          {one, long(15, 0), "length", 0.5},
		"as an endpoint counts": {one, long(10, 4), "length", 0.4},
		"more than twice":       {one, long(40, 0), "length", 1},
	} {
		fakes.ScoreAlone(reward.Scorer{Effort: of}, c.s, c.t)
		i := slices.IndexFunc(c.t.Terms, func(term trajectory.Term) bool { return term.Name == c.term })
		switch {
		case c.want < 0 && i >= 0:
			t.Errorf("%s: %+v", name, c.t.Terms[i])
		case c.want >= 0 && (i < 0 || math.Abs(c.t.Terms[i].Score-c.want) > 1e-9):
			t.Errorf("%s: %+v, want %v", name, c.t.Terms, c.want)
		}
	}
	got := results(with(ok, right))
	if fakes.ScoreAlone(reward.Scorer{}, one, got); slices.ContainsFunc(got.Terms,
		func(term trajectory.Term) bool { return term.Name == "economy" || term.Name == "arguments" }) {
		t.Errorf("terms that nobody asked for: %+v", got.Terms)
	}
	gold := fakes.GoldEpisode(one, "d8932aac")
	if fakes.ScoreAlone(reward.Scorer{Effort: of}, one,
		gold); math.Abs(gold.Reward-(reward.Scorer{Effort: of}).Max(one)) > 1e-9 {
		t.Errorf("gold earns %v of %v", gold.Reward, (reward.Scorer{Effort: of}).Max(one))
	}
}
