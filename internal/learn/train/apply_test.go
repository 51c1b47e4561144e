package train

import (
	"context"
	"errors"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomlx/go-xla/pjrt"
	"github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
	"hone/internal/fault"
	"hone/internal/learn/batch"
)

// applyTo applies a gradient given as numbers.
func applyTo(t *testing.T, tr *Trainer, gradient []float32, u batch.Update, stats *batch.StepStats) error {
	t.Helper()
	b, err := tr.engine.Upload(gradient, len(gradient))
	if err != nil {
		t.Fatal(err)
	}
	tr.drop()
	tr.gradient = b
	stats.GradNorm, err = tr.Apply(u)
	return err
}

// Three steps against AdamW as its paper has it, in float64: algorithm 2 of arXiv 1711.05101, whose schedule multiplier
// is the rate here, and its rate within the update 1.
func testAdamW(t *testing.T, d device) {
	for _, adam := range []batch.Adam{{}, {Beta1: 0.8, Beta2: 0.95, Epsilon: 1e-4, WeightDecay: 0.3}} {
		testAdam(t, d.start(t, 4), adam)
	}
}

func testAdam(t *testing.T, tr *Trainer, adam batch.Adam) {
	beta1, beta2, epsilon := 0.9, 0.99, 1e-8 // the defaults
	if adam != (batch.Adam{}) {
		beta1, beta2, epsilon = adam.Beta1, adam.Beta2, adam.Epsilon
	}
	x := toFloat64(stateOf(t, tr).Adapter)
	m, v := make([]float64, len(x)), make([]float64, len(x))
	sizes := []float64{1, 1e-3, 3e-8, 0} // of gradients, some as small as epsilon
	for step, u := range []batch.Update{{Rate: 1e-2}, {Rate: 5e-3, MaxGradNorm: 0.5}, {Rate: 2e-2, MaxGradNorm: 1e9}} {
		u.Adam = adam
		g := make([]float32, len(x))
		norm := 0.0
		for i := range g {
			g[i] = float32(math.Sin(float64(i*(step+1))) * sizes[i%4])
			norm += float64(g[i]) * float64(g[i])
		}
		norm = math.Sqrt(norm)
		stats := batch.StepStats{}
		if err := applyTo(t, tr, g, u, &stats); err != nil {
			t.Fatal(err)
		}
		if math.Abs(stats.GradNorm-norm) > 1e-5*norm {
			t.Errorf("step %d: norm %g, want %g", step+1, stats.GradNorm, norm)
		}
		scale := 1.0
		if u.MaxGradNorm > 0 && norm > u.MaxGradNorm {
			scale = u.MaxGradNorm / norm
		}
		for i := range x {
			gi := float64(g[i]) * scale
			m[i] = beta1*m[i] + (1-beta1)*gi
			v[i] = beta2*v[i] + (1-beta2)*gi*gi
			mHat, vHat := m[i]/(1-math.Pow(beta1, float64(step+1))), v[i]/(1-math.Pow(beta2, float64(step+1)))
			x[i] -= u.Rate * (mHat/(math.Sqrt(vHat)+epsilon) + adam.WeightDecay*x[i])
		}
		got := stateOf(t, tr)
		for i := range x {
			for _, c := range []struct {
				name     string
				got      float32
				want, of float64 // sums may cancel, so a difference is held against the size of what is summed
			}{{"adapter", got.Adapter[i], x[i], u.Rate}, {"first moment", got.M[i], m[i], 0.1 * sizes[i%4]},
				{"second moment", got.V[i], v[i], 0.01 * sizes[i%4] * sizes[i%4]}} {
				if math.Abs(float64(c.got)-c.want) > 1e-5*(math.Abs(c.want)+c.of) {
					t.Fatalf("%+v, step %d: number %d of the %s is %g, want %g", adam, step+1, i, c.name, c.got, c.want)
				}
			}
		}
		if got.Steps != step+1 || got.MomentSteps != step+1 {
			t.Fatalf("%d steps, the moments' %d, after %d", got.Steps, got.MomentSteps, step+1)
		}
	}
}

func toFloat64(x []float32) []float64 {
	out := make([]float64, len(x))
	for i := range x {
		out[i] = float64(x[i])
	}
	return out
}

