package rollout_test

import (
	"context"
	"sync"
	"testing"

	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
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
