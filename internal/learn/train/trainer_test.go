package train

import (
	"context"
	"math"
	"testing"

	"hone/internal/learn/batch"
	"hone/internal/learn/engine"
	"hone/internal/learn/learntest"
)

// start returns a trainer with a fresh adapter whose B is not zero, so that gradients reach A.
func start(t *testing.T, e *engine.Engine, microBatch int) *Trainer {
	t.Helper()
	s, l := learntest.Spec(), learntest.LoRA()
	state := NewState(s, l, 5)
	for i := range state.Adapter {
		state.Adapter[i] += float32(math.Cos(float64(i)) * 0.05)
	}
	tr, err := New(e, s, learntest.Weights(t, e, s), state, Options{LoRA: l, MicroBatch: microBatch})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// rows are three rows of different length that share their first 9 tokens.
func rows() []batch.Sequence {
	var out []batch.Sequence
	for r, n := range []int{20, 14, 17} {
		var s batch.Sequence
		for i := range n {
			id := int32(i*7%60 + 1)
			if i >= 9 {
				id = int32((i*11 + r*13) % 60)
			}
			s.IDs, s.Trained = append(s.IDs, id), append(s.Trained, i > 11 && i%4 != 0)
			s.SamplerLogprobs = append(s.SamplerLogprobs, -4-float32(i%3)*0.02)
		}
		s.Advantage = []float64{1, -0.7, 0.3}[r]
		out = append(out, s)
	}
	return out
}

func afterOneStep(t *testing.T, tr *Trainer, b batch.Batch, policy bool) ([]float32, batch.StepStats) {
	t.Helper()
	step := func() (batch.StepStats, error) {
		return tr.Supervised(context.Background(), b, batch.Update{Rate: 1e-2})
	}
	if policy {
		step = func() (batch.StepStats, error) {
			return tr.PolicyGradient(context.Background(), b, batch.Update{Rate: 1e-2}, batch.Clip{Low: 0.2, High: 0.28})
		}
	}
	stats, err := step()
	if err != nil {
		t.Fatal(err)
	}
	state, err := tr.State()
	if err != nil {
		t.Fatal(err)
	}
	return state.M, stats // after one step the first moment is a tenth of the gradient
}

func maxDelta(a, b []float32) float64 {
	worst := 0.0
	for i := range a {
		worst = math.Max(worst, math.Abs(float64(a[i]-b[i])))
	}
	return worst
}

// The gradient must not depend on how much of the rows is shared, nor on how they are cut into micro-batches.
func TestSharedPrefixGradientsEqualUnshared(t *testing.T) {
	learntest.EachDevice(t, func(t *testing.T, e *engine.Engine) {
		for _, policy := range []bool{false, true} {
			shared := batch.New(rows())
			if len(shared.Prefix) != 9 {
				t.Fatalf("shared %d tokens, want 9", len(shared.Prefix))
			}
			a, sa := afterOneStep(t, start(t, e, 4), shared, policy)
			b, sb := afterOneStep(t, start(t, e, 4), shared.Shorten(1), policy)
			whole, _ := afterOneStep(t, start(t, e, 4), batch.Batch{Rows: rows()}, policy)
			if d := maxDelta(a, whole); d > 1e-6 {
				t.Errorf("policy %v: gradients with and without a prefix differ by %g", policy, d)
			}
			c, _ := afterOneStep(t, start(t, e, 2), shared, policy)
			if d := maxDelta(a, b); d > 1e-6 {
				t.Errorf("policy %v: shared and unshared gradients differ by %g", policy, d)
			}
			if d := maxDelta(a, c); d > 1e-6 {
				t.Errorf("policy %v: micro-batches of 4 and 2 differ by %g", policy, d)
			}
			if math.Abs(sa.Loss-sb.Loss) > 1e-5 || maxDelta(a, make([]float32, len(a))) == 0 {
				t.Errorf("policy %v: losses %v and %v", policy, sa.Loss, sb.Loss)
			}
		}
	})
}

func TestGradientIsClippedByItsGlobalNorm(t *testing.T) {
	learntest.EachDevice(t, func(t *testing.T, e *engine.Engine) {
		b := batch.New(rows())
		free, stats := afterOneStep(t, start(t, e, 4), b, false)
		tr := start(t, e, 4)
		clipped, err := tr.Supervised(context.Background(), b, batch.Update{Rate: 1e-2, MaxGradNorm: stats.GradNorm / 3})
		if err != nil || math.Abs(clipped.GradNorm-stats.GradNorm) > 1e-5 {
			t.Fatalf("norm %v before clipping, want %v; %v", clipped.GradNorm, stats.GradNorm, err)
		}
		state, err := tr.State()
		if err != nil {
			t.Fatal(err)
		}
		for i := range free {
			free[i] /= 3
		}
		if d := maxDelta(free, state.M); d > 1e-6 {
			t.Errorf("clipping to a third differs from a third by %g", d)
		}
	})
}

// Central differences of the loss, along the gradient's own direction and along single numbers.
func TestGradientEqualsFiniteDifferences(t *testing.T) {
	learntest.EachDevice(t, func(t *testing.T, e *engine.Engine) {
		tr := start(t, e, 4)
		before, err := tr.State()
		if err != nil {
			t.Fatal(err)
		}
		b := batch.New(rows())
		m, _ := afterOneStep(t, tr, b, false)
		loss := func(i int, h float32) float64 {
			s := State{Adapter: append([]float32{}, before.Adapter...), M: before.M, V: before.V}
			s.Adapter[i] += h
			if err := tr.SetState(s); err != nil {
				t.Fatal(err)
			}
			scores, err := tr.Score(b)
			if err != nil {
				t.Fatal(err)
			}
			sum, n := 0.0, 0
			for _, row := range scores {
				for _, x := range row {
					sum, n = sum-float64(x), n+1
				}
			}
			return sum / float64(n)
		}
		pieces, _ := tr.lora.Pieces(tr.spec)
		for _, p := range pieces {
			i := p.Offset + p.Rows*p.Cols/2
			const h = 0.02
			numeric := (loss(i, h) - loss(i, -h)) / (2 * h)
			exact := float64(m[i]) / 0.1
			if math.Abs(numeric-exact) > 2e-3*math.Max(0.05, math.Abs(exact)) {
				t.Errorf("layer %d %s B=%v: gradient %g, finite difference %g", p.Layer, p.Target.Name(), p.B, exact, numeric)
			}
		}
	})
}

// A trainer read back from disk takes the same next step, bit for bit.
func TestResumeIsExact(t *testing.T) {
	learntest.EachDevice(t, func(t *testing.T, e *engine.Engine) {
		tr, b := start(t, e, 4), batch.New(rows())
		afterOneStep(t, tr, b, false)
		dir := t.TempDir()
		if err := tr.Save(dir); err != nil {
			t.Fatal(err)
		}
		want, _ := afterOneStep(t, tr, b, true)
		again := start(t, e, 4)
		if err := again.Load(dir); err != nil {
			t.Fatal(err)
		}
		if again.PolicyVersion() != 1 {
			t.Errorf("policy version %d after a resume at 1", again.PolicyVersion())
		}
		got, _ := afterOneStep(t, again, b, true)
		if d := maxDelta(want, got); d != 0 {
			t.Errorf("the resumed step differs by %g", d)
		}
	})
}

// After a reset the next step is what a trainer that was given this adapter would take first.
func TestResetOptimizer(t *testing.T) {
	learntest.EachDevice(t, func(t *testing.T, e *engine.Engine) {
		tr, b := start(t, e, 4), batch.New(rows())
		afterOneStep(t, tr, b, false)
		state, err := tr.State()
		if err != nil {
			t.Fatal(err)
		}
		if err := tr.ResetOptimizer(); err != nil {
			t.Fatal(err)
		}
		afterOneStep(t, tr, b, false)
		got, err := tr.State()
		if err != nil {
			t.Fatal(err)
		}
		fresh := start(t, e, 4)
		zero := make([]float32, len(state.M))
		if err := fresh.SetState(State{Adapter: state.Adapter, M: zero, V: zero}); err != nil {
			t.Fatal(err)
		}
		afterOneStep(t, fresh, b, false)
		want, err := fresh.State()
		if err != nil {
			t.Fatal(err)
		}
		if d := maxDelta(want.Adapter, got.Adapter); d != 0 {
			t.Errorf("the step after a reset differs by %g from a first step", d)
		}
		if got.Steps != 2 || tr.PolicyVersion() != 2 {
			t.Errorf("policy version %d after two steps", got.Steps)
		}
	})
}

func TestLossFallsAndUnusableStepsAreRefused(t *testing.T) {
	learntest.EachDevice(t, func(t *testing.T, e *engine.Engine) {
		tr, b := start(t, e, 4), batch.New(rows())
		_, first := afterOneStep(t, tr, b, false)
		var last batch.StepStats
		for range 15 {
			_, last = afterOneStep(t, tr, b, false)
		}
		if last.Loss > first.Loss-0.5 {
			t.Errorf("15 steps on one batch took the loss from %.3f to %.3f", first.Loss, last.Loss)
		}
		if _, err := tr.Supervised(context.Background(), batch.Batch{}, batch.Update{Rate: 1}); err == nil {
			t.Error("a step without trained tokens was taken")
		}
		if err := tr.SetState(State{Adapter: []float32{1}}); err == nil {
			t.Error("an adapter of another model was accepted")
		}
	})
}
