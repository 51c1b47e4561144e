package train

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"hone/internal/engine"
	"hone/internal/learn/batch"
	"hone/internal/testing/learntest"
)

// What is compiled ahead of steps are the programs that these take, of each form that rows have, and no more.
func TestWhatIsPreparedIsWhatIsTaken(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	various, _ := episodes(r, lengths["log-uniform"], 0.5)
	steps := []batch.Batch{batch.New(various[:40]), batch.New(various[40:]), batch.New(various[:1])}
	supervised, gradients := batch.Objective{}, policyGradient()
	for name, c := range map[string]struct {
		options Options
		loss    batch.Objective
	}{
		"rows":                {Options{}, supervised},
		"rows behind a start": {Options{MaxPrefix: 900}, gradients},
		"dropout":             {Options{MaxPrefix: 900, Dropout: 0.1}, supervised},
		"trees":               {Options{MaxPrefix: 900, TreeTokens: 4096}, supervised},
		"layers again":        {Options{Recompute: RecomputeLayer}, gradients},
		"starts that vary":    {Options{MaxPrefix: 100, VaryingPrefix: true}, gradients},
	} {
		t.Run(name, func(t *testing.T) {
			taken := dryPrograms(t, c.options, func(tr *Trainer) { takeSteps(t, tr, steps, c.loss) })
			var after int
			prepared := dryPrograms(t, c.options, func(tr *Trainer) {
				tr.Prepare(steps, c.loss)
				tr.CompileStats()
				takeSteps(t, tr, steps, c.loss)
				after, _ = tr.CompileStats()
			})
			if after != 1 || !slices.Equal(prepared, taken) { // the one applies the gradient
				t.Errorf("%d programs were compiled behind those ahead; %d of %d", after, len(prepared), len(taken))
			}
		})
	}
}

// Scores have their programs compiled at one time too: each that they take, and no more.
func TestScoresAreCompiledAhead(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	rows, _ := episodes(r, lengths["log-uniform"], 0.5)
	for _, entropies := range []bool{false, true} {
		var ahead int
		dryPrograms(t, Options{MaxPrefix: 900}, func(tr *Trainer) {
			of := tr.ahead()
			of.scores(tr.byPrefix(batch.New(rows).Shorten(tr.maxPrefix)), entropies)
			if err := of.compile(); err != nil {
				t.Fatal(err)
			}
			ahead, _ = tr.CompileStats()
			score := tr.Score
			if entropies {
				score = tr.Entropies
			}
			if _, err := score(context.Background(), batch.New(rows), 1); err != nil {
				t.Fatal(err)
			}
			if more, _ := tr.CompileStats(); ahead < 3 || more != 0 {
				t.Errorf("%d programs ahead, %d behind", ahead, more)
			}
		})
	}
}

// Where the compiler takes all cores nothing is compiled before it is needed.
func TestNothingIsPreparedOnACPU(t *testing.T) {
	rows, _ := episodes(rand.New(rand.NewPCG(3, 4)), lengths["log-uniform"], 0.5)
	if programs := dryProgramsOn(t, false, Options{}, func(tr *Trainer) {
		tr.Prepare([]batch.Batch{batch.New(rows)}, batch.Objective{})
	}); len(programs) > 0 {
		t.Errorf("%v", programs)
	}
}

func takeSteps(t *testing.T, tr *Trainer, steps []batch.Batch, o batch.Objective) {
	t.Helper()
	for _, b := range steps {
		if _, err := tr.Step(context.Background(), b, o, batch.Update{Rate: 1}); err != nil {
			t.Fatal(err)
		}
	}
}

// dryPrograms are the keys of the programs that a trainer on a GPU without a device has in the end.
func dryPrograms(t *testing.T, o Options, use func(*Trainer)) []string {
	t.Helper()
	return dryProgramsOn(t, true, o, use)
}

func dryProgramsOn(t *testing.T, gpu bool, o Options, use func(*Trainer)) []string {
	t.Helper()
	tr, shut := dryTrainer(t, gpu, o)
	defer shut()
	use(tr)
	return slices.Sorted(maps.Keys(tr.programs))
}

// dryTrainer is one on a device that is not there; shut releases it.
func dryTrainer(t *testing.T, gpu bool, o Options) (tr *Trainer, shut func()) {
	t.Helper()
	d := engine.OpenDry(gpu, 1)
	s, l := learntest.Spec(), learntest.LoRA()
	var weights []engine.Buffer
	for _, w := range s.WeightParams() {
		b, err := d.BlankParam(w)
		if err != nil {
			t.Fatal(err)
		}
		weights = append(weights, b)
	}
	o.LoRA = l
	tr, err := New(d.Engine, s, weights, NewState(s, l, 1), o)
	if err != nil {
		t.Fatal(err)
	}
	return tr, func() { d.Close() }
}
