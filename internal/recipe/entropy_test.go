package recipe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"hone/internal/episode/trajectory"
	"hone/internal/learn/batch"
)

// coefficients are those that the losses of a run's steps had, as a fakeTrainer writes an objective, and NaN where
// there is no bonus.
func coefficients(t *testing.T, steps []string) (all []float64) {
	t.Helper()
	for _, s := range steps {
		var on bool
		var c float64
		if _, err := fmt.Sscanf(s, "grpo {dapo {0.2 0.28 0} {0  } 0 0 {%t %g}}", &on, &c); err != nil {
			t.Fatalf("%v: %.80s", err, s)
		}
		if !on {
			c = math.NaN()
		}
		all = append(all, c)
	}
	return all
}

// The entropies of the seven steps are 0.5, 0.5, 0.1, 0.1, 0.2, 0.3 and 0.1, and the loss of each has the coefficient
// that is given, or that those of the steps before led to. Metrics say what it is behind the step.
func TestTheBonusForEntropy(t *testing.T) {
	for name, c := range map[string]struct {
		Entropy         *Entropy
		losses, metrics []float64
		top             float64
	}{
		"constant": {&Entropy{Coefficient: 0.25}, []float64{.25, .25, .25, .25, .25, .25, .25}, []float64{.25, .25, .25, .25, .25, .25, .25}, 0},
		// 0.5 and 0.5 are above: it falls by 0.125 twice, and is not taken. 0.1, 0.1, 0.2 are not: it grows, and is
		// taken behind them. 0.3 is above.
		"adaptive": {&Entropy{Coefficient: 0.25, Target: 0.2, Delta: 0.125},
			[]float64{0, 0, 0, .125, .25, .375, 0}, []float64{.125, 0, .125, .25, .375, .25, .375}, 0},
		"adaptive, from 0": {&Entropy{Target: 0.3, Delta: 0.75}, []float64{0, 0, 0, .75, 1, 1, 1}, []float64{0, 0, .75, 1, 1, 1, 1}, 0},
		// The chosen tokens' entropies are more by 0.125: at 0.225 and 0.3 it grows, and the others are above.
		"adaptive, of the chosen": {&Entropy{Coefficient: 0.25, Target: 0.3, Delta: 0.125},
			[]float64{0, 0, 0, .125, .25, 0, 0}, []float64{.125, 0, .125, .25, .125, 0, .125}, 0.5},
	} {
		g := grpo()
		if c.top > 0 {
			g = g.with(&TopEntropy{Share: c.top})
		}
		g = g.with(c.Entropy)
		train := func(ctx context.Context, trainer *fakeTrainer, log *memoryLog) error {
			return g.Run(ctx, scenarios(5), &fakeRunner{trainer: trainer, outcome: trajectory.OK}, scoreFunc(byRollout),
				trainer, trainer, log, silent)
		}
		trainer, log := &fakeTrainer{}, newLog(t)
		if err := train(t.Context(), trainer, log); err != nil {
			t.Fatal(err)
		}
		if got := coefficients(t, trainer.Steps); !slices.Equal(got, c.losses) {
			t.Errorf("%s: the losses have %v, want %v", name, got, c.losses)
		}
		for step, want := range c.metrics {
			m := log.Metric[fmt.Sprint("grpo", step)]
			if h := []float64{0.5, 0.5, 0.1, 0.1, 0.2, 0.3, 0.1}[step]; m["entropy_coef"] != want || m["entropy"] != h {
				t.Errorf("%s: step %d has the metrics %v and %v, want %v and %v",
					name, step, m["entropy_coef"], m["entropy"], want, h)
			}
		}
		for stop := range 7 { // wherever a run is stopped, it goes on with the coefficient that it had
			ctx, cancel := context.WithCancel(t.Context())
			stopped, half := &fakeTrainer{before: func(step int) {
				if step == stop {
					cancel()
				}
			}}, newLog(t)
			if err := train(ctx, stopped, half); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			again := &fakeTrainer{}
			if err := train(t.Context(), again, half); err != nil || !slices.Equal(again.Steps, trainer.Steps) ||
				!reflect.DeepEqual(half.Metric, log.Metric) {
				t.Errorf("%s, stopped before %d: %v: %v", name, stop, err, coefficients(t, again.Steps))
			}
			cancel()
		}
	}
	g, trainer, log := grpo(), &fakeTrainer{}, newLog(t)
	if err := g.Run(t.Context(), scenarios(5), &fakeRunner{trainer: trainer, outcome: trajectory.OK},
		scoreFunc(byRollout), trainer, trainer, log, silent); err != nil {
		t.Fatal(err)
	}
	if _, ok := log.Metric["grpo0"]["entropy_coef"]; ok || !math.IsNaN(coefficients(t, trainer.Steps)[0]) {
		t.Errorf("without a bonus: %v, %v", trainer.Steps[0], log.Metric["grpo0"])
	}
}

