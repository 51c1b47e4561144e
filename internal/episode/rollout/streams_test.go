package rollout_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/policy"
	"hone/internal/policy/policytest"
)

// Every completion draws from a stream of its own: of its step, scenario, rollout and turn.
func TestStreamsDiffer(t *testing.T) {
	var mu sync.Mutex
	drawn := map[uint64]int{}
	reply := func(_ string, r policy.Request) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		drawn[r.Key.Stream]++
		return policytest.Call("add", `{"a": 1}`), nil
	}
	const turns, rollouts, steps = 3, 4, 2
	all := []scenario.Scenario{{ID: "a", Task: "one"}, {ID: "b", Task: "two"}}
	for step := range steps {
		runner(&tools{}, reply, rollout.Options{MaxTurns: turns}).Groups(context.Background(), all, rollouts, step)
	}
	if want := turns * rollouts * steps * len(all); len(drawn) != want {
		t.Errorf("%d streams for %d completions", len(drawn), want)
	}
}

// Completions are asked for at the temperature and up to the tokens that the options say.
func TestSamplingIsTheOptions(t *testing.T) {
	reply := func(_ string, r policy.Request) (string, error) {
		if r.Temperature != 0.37 || r.MaxTokens != 123 || r.TopP != 0 || r.TopK != 0 || r.MinP != 0 {
			t.Errorf("asked for %+v", r.Sampling)
		}
		return "done", nil
	}
	got := runner(&tools{}, reply, rollout.Options{Temperature: 0.37, MaxTokens: 123}).Episode(context.Background(), scenario.Scenario{ID: "a", Task: "one"}, 0, 0, 0)
	if got.Outcome != trajectory.OK || got.Temperature != 0.37 {
		t.Errorf("%s at temperature %v: %s", got.Outcome, got.Temperature, got.Error)
	}
}

// What was run before is taken as it is, and not handed over again.
func TestCompleteTakesWhatWasRun(t *testing.T) {
	reply := func(string, policy.Request) (string, error) { return "new", nil }
	before := &trajectory.Trajectory{ID: "old", ScenarioID: "a", Rollout: 1}
	var ended []string
	groups := runner(&tools{}, reply, rollout.Options{}).Complete(context.Background(), []scenario.Scenario{{ID: "a", Task: "one"}}, 3, 0,
		func(id string, rollout int) *trajectory.Trajectory {
			if id == "a" && rollout == 1 {
				return before
			}
			return nil
		}, func(x *trajectory.Trajectory) { ended = append(ended, x.ID) })
	if g := groups[0].Trajectories; g[1] != before || g[0].Answer() != "new" || g[2].Answer() != "new" || len(ended) != 2 {
		t.Errorf("%v, handed over %v", g, ended)
	}
}

// As many calls as the limit are made; one more ends the episode before its turn is sent.
func TestToolCallsUpToTheLimit(t *testing.T) {
	call := policytest.Call("add", `{"a": 1}`)
	reply := func(prompt string, _ policy.Request) (string, error) {
		if strings.Count(prompt, call) < 3 {
			return call, nil
		}
		return "done", nil
	}
	for limit, want := range map[int]trajectory.StopReason{2: trajectory.StopMaxToolCalls, 3: trajectory.StopCompleted} {
		got := runner(&tools{}, reply, rollout.Options{MaxToolCalls: limit}).Episode(context.Background(), scenario.Scenario{ID: "a", Task: "one"}, 0, 0, 0)
		if got.StopReason != want || len(got.Calls()) != limit {
			t.Errorf("at most %d calls: %s after %d", limit, got.StopReason, len(got.Calls()))
		}
	}
}
