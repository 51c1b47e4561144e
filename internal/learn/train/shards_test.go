package train

import (
	"math"
	"testing"

	"hone/internal/engine"
	"hone/internal/learn/batch"
	"hone/internal/learn/model"
	"hone/internal/testing/learntest"
)

// divisible is a decoder of which four devices can share the rows of all maps but those of k and v, which have 6.
func divisible() model.Spec {
	s := learntest.Spec()
	s.NumHeads, s.NumKVHeads, s.HeadDim = 4, 1, 6
	return s
}

// A step with sharded weights is the step without: loss and gradient within 1e-6, on two devices and on four, with a
// prefix and dropout. Each device holds its part, and a resumed run goes on to the same bits.
func TestShardedWeightsTakeTheSameSteps(t *testing.T) {
	b := batch.New(uneven())
	small, err := engine.Open(engine.Options{}) // pure Go, which has little to compile
	if err != nil {
		t.Fatal(err)
	}
	defer small.Close()
	for _, n := range []int{2, 4} {
		if n > 2 && !learntest.Whole() {
			continue
		}
		e := learntest.Devices(t, n)
		whole, programs := divisible(), map[string]program{}
		sharded := whole
		sharded.Shards = n
		parts := learntest.Weights(t, e, sharded)
		checkParts(t, sharded, parts)
		start := func(e *engine.Engine, s model.Spec, weights []engine.Buffer) *Trainer {
			l := learntest.LoRA()
			l.Tokens = []int32{36, 8, 14}
			state := NewState(s, l, 5)
			for i := range state.Adapter {
				state.Adapter[i] += float32(math.Cos(float64(i)) * 0.05)
			}
			tr, err := New(e, s, weights, state,
				Options{LoRA: l, RowMultiple: 16, MicroBatch: 1, Dropout: 0.3, Seed: 7})
			if err != nil {
				t.Fatal(err)
			}
			return tr
		}
		want := twoSteps(t, start(small, whole, learntest.Weights(t, small, whole)), b, batch.Objective{})
		again := func() *Trainer {
			tr := start(e, sharded, parts)
			tr.programs = programs
			return tr
		}
		tr := again()
		got := twoSteps(t, tr, b, batch.Objective{})
		if delta := maxDelta(want.gradient, got.gradient); delta > 1e-6 ||
			maxDelta(want.gradient, make([]float32, tr.size)) < 1e-3 {
			t.Errorf("on %d devices the gradient differs by %g", n, delta)
		}
		if delta := maxDelta(want.state.Adapter, got.state.Adapter); delta > 1e-5 ||
			math.Abs(want.first.Loss-got.first.Loss) > 1e-6 || !near(want.second, got.second) {
			t.Errorf("on %d devices the adapter differs by %g; %+v and %+v, want %+v and %+v",
				n, delta, got.first, got.second, want.first, want.second)
		}
		for i := range want.scores {
			if maxDelta(want.scores[i], got.scores[i]) > 1e-5 {
				t.Errorf("on %d devices row %d scores %v, want %v", n, i, got.scores[i], want.scores[i])
			}
		}
		checkAlike(t, tr, n)
		testSeveralDevicesResume(t, again, b, batch.Objective{})
		checkInPlace(t, again(), b, batch.Objective{})
	}
}

// checkParts compares what a device has of each weight with the part of it that is to be there.
func checkParts(t *testing.T, s model.Spec, parts []engine.Buffer) {
	t.Helper()
	var here, all int
	for i, p := range s.WeightParams() {
		shape, err := parts[i].Shape()
		if err != nil {
			t.Fatal(err)
		}
		want := p.Shape.Size()
		if p.Sharded {
			want /= s.Shards
			here, all = here+shape.Size(), all+p.Shape.Size()
		}
		if shape.Size() != want {
			t.Errorf("%s: a device has %s of %s", p.Name, shape, p.Shape)
		}
	}
	if here*s.Shards != all || all == 0 {
		t.Errorf("a device has %d numbers of %d", here, all)
	}
}
