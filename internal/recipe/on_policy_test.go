package recipe

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"hone/internal/episode/trajectory"
	"hone/internal/learn/batch"
)

// watched is a trainer that keeps the batches it was given, and how it was to take its steps.
type watched struct {
	*fakeTrainer
	given []batch.Batch
	taken []batch.Update
}

func (w *watched) Apply(u batch.Update) (float64, error) {
	w.taken = append(w.taken, u)
	return w.fakeTrainer.Apply(u)
}

func (w *watched) Gradient(ctx context.Context, b batch.Batch, o batch.Objective) (batch.StepStats, error) {
	w.given = append(w.given, b)
	return w.fakeTrainer.Gradient(ctx, b, o)
}

// Each step of GRPO samples from the policy that the steps before it made, and weighs an episode by how far its reward
// is from its group's, in standard deviations.
func TestGRPOStepsAreOnPolicy(t *testing.T) {
	trainer := &watched{fakeTrainer: &fakeTrainer{}}
	r := &fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK, before: func(step, _ int) {
		if trainer.published != step || len(trainer.Steps) != step {
			t.Errorf("step %d samples from the policy of step %d, of %d", step, trainer.published, len(trainer.Steps))
		}
	}}
	if err := grpo().Run(t.Context(), scenarios(5), r, scoreFunc(byRollout), trainer, trainer, newLog(t),
		silent); err != nil {
		t.Fatal(err)
	}
	if len(trainer.given) != 7 {
		t.Fatalf("%d batches", len(trainer.given))
	}
	want := 0.5 / (math.Sqrt(0.5) + 1e-4) // rewards 0 and 1
	for step, b := range trainer.given {
		for i, row := range b.Rows {
			for _, got := range row.Advantages {
				if a := []float64{-want, want}[i%2]; math.Abs(float64(got)-a) > 1e-7 {
					t.Errorf("step %d, row %d: advantage %v, want %v", step, i, got, a)
				}
			}
		}
	}
}

// A stage begins with moments of its own, and goes on with those of its checkpoint.
func TestStagesResetTheOptimizer(t *testing.T) {
	trainer, log := &fakeTrainer{}, newLog(t)
	r := &fakeRunner{trainer: trainer, outcome: trajectory.OK}
	if err := grpo().Run(t.Context(), scenarios(5), r, scoreFunc(byRollout), trainer, trainer, log,
		silent); err != nil || trainer.resets != 1 {
		t.Errorf("%v: reset %d times", err, trainer.resets)
	}
	longer := grpo()
	longer.Steps = 9
	again := &fakeTrainer{}
	r.trainer = again
	if err := longer.Run(t.Context(), scenarios(5), r, scoreFunc(byRollout), again, again, log, silent); err != nil ||
		again.resets != 0 || len(again.Steps) != 9 {
		t.Errorf("gone on: %v, reset %d times, %d steps", err, again.resets, len(again.Steps))
	}
}

// Each epoch of SFT takes all rows once, in an order of its own.
func TestEpochsAreShuffledAnew(t *testing.T) {
	trainer := &watched{fakeTrainer: &fakeTrainer{}}
	s := SFT{Stage: "sft", Epochs: 3, BatchSize: 1, Seed: 3}
	rows := demonstrations(8)
	if err := s.Run(t.Context(), rows, trainer, trainer, newLog(t), silent); err != nil || len(trainer.given) != 24 {
		t.Fatalf("%v: %d steps", err, len(trainer.given))
	}
	orders := map[string]bool{}
	for epoch := range 3 {
		order, seen := "", map[string]bool{}
		for _, b := range trainer.given[8*epoch : 8*epoch+8] {
			row := fmt.Sprint(b.Prefix, b.Rows[0].IDs)
			order, seen[row] = order+row, true
		}
		if len(seen) != 8 {
			t.Errorf("epoch %d took %d of 8 rows", epoch, len(seen))
		}
		orders[order] = true
	}
	if len(orders) != 3 {
		t.Errorf("%d orders in 3 epochs", len(orders))
	}
}

// checkpoints is a log that keeps the steps of its checkpoints.
type checkpoints struct {
	*memoryLog
	steps []int
}

func (c *checkpoints) Checkpoint(stage string, step int, write func(dir string) error) error {
	c.steps = append(c.steps, step)
	return c.memoryLog.Checkpoint(stage, step, write)
}

// A checkpoint is written after each so many steps, and at the end.
func TestCheckpointsAreInTime(t *testing.T) {
	trainer := &fakeTrainer{}
	log := &checkpoints{memoryLog: newLog(t)}
	r := &fakeRunner{trainer: trainer, outcome: trajectory.OK}
	if err := grpo().Run(t.Context(), scenarios(5), r, scoreFunc(byRollout), trainer, trainer, log,
		silent); err != nil || !slices.Equal(log.steps, []int{3, 6, 7}) {
		t.Errorf("%v, checkpoints after %v", err, log.steps)
	}
}

// Each step is taken as the stage's optimiser says: its rate, bound and constants, in both recipes.
func TestUpdatesAreTheOptimizers(t *testing.T) {
	o := Optimizer{LearningRate: 0.5, MaxGradNorm: 0.25, Schedule: Schedule{Decay: Cosine, Warmup: 0.3},
		Adam: batch.Adam{Beta1: 0.8, Beta2: 0.7, Epsilon: 0.6, WeightDecay: 0.1}}
	for name, run := range map[string]func(trainer *watched) error{
		"grpo": func(trainer *watched) error {
			g := grpo()
			g.Optimizer = o
			r := &fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK}
			return g.Run(t.Context(), scenarios(5), r, scoreFunc(byRollout), trainer, trainer, newLog(t), silent)
		},
		"sft": func(trainer *watched) error {
			s := SFT{Stage: "sft", Steps: 7, BatchSize: 1, Optimizer: o}
			return s.Run(t.Context(), demonstrations(3), trainer, trainer, newLog(t), silent)
		},
	} {
		trainer := &watched{fakeTrainer: &fakeTrainer{}}
		if err := run(trainer); err != nil || len(trainer.taken) != 7 {
			t.Fatalf("%s: %v, %d steps", name, err, len(trainer.taken))
		}
		for step, u := range trainer.taken {
			want := batch.Update{Rate: o.Schedule.Rate(0.5, step, 7), MaxGradNorm: 0.25, Adam: o.Adam}
			if u != want || step == 6 && u.Rate >= 0.5 {
				t.Errorf("%s, step %d: %+v, want %+v", name, step, u, want)
			}
		}
	}
}
