package recipe

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"hone/internal/chat"
	"hone/internal/episode/trajectory"
	"hone/internal/learn/batch"
)

// The estimate of entropy is of the sampled tokens of episodes that count: two each, of logprobs -1 and -2.
func TestEntropyIsEstimated(t *testing.T) {
	_, log, err := shapedRun(t, byRollout, func(step int, e *trajectory.Trajectory) {
		switch {
		case step == 1 && e.Rollout == 0:
			e.Turns[0].SamplerLogprobs = []float32{-4, -5}
		case step == 2:
			e.Turns[0].SamplerLogprobs = nil // as of an endpoint that returns none
		case step == 3 && e.ScenarioID == "a" && e.Rollout == 0:
			e.Outcome, e.Turns[0].SamplerLogprobs = trajectory.EnvironmentError, []float32{-100}
		}
	})
	for step, want := range []float64{1.5, 3, 0, 1.5} {
		if got, ok := log.Metric[fmt.Sprint("grpo", step)]["entropy"]; err != nil || math.Abs(got-want) > 1e-9 ||
			ok != (step != 2) {
			t.Errorf("%v: step %d: %v, want %v", err, step, got, want)
		}
	}
}

// A policy that gives one answer to each task and fails most is spoken of once, after three such steps; one that passes
// is not, nor is one whose groups differ.
func TestCollapseIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		alike, passed int // of five groups, from step 2 on
		said          bool
	}{
		"collapsed":      {5 - 0, 2, true},
		"it passes":      {5, 3, false},
		"it differs":     {3, 0, false},
		"nothing passes": {5, 0, true},
	} {
		g := grpo()
		g.GroupsPerStep, g.Passed = 10, func(e *trajectory.Trajectory) (bool, bool) {
			return int(e.ScenarioID[0]-'a') < 2*c.passed, true
		}
		trainer, log := &fakeTrainer{}, newLog(t)
		runner := &fakeRunner{trainer: trainer, outcome: trajectory.OK}
		fixed := alike{}
		for i := range 2*c.alike - 1 { // nine of ten
			fixed[string(rune('a'+i))] = 0.5
		}
		if err := g.Run(t.Context(), scenarios(10), runner, fixed, trainer, trainer, log, silent); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, text := range log.said {
			if strings.HasPrefix(text, "policy collapse by step 2: in 3 steps") && strings.Contains(text, "1.5 nats") {
				n++
			}
		}
		if (n == 1) != c.said || n > 1 {
			t.Errorf("%s: said %q", name, log.said)
		}
		if got := log.Metric["grpo0"]["success"]; got != float64(c.passed)/5 {
			t.Errorf("%s: success %v", name, got)
		}
	}
	g := grpo().with(&Pools{}) // no rule knows which of a's pass
	g.GroupsPerStep, g.Passed = 2, func(e *trajectory.Trajectory) (bool, bool) { return true, e.ScenarioID != "a" }
	step := took(trajectory.Group{ScenarioID: "a", Trajectories: []*trajectory.Trajectory{
		{ScenarioID: "a", Outcome: trajectory.OK},
	}})
	s := begun(t, g, scenarios(2))
	if m := s.measure(step); slices.Contains(slices.Collect(maps.Keys(m)), "success") {
		t.Errorf("%v", m)
	}
	pools := of[*Pools](s)
	if pools.See(step); len(pools.at.Rates) != 0 {
		t.Errorf("of a scenario that no rule decides: %v", pools.at.Rates)
	}
}

