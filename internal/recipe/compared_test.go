package recipe

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/trajectory"
	"hone/internal/learn/batch"
)

// compared is GRPO with a divergence from the policy that it began with, and a correction of the sampler.
func compared() GRPO {
	return grpo().with(&Correction{Correction: batch.Correction{
		Level: batch.LevelToken,
		Mode:  batch.ModeTruncate,
		High:  2,
	}},
		&Divergence{KL: batch.KL{Beta: 0.25, Estimator: batch.K3, Gradient: batch.GradientK2}}, &OffPolicy{Bound: 0.5})
}

// The rows of a step bring the trainer's logprobs as they are before its first update, by which their advantages are
// corrected, and those of the policy that the stage began with.
func TestRowsAreCompared(t *testing.T) {
	g := compared()
	g.Iterations = 2
	trainer, log := &watched{fakeTrainer: &fakeTrainer{}}, newLog(t)
	trainer.Steps = []string{"sft"} // so the stage begins with a policy of one step
	if err := g.Run(t.Context(), scenarios(5), &fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK},
		scoreFunc(byRollout), trainer, trainer, log, silent); err != nil {
		t.Fatal(err)
	}
	for i, b := range trainer.given {
		for _, r := range b.Rows {
			taken := 1 + i/2*2
			if old := r.Column(batch.ColumnOldLogprobs); !slices.Equal(old, batch.Even(len(r.IDs), -float64(taken)/8)) {
				t.Errorf("gradient %d: old logprobs %v after %d steps", i, old, taken)
			}
			if reference := r.Column(batch.ColumnReferenceLogprobs); !slices.Equal(reference,
				batch.Even(len(r.IDs), -101.0/8)) {
				t.Errorf("gradient %d: reference %v", i, reference)
			}
			for at, yes := range r.Trained {
				// the sampler has -1 and -2 where the trainer has -1/8
				if plain := r.Advantages[0]; yes && r.Advantages[at] == plain && i == 0 {
					t.Errorf("gradient %d: advantages %v", i, r.Advantages)
				}
			}
		}
	}
	for _, name := range []string{
		"kl", "sampling/importance_sampling_ratio/min", "sampling/importance_sampling_ratio/mean",
		"sampling/importance_sampling_ratio/max", "sampling/importance_sampling_masked",
	} {
		if _, ok := log.Metric["grpo0"][name]; !ok {
			t.Errorf("no metric %s: %v", name, log.Metric["grpo0"])
		}
	}
	if log.Metric["grpo0"]["sampling/importance_sampling_ratio/max"] != 2 {
		t.Errorf("metrics %v", log.Metric["grpo0"])
	}
	for _, s := range trainer.Steps[1:] {
		if !strings.HasPrefix(s, "grpo {dapo {0.2 0.28 0} {0.25 k3 k2} 0.5 ") {
			t.Fatalf("a step is %.80s", s)
		}
	}
}

// Wherever a run is stopped, it goes on with the reference that it had.
func TestTheReferenceOutlivesAStop(t *testing.T) {
	train := func(ctx context.Context, trainer *fakeTrainer, log *memoryLog) error {
		return compared().Run(ctx, scenarios(5), &fakeRunner{trainer: trainer, outcome: trajectory.OK},
			scoreFunc(byRollout), trainer, trainer, log, silent)
	}
	whole, wantLog := &fakeTrainer{}, newLog(t)
	if err := train(t.Context(), whole, wantLog); err != nil {
		t.Fatal(err)
	}
	for stop := range 7 {
		ctx, cancel := context.WithCancel(t.Context())
		trainer, log := &fakeTrainer{before: func(step int) {
			if step == stop {
				cancel()
			}
		}}, newLog(t)
		if err := train(ctx, trainer, log); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		again := &fakeTrainer{}
		if err := train(t.Context(), again, log); err != nil || !slices.Equal(again.Steps, whole.Steps) ||
			again.Reference != whole.Reference || !reflect.DeepEqual(log.Metric, wantLog.Metric) {
			t.Errorf("stopped before %d: %v, reference %d, want %d", stop, err, again.Reference, whole.Reference)
		}
		cancel()
	}
}

