package train

import (
	"context"
	"math"
	"slices"
	"testing"

	"hone/internal/learn/batch"
	"hone/internal/testing/learntest"
)

// dropping starts a trainer with dropout.
func (d device) dropping(t *testing.T, microBatch int, seed uint64) *Trainer {
	return d.startWith(t, Options{MicroBatch: microBatch, Dropout: 0.4, Seed: seed})
}

// Masks hang on step, node and position: loss and gradient do not depend on how much is shared, nor on micro-batches.
func testDropoutIsTheSameHoweverRowsAreCut(t *testing.T, d device) {
	type cut struct {
		b        batch.Batch
		rows     int
		together bool // with the prefix
	}
	shared, turned := batch.New(rows()), batch.New(rows())
	slices.Reverse(turned.Rows)
	reference, cuts := cut{shared, 4, false}, map[string]cut{"in another order": {turned, 4, true}}
	if d.PureGo() { // where a program costs nothing to compile
		reference = cut{batch.Batch{Rows: rows()}, 4, false}
		cuts["shared"], cuts["less of it shared"], cuts["two at a time"] =
			cut{shared, 4, false}, cut{shared.Shorten(5), 4, true}, cut{turned, 2, false}
	}
	without, _ := afterOneStep(t, d.start(t, 4), shared, false)
	want, stats := afterOneStep(t, d.dropping(t, reference.rows, 1), reference.b, false)
	if maxDelta(want, without) < 1e-4 {
		t.Error("dropout changes nothing")
	}
	for name, c := range cuts {
		tr := d.dropping(t, c.rows, 1)
		tr.together = c.together
		got, s := afterOneStep(t, tr, c.b, false)
		if delta := maxDelta(want, got); delta > 1e-6 || math.Abs(s.Loss-stats.Loss) > 1e-5 {
			t.Errorf("%s: the gradient differs by %g, losses are %v and %v", name, delta, s.Loss, stats.Loss)
		}
	}
	if got, _ := afterOneStep(t, d.dropping(t, 4, 2), shared, false); maxDelta(want, got) < 1e-4 {
		t.Error("another seed draws the same")
	}
}

// The gradient is that of the loss with the step's own masks.
func testDropoutGradientEqualsFiniteDifferences(t *testing.T, d device) {
	tr, b := d.dropping(t, 4, 3), batch.New(rows())
	before := stateOf(t, tr)
	loss := func(i int, h float32) float64 {
		s := before
		s.Adapter = slices.Clone(before.Adapter)
		s.Adapter[i] += h
		if err := tr.SetState(s); err != nil {
			t.Fatal(err)
		}
		stats, err := tr.Step(context.Background(), b, batch.Objective{}, batch.Update{Rate: 1e-2})
		if err != nil {
			t.Fatal(err)
		}
		return stats.Loss
	}
	loss(0, 0)
	m := stateOf(t, tr).M
	pieces, _ := tr.lora.Pieces(tr.spec)
	for _, p := range pieces {
		i := p.Offset + p.Rows*p.Cols/2
		const h = 0.01
		numeric, exact := (loss(i, h)-loss(i, -h))/(2*h), float64(m[i])/0.1
		if math.Abs(numeric-exact) > 2e-3*math.Max(0.05, math.Abs(exact)) {
			t.Errorf("layer %d %s B=%v: gradient %g, finite difference %g",
				p.Layer, p.Target.Name(), p.B, exact, numeric)
		}
	}
}

// Each step draws anew, a resumed run draws the same; scores and policy-gradient steps draw nothing.
func testDropoutIsDrawnAnewEachStepAndRepeatedByAResume(t *testing.T, d device) {
	tr, b := d.dropping(t, 4, 4), batch.New(rows())
	start := stateOf(t, tr)
	_, first := afterOneStep(t, tr, b, false)
	dir := t.TempDir()
	if err := tr.Save(dir); err != nil {
		t.Fatal(err)
	}
	afterOneStep(t, tr, b, false)
	again := d.dropping(t, 4, 4)
	if err := again.Load(dir); err != nil {
		t.Fatal(err)
	}
	afterOneStep(t, again, b, false)
	if !equal(stateOf(t, tr), stateOf(t, again)) {
		t.Error("the step after a resume differs")
	}
	later := start
	later.Steps = 1
	if err := tr.SetState(later); err != nil {
		t.Fatal(err)
	}
	if _, second := afterOneStep(t, tr, b, false); second.Loss == first.Loss {
		t.Error("the second step draws what the first drew")
	}
	plain := d.start(t, 4)
	want, err := plain.Score(context.Background(), b, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.SetState(start); err != nil {
		t.Fatal(err)
	}
	got, err := tr.Score(context.Background(), b, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Error("scores differ under dropout")
		}
	}
	afterOneStep(t, tr, b, true)
	afterOneStep(t, plain, b, true)
	if !equal(stateOf(t, tr), stateOf(t, plain)) {
		t.Error("a policy-gradient step differs under dropout")
	}
}

func TestDropoutOutOfRangeIsRefused(t *testing.T) {
	for _, x := range []float64{-0.1, 1, math.NaN()} {
		if _, err := New(nil, learntest.Spec(), nil, State{},
			Options{LoRA: learntest.LoRA(), MicroBatch: 1, RowMultiple: 1, Dropout: x}); err == nil {
			t.Errorf("a dropout of %v is accepted", x)
		}
	}
}
