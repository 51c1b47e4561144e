package recipe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/trajectory"
	"hone/internal/learn/batch"
)

func twice() GRPO {
	g := grpo()
	g.Iterations, g.Loss.Name = 2, batch.LossCISPO
	return g
}

// Several optimiser steps on the episodes of one step are of one batch, with the logprobs that it was sampled with, one
// loss and one rate; their metrics say so.
func TestIterationsAreOfOneBatch(t *testing.T) {
	trainer, log := &watched{fakeTrainer: &fakeTrainer{}}, newLog(t)
	r := &fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK, before: func(step, _ int) {
		if trainer.published != 2*step {
			t.Errorf("step %d samples from the policy after %d optimiser steps", step, trainer.published)
		}
	}}
	if err := twice().Run(t.Context(), scenarios(5), r, scoreFunc(byRollout), trainer, trainer, log,
		silent); err != nil || len(trainer.given) != 14 || len(trainer.taken) != 14 {
		t.Fatalf("%v: %d batches, %d updates", err, len(trainer.given), len(trainer.taken))
	}
	for step := range 7 {
		a, b := trainer.given[2*step], trainer.given[2*step+1]
		for i := range a.Rows {
			old := a.Rows[i].Column(batch.ColumnOldLogprobs)
			if !slices.Equal(a.Rows[i].IDs, b.Rows[i].IDs) ||
				!slices.Equal(old, b.Rows[i].Column(batch.ColumnOldLogprobs)) ||
				!slices.Equal(old, []float32{0, -1, -2}) {
				t.Errorf("step %d, row %d: %+v, then %+v", step, i, a.Rows[i], b.Rows[i])
			}
		}
		if trainer.taken[2*step] != trainer.taken[2*step+1] ||
			step > 1 && trainer.taken[2*step].Rate >= trainer.taken[2*step-1].Rate {
			t.Errorf("step %d: updates %+v", step, trainer.taken)
		}
	}
	for _, s := range trainer.Steps {
		if !strings.HasPrefix(s, "grpo {cispo ") {
			t.Errorf("a step is %s", s)
		}
	}
	if _, ok := log.Metric["grpo0"]["clip_ratio/region_mean"]; !ok {
		t.Errorf("metrics %v", log.Metric["grpo0"])
	}
}

// The statistics of a step's iterations: sums of what was computed, means of the loss's, the first's mismatch, the
// last's clipped share; the chosen tokens' entropy is a mean over them.
func TestStatisticsOfIterations(t *testing.T) {
	got := ofIterations([]batch.StepStats{
		{Loss: 1, GradNorm: 2, NumTokens: 3, NumPadded: 4, NumTrained: 5, MeanRatio: 1, Mismatch: 0.1, MaxDelta: 0.2, EntropyChosen: 1, NumChosen: 1},
		{Loss: 3, GradNorm: 6, NumTokens: 3, NumPadded: 4, NumTrained: 5, MeanRatio: 2, Mismatch: 9, MaxDelta: 9,
			Clipped: 0.5, EntropyChosen: 5, NumChosen: 3},
	})
	want := batch.StepStats{Loss: 2, GradNorm: 4, NumTokens: 6, NumPadded: 8, NumTrained: 5, MeanRatio: 1,
		Mismatch: 0.1, MaxDelta: 0.2, Clipped: 0.5, EntropyChosen: 4, NumChosen: 4}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if one := (batch.StepStats{Loss: 0.1, GradNorm: 1.0 / 3}); ofIterations([]batch.StepStats{one}) != one {
		t.Error("one iteration's are not its own")
	}
}

// The mismatch of sampler and trainer is that of a step's first iteration, before the policy moved; a step that it
// refuses takes none.
func TestMismatchIsTheFirstIterations(t *testing.T) {
	trainer, log := &fakeTrainer{mismatch: 0.2, apart: 1}, newLog(t) // from the second optimiser step on
	err := twice().Run(t.Context(), scenarios(5), &fakeRunner{trainer: trainer, outcome: trajectory.OK},
		scoreFunc(byRollout), trainer, trainer, log, silent)
	if err == nil || !strings.Contains(err.Error(), "grpo step 1") || len(trainer.Steps) != 2 ||
		log.latest["grpo"] != 1 {
		t.Errorf("%v; %d optimiser steps, checkpoint %d", err, len(trainer.Steps), log.latest["grpo"])
	}
	if math.IsNaN(log.Metric["grpo0"]["sampling/mismatch_kl"]) || log.Metric["grpo0"]["sampling/mismatch_kl"] != 0 {
		t.Errorf("metrics %v", log.Metric["grpo0"])
	}
}

