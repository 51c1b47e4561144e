package rollout_test

import (
	"context"
	"maps"
	"strings"
	"sync"
	"testing"

	"hone/internal/episode/policy"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/testing/fakes"
)

// Every completion draws from a stream of its own: of its step, scenario, rollout and turn.
func TestStreamsDiffer(t *testing.T) {
	var mu sync.Mutex
	drawn := map[uint64]int{}
	reply := func(_ string, r policy.Request) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		drawn[r.Key.Stream]++
		return fakes.Call("add", `{"a": 1}`), nil
	}
	const turns, rollouts, steps = 3, 4, 2
	all := []scenario.Scenario{{ID: "a", Task: "one"}, {ID: "b", Task: "two"}}
	for step := range steps {
		groups(context.Background(), runner(&tools{}, reply, options{MaxTurns: turns}), all, rollouts, step)
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
	got, _ := runner(&tools{}, reply, options{Temperature: 0.37, MaxTokens: 123}).Episode(context.Background(),
		scenario.Scenario{ID: "a", Task: "one"}, 0, 0, 0)
	if got.Outcome != trajectory.OK || got.Temperature != 0.37 {
		t.Errorf("%s at temperature %v: %s", got.Outcome, got.Temperature, got.Error)
	}
}

// Requests come as the episodes before them end: each is in the slot of its place, whichever were left out, and draws
// from the stream of its scenario, rollout and attempt.
func TestEpisodesAreAskedForAsOthersEnd(t *testing.T) {
	var mu sync.Mutex
	slots, streams := map[string]int{}, map[uint64]bool{}
	reply := func(prompt string, r policy.Request) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		slots[prompt] = r.Slot
		streams[r.Key.Stream] = true
		return "done", nil
	}
	requests := make(chan rollout.Request)
	ended := runner(&tools{}, reply, options{}).Run(t.Context(), requests) // of three slots
	ask := func(id string, attempt, place int) rollout.Request {
		return rollout.Request{Scenario: scenario.Scenario{ID: id, Task: id}, Rollout: 1, Attempt: attempt,
			Place: place}
	}
	for _, q := range []rollout.Request{ask("a", 0, 4), ask("b", 0, 2), ask("c", 0, 7)} { // asking waits for none
		requests <- q
	}
	var again *trajectory.Trajectory
	for range 4 { // in whichever order they end
		switch got := <-ended; {
		case got.ScenarioID == "a" && got.Retries == 0:
			requests <- ask("a", 1, 3)
		case got.ScenarioID == "a":
			again = got
		}
	}
	close(requests)
	if _, more := <-ended; more {
		t.Error("an episode that nobody asked for")
	}
	if again == nil || again.ID != "a/0/1" || again.Retries != 1 || len(streams) != 4 {
		t.Errorf("%+v, %d streams", again, len(streams))
	}
	want := map[string]int{"<user>a\x00<assistant>": 0, "<user>b\x00<assistant>": 2, "<user>c\x00<assistant>": 1}
	if !maps.Equal(slots, want) {
		t.Errorf("slots %v, want %v", slots, want)
	}
}

// As many calls as the limit are made; one more ends the episode before its turn is sent.
func TestToolCallsUpToTheLimit(t *testing.T) {
	call := fakes.Call("add", `{"a": 1}`)
	reply := func(prompt string, _ policy.Request) (string, error) {
		if strings.Count(prompt, call) < 3 {
			return call, nil
		}
		return "done", nil
	}
	for limit, want := range map[int]trajectory.StopReason{
		2: trajectory.StopMaxToolCalls,
		3: trajectory.StopCompleted,
	} {
		got, _ := runner(&tools{}, reply, options{MaxToolCalls: limit}).Episode(context.Background(),
			scenario.Scenario{ID: "a", Task: "one"}, 0, 0, 0)
		if got.StopReason != want || len(got.Calls()) != limit {
			t.Errorf("at most %d calls: %s after %d", limit, got.StopReason, len(got.Calls()))
		}
	}
}
