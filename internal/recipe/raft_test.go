package recipe

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"hone/internal/episode/trajectory"
	"hone/internal/learn/batch"
)

// A step of RAFT learns the likelihood of the best of what passed, each wording once, and of demonstrations and of what
// is imitated by the sizes of their advantages; the mean is over these tokens alone. What failed is no part of it.
func TestRAFTLearnsWhatPassed(t *testing.T) {
	episode := func(reward float64, failed int, ids ...int32) *trajectory.Trajectory {
		x := &trajectory.Trajectory{ID: fmt.Sprint(ids), ScenarioID: "a", Outcome: trajectory.OK, Reward: reward,
			Turns: []trajectory.Turn{{BridgeIDs: []int32{1}, CompletionIDs: ids,
				SamplerLogprobs: make([]float32, len(ids))}}}
		for range failed {
			x.Turns[0].Results = append(x.Turns[0].Results, trajectory.ToolResult{Status: trajectory.CallToolError})
		}
		return x
	}
	groups := []trajectory.Group{
		{Trajectories: []*trajectory.Trajectory{episode(1, 0, 11, 12), episode(0, 0, 13), episode(1, 0, 11, 12),
			episode(1, 1, 14), episode(1, 0, 15)}},
		{Trajectories: []*trajectory.Trajectory{episode(1, 0, 16), episode(1, 0, 17)}}, // all passed
		{Trajectories: []*trajectory.Trajectory{episode(0, 0, 18), episode(0, 0, 19)}},
	}
	r := &RAFT{}
	g := grpo()
	g.Loss.Name, g.Temperature = batch.LossLikelihood, 0.7
	s := begun(t, g.with(r), scenarios(1))
	step := &Step{Sampling: Sampling{Groups: groups, Sampled: groups}, Metrics: map[string]float64{},
		More: []batch.Earlier{{Source: fromDemonstrations, Rows: []batch.Sequence{{IDs: []int32{1, 20, 21},
			Trained: []bool{false, false, true}, SamplerLogprobs: make([]float32, 3), Scored: true,
			Advantages: []float32{0, 0, 0.25}}}}}}
	if err := s.add(t.Context(), step); err != nil {
		t.Fatal(err)
	}
	if want := (batch.Objective{Temperature: 0.7}); step.Objective != want {
		t.Errorf("the objective is %+v", step.Objective)
	}
	step.Rows = s.rows(step)
	if err := r.Compare(t.Context(), step); err != nil {
		t.Fatal(err)
	}
	var said [][]int32
	for _, row := range step.Rows.Rows {
		said = append(said, row.IDs)
		want := float32(1)
		if row.Episode >= 9 {
			want = 0.25
		}
		for i, trained := range row.Trained {
			if trained && row.Weights[i] != want {
				t.Errorf("%v weighs %v", row.IDs, row.Weights)
			}
		}
	}
	if got := fmt.Sprint(step.Rows.Prefix, said); got != "[] [[1 11 12] [1 15] [1 16] [1 17] [1 20 21]]" {
		t.Errorf("learns %s", got)
	}
	if step.Rows.Normaliser != 6 || step.Metrics["raft/episodes"] != 4 {
		t.Errorf("by %d tokens; %v", step.Rows.Normaliser, step.Metrics)
	}
	if share := step.shares()[shareMetric+fromDemonstrations]; math.Abs(share-0.25/5.25) > 1e-9 {
		t.Errorf("the share of the demonstration is %g", share)
	}
}

// A stage of RAFT takes no step where nothing passed, and else one of the likelihood.
func TestRAFTTakesSteps(t *testing.T) {
	g := grpo().with(&RAFT{})
	g.Loss.Name, g.Steps = batch.LossLikelihood, 3
	for name, score := range map[string]scoreFunc{
		"some pass": byRollout,
		"none":      func(int) float64 { return 0 },
	} {
		trainer, log := &watched{fakeTrainer: &fakeTrainer{}}, newLog(t)
		r := &fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK}
		if err := g.Run(t.Context(), scenarios(2), r, score, trainer, trainer, log, silent); err != nil {
			t.Fatal(err)
		}
		if len(log.said) > 0 { // it does not learn from differences of rewards alone
			t.Errorf("%s: said %v", name, log.said)
		}
		want := 3
		if name == "none" {
			want = 0
		}
		if len(trainer.Steps) != want {
			t.Errorf("%s: %d steps", name, len(trainer.Steps))
		}
		for _, b := range trainer.given {
			weighed := !slices.ContainsFunc(b.Rows, func(r batch.Sequence) bool { return r.Weights == nil })
			if len(b.Rows) != 2 || !weighed {
				t.Errorf("%s: %v", name, b.Rows)
			}
		}
	}
}