// A loss may be finite where its gradient is not: that of a ratio too large for float32 is clipped.
func testStepsThatAreNotFiniteLeaveTheState(t *testing.T, d device) {
	tr, b := d.start(t, 4), batch.New(rows())
	afterOneStep(t, tr, b, true)
	before := stateOf(t, tr)
	far := rows()
	far[0].SamplerLogprobs[13] = -120
	for _, c := range []struct {
		name string
		step func() (batch.StepStats, error)
	}{
		{"a sampler's logprob of -120", func() (batch.StepStats, error) {
			stats, err := tr.Step(context.Background(), batch.New(far), policyGradient(),
				batch.Update{Rate: 1e-2, MaxGradNorm: 1})
			if !finite(stats.Loss) {
				t.Errorf("the loss is %g: this is not the case meant", stats.Loss)
			}
			return stats, err
		}},
		{"an infinite gradient", func() (stats batch.StepStats, err error) {
			g := make([]float32, tr.size)
			g[3] = float32(math.Inf(-1))
			return stats, applyTo(t, tr, g, batch.Update{Rate: 1e-2}, &stats)
		}},
		{"a gradient of NaN", func() (stats batch.StepStats, err error) {
			g := make([]float32, tr.size)
			g[tr.size-1] = float32(math.NaN())
			return stats, applyTo(t, tr, g, batch.Update{Rate: 1e-2, MaxGradNorm: 1}, &stats)
		}},
		{"a loss of NaN", func() (batch.StepStats, error) {
			without := batch.New(rows())
			without.Rows[0].Advantages = batch.Even(len(without.Rows[0].IDs), math.NaN())
			return tr.Step(context.Background(), without, policyGradient(), batch.Update{Rate: 1e-2})
		}},
	} {
		_, err := c.step()
		var f *fault.Error
		if !errors.As(err, &f) || !strings.Contains(err.Error(), "step 2") {
			t.Errorf("%s: error %v, want one that names step 2", c.name, err)
		}
		if !equal(before, stateOf(t, tr)) {
			t.Fatalf("%s changed the state", c.name)
		}
	}
	dir := t.TempDir()
	if err := tr.Save(dir); err != nil {
		t.Fatal(err)
	}
	if again := d.start(t, 4); again.Load(dir) != nil || !equal(before, stateOf(t, again)) {
		t.Error("a checkpoint made after refused steps is not the state before them")
	}
	afterOneStep(t, tr, b, true)
	if after := stateOf(t, tr); after.Steps != 2 || slices.Equal(after.Adapter, before.Adapter) {
		t.Errorf("no step can be taken after refused ones: %d taken", after.Steps)
	}
}

// A step or score that fails releases what it holds. Only a plug-in counts its buffers; the garbage collector, which
// would hide a leak, is held off.
func testFailuresReleaseBuffers(t *testing.T, d device) {
	if d.PureGo() {
		return
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.GC()
	time.Sleep(100 * time.Millisecond) // until what was garbage before is released
	tr, b := d.start(t, 4), batch.New(rows())
	broken, err := d.Compile("broken", []engine.Param{{Name: "x", Shape: engine.F32()}},
		func(in []*graph.Node) []*graph.Node { return in })
	if err != nil {
		t.Fatal(err)
	}
	step := func() error {
		_, err := tr.Step(context.Background(), b, policyGradient(), batch.Update{Rate: 1e-2})
		return err
	}
	score := func() error {
		_, err := tr.Score(context.Background(), b, 1)
		return err
	}
	together := func(f func() error) func() error { // a prefix with its rows
		return func() error {
			tr.together = true
			defer func() { tr.together = false }()
			return f()
		}
	}
	if err := errors.Join(step(), together(step)(), score()); err != nil { // compiles what the cases below break
		t.Fatal(err)
	}
	before := stateOf(t, tr)
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	stopped := func() error {
		_, err := tr.Step(cancelled, b, batch.Objective{}, batch.Update{Rate: 1e-2})
		return err
	}
	for _, c := range []struct {
		name, program string
		fail          func() error
	}{
		{"prefix", "prefix_", step},
		{"rows", "rows_", step},
		{"prefix's backward pass", "prefix_backward_", step},
		{"apply", "apply", step},
		{"score", "score_", score},
		{"a prefix with its rows", "tree_", together(step)},
		{"stopped", "none", stopped},
		{"a prefix with its rows, stopped", "none", together(stopped)},
	} {
		tr.programs = map[string]program{}
		for key, p := range d.programs {
			if strings.HasPrefix(key, c.program) {
				p = broken
			}
			tr.programs[key] = p
		}
		alive := pjrt.BuffersAlive()
		err := c.fail()
		if left := pjrt.BuffersAlive() - alive; err == nil || left != 0 {
			t.Errorf("%s: %d buffers left behind by %v", c.name, left, err)
		}
		runtime.KeepAlive(tr)
	}
	tr.programs = d.programs
	if !equal(before, stateOf(t, tr)) {
		t.Error("steps that failed changed the state")
	}
}