// With a divergence the groups without spread have rows too; without one they have none.
func TestADivergenceKeepsGroupsWithoutSpread(t *testing.T) {
	for beta, steps := range map[float64]int{0: 0, 0.25: 7} {
		g := grpo()
		if beta > 0 {
			g = g.with(&Divergence{KL: batch.KL{Beta: beta}})
		}
		trainer := &fakeTrainer{}
		err := g.Run(t.Context(), scenarios(5), &fakeRunner{trainer: trainer, outcome: trajectory.OK},
			scoreFunc(func(int) float64 { return 1 }), trainer, trainer, newLog(t), silent)
		if err != nil || len(trainer.Steps) != steps {
			t.Errorf("beta %g: %v, %d steps", beta, err, len(trainer.Steps))
		}
	}
}

// How a step's rows are made follows the recipe's settings.
func TestRowsAsTheRecipeSays(t *testing.T) {
	groups := []trajectory.Group{{Trajectories: []*trajectory.Trajectory{
		{Outcome: trajectory.OK, Reward: 3, Turns: []trajectory.Turn{{BridgeIDs: []int32{1, 2}, CompletionIDs: []int32{3}, SamplerLogprobs: []float32{-1}}}},
		{Outcome: trajectory.Limit, Reward: 1, Turns: []trajectory.Turn{
			{BridgeIDs: []int32{1, 2}, CompletionIDs: []int32{4, 5}, SamplerLogprobs: []float32{-1, -1}},
		}},
	}}}
	for name, c := range map[string]struct {
		change     func(*GRPO)
		advantage  float32
		rows       int
		normaliser int
	}{
		"dapo":      {func(g *GRPO) { g.Advantage.By = batch.AdvantageCentred }, 1, 2, 3},
		"leave out": {func(g *GRPO) { g.Advantage.By = batch.AdvantageLeaveOneOut }, 2, 2, 3},
		"grpo":      {func(g *GRPO) { g.Advantage.By, g.Loss.Name = batch.AdvantageCentred, batch.LossGRPO }, 1, 2, 2},
		"dr_grpo": {func(g *GRPO) {
			g.Advantage.By, g.Loss = batch.AdvantageCentred, Loss{Name: batch.LossDrGRPO, Length: 50}
		}, 1, 2, 100},
	} {
		g := grpo()
		c.change(&g)
		compared := batch.Compare(groups)
		b := compared.Rows(g.Advantage.Of(compared.Groups), took(groups...).options(g.Loss))
		if len(b.Rows) != c.rows || b.Normaliser != c.normaliser || b.Rows[0].Advantages[0] != c.advantage {
			t.Errorf("%s: %s", name, fmt.Sprint(b))
		}
	}
}

// Demonstrations are no samples of the policy: they have no divergence, and the step's own episodes do.
func TestForeignRowsHaveNoDivergence(t *testing.T) {
	trainer, log := &watched{fakeTrainer: &fakeTrainer{}}, newLog(t)
	g := demonstrating(false)
	g.Additions = append(g.Additions, &Divergence{KL: batch.KL{Beta: 0.25, Estimator: batch.K3}})
	if err := g.Run(t.Context(), scenarios(5), &fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK},
		scoreFunc(byRollout), trainer, trainer, log, silent); err != nil {
		t.Fatal(err)
	}
	foreign, own := 0, 0
	for step, b := range trainer.given {
		for _, row := range b.Rows {
			none := slices.Contains(row.Column(batch.ColumnReferenceLogprobs), batch.NoReference)
			if none != row.Scored {
				t.Errorf("step %d, episode %d: scored %v, without a reference %v", step, row.Episode, row.Scored, none)
			}
			if row.Scored {
				foreign++
			} else {
				own++
			}
		}
	}
	if foreign == 0 || own == 0 {
		t.Errorf("%d demonstrations and %d episodes", foreign, own)
	}
}