// A run that is stopped between two optimiser steps on one batch keeps the whole steps before it, and goes on to what
// an unbroken run has.
func TestIterationsAreTakenWholeOrNotAtAll(t *testing.T) {
	train := func(ctx context.Context, trainer *fakeTrainer, log *memoryLog) error {
		return twice().Run(ctx, scenarios(5), &fakeRunner{trainer: trainer, outcome: trajectory.OK},
			scoreFunc(byRollout), trainer, trainer, log, silent)
	}
	whole := &fakeTrainer{}
	if err := train(t.Context(), whole, newLog(t)); err != nil {
		t.Fatal(err)
	}
	for stop := 1; stop < 14; stop++ {
		ctx, cancel := context.WithCancel(t.Context())
		trainer, log := &fakeTrainer{before: func(step int) {
			if step == stop {
				cancel()
			}
		}}, newLog(t)
		if err := train(ctx, trainer, log); !errors.Is(err, context.Canceled) || len(trainer.Steps) != stop/2*2 ||
			log.latest["grpo"] != stop/2 {
			t.Errorf("stopped before %d: %v, %d optimiser steps, checkpoint %d",
				stop, err, len(trainer.Steps), log.latest["grpo"])
		}
		again := &fakeTrainer{}
		if err := train(t.Context(), again, log); err != nil || !slices.Equal(again.Steps, whole.Steps) {
			t.Errorf("stopped before %d: %v, resumed to %d steps that differ", stop, err, len(again.Steps))
		}
		cancel()
	}
}

// stuck cannot be put back.
type stuck struct{ *fakeTrainer }

var errStuck = errors.New("out of memory")

func (stuck) Snapshot() (func() error, error) { return func() error { return errStuck }, nil }

// A trainer that cannot be put back between two optimiser steps on one batch is kept as no step: its adapter is none's.
func TestHalfAStepIsNeverKept(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	trainer, log := stuck{&fakeTrainer{before: func(step int) {
		if step == 5 {
			cancel()
		}
	}}}, newLog(t)
	err := twice().Run(ctx, scenarios(5), &fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK},
		scoreFunc(byRollout), trainer, trainer, log, silent)
	if !errors.Is(err, context.Canceled) || !errors.Is(err, errStuck) || len(trainer.Steps) != 5 {
		t.Errorf("%v; %d optimiser steps", err, len(trainer.Steps))
	}
	again := &fakeTrainer{}
	if dir, step, _ := log.Latest("grpo"); step > 0 {
		if err := again.Load(dir); err != nil || len(again.Steps) != 2*step {
			t.Errorf("%v: the checkpoint of step %d has %d optimiser steps", err, step, len(again.Steps))
		}
	}
}

// The programs of all optimiser steps on the episodes of one step are compiled before the first of them.
func TestMinibatchesArePrepared(t *testing.T) {
	trainer := &watched{fakeTrainer: &fakeTrainer{}}
	g := grpo()
	g.Minibatches = 2
	r := &fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK}
	err := g.Run(t.Context(), scenarios(5), r, scoreFunc(byRollout), trainer, trainer, newLog(t), silent)
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, prepared := range trainer.prepared {
		n := min(2, len(trainer.given)-at)
		if want := fmt.Sprint(at, trainer.given[at:at+n]); n == 0 || !strings.HasPrefix(prepared, want) {
			t.Fatalf("%.200s, want %.200s", prepared, want)
		}
		at += n
	}
	if at != len(trainer.given) || at <= len(trainer.prepared) {
		t.Errorf("%d optimiser steps, prepared %d times", at, len(trainer.prepared))
	}
}