// Tokens of groups without spread have a bonus too, so such a step is taken.
func TestABonusKeepsGroupsWithoutSpread(t *testing.T) {
	for e, steps := range map[*Entropy]int{nil: 0, {Coefficient: 0.25}: 7, {Target: 0.2, Delta: 0.125}: 7} {
		g := grpo()
		if e != nil {
			g = g.with(e)
		}
		trainer := &fakeTrainer{}
		err := g.Run(t.Context(), scenarios(5), &fakeRunner{trainer: trainer, outcome: trajectory.OK},
			scoreFunc(func(int) float64 { return 1 }), trainer, trainer, newLog(t), silent)
		if err != nil || len(trainer.Steps) != steps {
			t.Errorf("%+v: %v, %d steps", e, err, len(trainer.Steps))
		}
	}
}

// Rows of a step are learnt from at the share of the step's tokens with the highest entropies. Where it is those of the
// first of its two sampled tokens, the other has no advantage. Entropies of groups without spread count; their rows are
// not computed unless they have a gradient.
func TestTopEntropyOfAStep(t *testing.T) {
	half := func(i int) float64 { return float64(i % 2) } // the rewards of a group
	for name, c := range map[string]struct {
		more  []Addition
		score func(int) float64
		share float64
		rows  int // of a step; 0: none is taken
		first bool
	}{
		"half":           {nil, half, 0.5, 4, true},
		"all":            {nil, half, 0, 4, false},
		"a divergence":   {[]Addition{&Divergence{KL: batch.KL{Beta: 0.25, Estimator: batch.K3}}}, half, 0.5, 4, true},
		"a bonus":        {[]Addition{&Entropy{Coefficient: 0.25}}, half, 0.5, 4, true},
		"nothing taught": {nil, func(int) float64 { return 1 }, 0.5, 0, false},
	} {
		g := grpo()
		if c.share > 0 {
			g = g.with(&TopEntropy{Share: c.share})
		}
		g = g.with(c.more...)
		trainer := &watched{fakeTrainer: &fakeTrainer{}}
		if err := g.Run(t.Context(), scenarios(5), &fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK},
			scoreFunc(c.score), trainer, trainer, newLog(t), silent); err != nil {
			t.Fatal(err)
		}
		if (len(trainer.given) > 0) != (c.rows > 0) {
			t.Errorf("%s: %d steps", name, len(trainer.given))
		}
		for _, b := range trainer.given {
			if len(b.Rows) != c.rows {
				t.Errorf("%s: %d rows", name, len(b.Rows))
			}
			for _, r := range b.Rows {
				if one, two := r.Advantages[1], r.Advantages[2]; one == 0 || (two == 0) != c.first || !r.Trained[1] ||
					!r.Trained[2] {
					t.Errorf("%s: advantages %v", name, r.Advantages)
				}
				bonus := r.Column(batch.ColumnBonus)
				if _, on := AdditionOf[*Entropy](g.Additions); on != (bonus != nil) ||
					bonus != nil && !(bonus[1] > 0 && bonus[2] == 0) {
					t.Errorf("%s: entropies weigh %v", name, bonus)
				}
			}
		}
	}
}
