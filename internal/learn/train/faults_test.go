package train_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/learn/batch"
	"hone/internal/learn/train"
	"hone/internal/recipe"
)

// planted is a runner of episodes of which some are spoilt, by step: their sampler gave no number, or their server was
// gone.
type planted struct {
	replaying
	spoil func(*trajectory.Trajectory)
}

func (p planted) Run(ctx context.Context, requests <-chan rollout.Request) <-chan *trajectory.Trajectory {
	out := make(chan *trajectory.Trajectory)
	go func() {
		defer close(out)
		for t := range p.replaying.Run(ctx, requests) {
			p.spoil(t)
			out <- t
		}
	}()
	return out
}

// overflowing is a trainer to whom the logprobs of rows with some ids are no numbers.
type overflowing struct {
	*train.Trainer
	bad func(row batch.Sequence) bool
}

func (o overflowing) Gradient(ctx context.Context, b batch.Batch, g batch.Objective) (batch.StepStats, error) {
	if slices.ContainsFunc(b.Rows, o.bad) {
		return batch.StepStats{}, fmt.Errorf("the loss is NaN: %w", batch.ErrNotFinite)
	}
	return o.Trainer.Gradient(ctx, b, g)
}

func (o overflowing) Score(ctx context.Context, b batch.Batch, temperature float64) ([][]float32, error) {
	scores, err := o.Trainer.Score(ctx, b, temperature)
	for i, row := range b.Rows {
		if o.bad(row) {
			scores[i][slices.Index(row.Trained, true)] = float32(math.NaN())
		}
	}
	return scores, err
}

// Ten steps with planted faults end with the adapter of a run in which these episodes say nothing, as those whose
// server was gone: a logprob of the sampler that is no number, a row that is none to the trainer, a server that is
// gone. What was left out is counted and told. One fault too many ends the run at its step.
func TestPlantedFaultsEndAsWithoutThem(t *testing.T) {
	s := readSteps(t)
	onTheModelOfTRL(t, s, func(t *testing.T, s steps, fresh func() *train.Trainer) {
		g := s.GRPO[0]
		tasks := make([]scenario.Scenario, len(g.Tasks))
		for i, id := range g.Tasks {
			tasks[i].ID = id
		}
		at := func(step int) string { return fmt.Sprintf("/%d/1", step) } // the second episode of each group
		first := func(id string, step int) bool { return id == g.Tasks[0]+at(step) }
		gone := func(t *trajectory.Trajectory) { t.Outcome = trajectory.InfrastructureError }
		nan := func(t *trajectory.Trajectory) {
			t.Turns[0].SamplerLogprobs = slices.Clone(t.Turns[0].SamplerLogprobs)
			t.Turns[0].SamplerLogprobs[0] = float32(math.NaN())
		}
		run := func(spoil func(*trajectory.Trajectory), bad func(batch.Sequence) bool) (
			adapter []float32, log *keeping, err error,
		) {
			tr, log := fresh(), newKeeping()
			of := recipe.GRPO{Stage: "grpo", Steps: len(g.Episodes), GroupsPerStep: len(g.Tasks), GroupSize: g.Size,
				Temperature: g.Settings.Temperature, Seed: g.Seed,
				Loss:    recipe.Loss{Name: g.Settings.Loss, Clip: batch.Clip{Low: 0.2, High: 0.28}},
				Updates: recipe.Updates{Optimizer: g.optimizer(g.Settings.Schedule)},
				// the recorded logprobs are those of a run with all episodes
				Upkeep: recipe.Upkeep{CheckpointEvery: 100, MaxMismatch: math.Inf(1)}}
			r := planted{replaying{g.Episodes}, spoil}
			err = of.Run(context.Background(), tasks, r, r.replaying, overflowing{tr, bad}, held{}, log, silent)
			state, stateErr := tr.State()
			if stateErr != nil {
				t.Fatal(stateErr)
			}
			return state.Adapter, log, err
		}
		// by what it was prompted with, the row of step 5
		var marked []int32
		for _, e := range g.Episodes[5] {
			if e.Task == g.Tasks[0] {
				marked = slices.Clone(e.IDs) // the last of the group
			}
		}
		isMarked := func(row batch.Sequence) bool {
			tail := row.IDs[max(0, len(row.IDs)-len(marked)):]
			return slices.Equal(tail, marked)
		}
		last := fmt.Sprintf("%s/5/%d", g.Tasks[0], g.Size-1)
		never := func(batch.Sequence) bool { return false }
		want, _, err := run(func(t *trajectory.Trajectory) {
			if first(t.ID, 2) || first(t.ID, 7) || t.ID == last {
				gone(t)
			}
		}, never)
		if err != nil {
			t.Fatal(err)
		}
		got, log, err := run(func(t *trajectory.Trajectory) {
			switch {
			case first(t.ID, 2):
				nan(t)
			case first(t.ID, 7):
				gone(t)
			}
		}, isMarked)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%v; the adapter is that of a run without the faults: %v", err, slices.Equal(got, want))
		}
		whole, _, err := run(func(*trajectory.Trajectory) {}, never)
		if err != nil || slices.Equal(whole, want) {
			t.Errorf("%v; the faults are in episodes that teach nothing", err)
		}
		for step := range g.Episodes {
			n := map[int]float64{2: 1, 5: 1}[step]
			if m := log.metrics[key("grpo", step)]; m["sampling/episodes_apart"] != n {
				t.Errorf("step %d leaves out %v episodes, want %v", step, m["sampling/episodes_apart"], n)
			}
		}
		_, _, err = run(func(t *trajectory.Trajectory) {
			if first(t.ID, 2) || first(t.ID, 4) || first(t.ID, 7) {
				nan(t)
			}
		}, never)
		if err == nil || !strings.Contains(err.Error(), "grpo step 7") {
			t.Errorf("a third fault: %v", err)
		}
	})
}