// Of the good episodes of a scenario those are learnt from that took the least: no failed call, then the fewest calls.
func TestRejectionPrefersTheShortest(t *testing.T) {
	episode := func(id int32, statuses ...trajectory.CallStatus) *trajectory.Trajectory {
		e := &trajectory.Trajectory{Outcome: trajectory.OK}
		for _, s := range append(statuses, "") {
			turn := trajectory.Turn{BridgeIDs: []int32{1}, CompletionIDs: []int32{id}}
			if s != "" {
				turn.Results = []trajectory.ToolResult{{Call: chat.ToolCall{Name: "a"}, Status: s}}
			}
			e.Turns = append(e.Turns, turn)
		}
		return e
	}
	const ok, failed, search = trajectory.CallOK, trajectory.CallToolError, trajectory.CallInvalid
	malformed := episode(9, ok)
	malformed.Turns[0].ParseError = "unterminated"
	found := episode(10, ok, ok)
	found.Turns[0].Results[0].Search = true
	for name, c := range map[string]struct {
		group []*trajectory.Trajectory
		want  []int32
	}{
		"a detour":                {[]*trajectory.Trajectory{episode(2, ok, ok), episode(3, ok), episode(4, ok)}, []int32{3, 4}},
		"a shorter one that fell": {[]*trajectory.Trajectory{episode(2, ok, ok), episode(3, failed)}, []int32{2}},
		"none without a fall":     {[]*trajectory.Trajectory{episode(2, failed, ok, ok), episode(3, search, failed, ok), episode(4, failed, ok)}, []int32{4}},
		"a malformed call":        {[]*trajectory.Trajectory{malformed, episode(2, ok, ok)}, []int32{2}},
		"a search is no call":     {[]*trajectory.Trajectory{found, episode(3, ok)}, []int32{10, 3}},
	} {
		r := Rejection{Keep: func(*trajectory.Trajectory) bool { return true }}
		var got []int32
		for _, row := range r.rows([]trajectory.Group{{Trajectories: c.group}}) {
			got = append(got, row.IDs[1])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: learnt from %v, want %v", name, got, c.want)
		}
	}
}

// Each pass over a step's groups takes as many optimiser steps as there are minibatches, each on groups of its own,
// with the ratio to the policy that sampled; stopped between two, none of the step's is kept.
func TestMinibatches(t *testing.T) {
	g := grpo()
	g.GroupsPerStep, g.Minibatches, g.Iterations = 5, 2, 2
	trainer := &watched{fakeTrainer: &fakeTrainer{}}
	log := newLog(t)
	run := func(ctx context.Context, trainer Trainer, publisher Publisher, fake *fakeTrainer, log *memoryLog) error {
		return g.Run(ctx, scenarios(5), &fakeRunner{trainer: fake, outcome: trajectory.OK}, scoreFunc(byRollout),
			trainer, publisher, log, silent)
	}
	if err := run(t.Context(), trainer, trainer, trainer.fakeTrainer, log); err != nil || len(trainer.Steps) != 4*7 {
		t.Fatalf("%v: %d optimiser steps", err, len(trainer.Steps))
	}
	for i, b := range trainer.given {
		if want := []int{6, 4}[i%2]; len(b.Rows) != want || b.Normaliser != 10 {
			t.Errorf("optimiser step %d: %d rows by %d", i, len(b.Rows), b.Normaliser)
		}
	}
	for stop := 1; stop < 4; stop++ {
		ctx, cancel := context.WithCancel(t.Context())
		fake, log := &fakeTrainer{before: func(step int) {
			if step == 4+stop {
				cancel()
			}
		}}, newLog(t)
		if err := run(ctx, fake, fake, fake, log); err == nil || len(fake.Steps) != 4 || log.latest["grpo"] != 1 {
			t.Errorf("stopped after %d of a step: %v, %d optimiser steps, checkpoint %d",
				stop, err, len(fake.Steps), log.latest["grpo"])
		}
		cancel()
	}
}

// GSPO's ratio is to the trainer's own logprobs, as its bounds are as small as rounding; other losses' is to the
// sampler's.
func TestGSPOComparesWithItself(t *testing.T) {
	for _, loss := range batch.Losses()[1:] {
		g := grpo()
		g.Loss.Name = loss
		trainer := &watched{fakeTrainer: &fakeTrainer{}}
		if err := g.Run(t.Context(), scenarios(5), &fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK},
			scoreFunc(byRollout), trainer, trainer, newLog(t), silent); err != nil {
			t.Fatal(err)
		}
		for step, b := range trainer.given {
			own := b.Rows[0].Columns[batch.ColumnOldLogprobs]
			// the fake scores by its number of steps
			if (own != nil) != (loss == batch.LossGSPO) || own != nil && own[len(own)-1] != -float32(step)/8 {
				t.Errorf("%s, step %d: old logprobs %v", loss, step, own)
			}
		}
	}
}
