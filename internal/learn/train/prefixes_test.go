package train

import (
	"context"
	"math"
	"testing"

	"hone/internal/engine"
	"hone/internal/learn/batch"
	"hone/internal/testing/learntest"
)

// Rows of a step that begin alike in several ways, each behind what it shares, have the loss, the gradient and the
// logprobs of rows behind what all share, also with dropout; what is shared is computed once.
func TestSeveralPrefixesAreOneStep(t *testing.T) {
	e, err := engine.Open(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s, b := learntest.Spec(), batch.New(forest())
	start := func(alike int, dropout float64) *Trainer {
		state := NewState(s, learntest.LoRA(), 5)
		for i := range state.Adapter {
			state.Adapter[i] += float32(math.Cos(float64(i)) * 0.05)
		}
		tr, err := New(e, s, learntest.Weights(t, e, s), state, Options{LoRA: learntest.LoRA(), RowMultiple: 1,
			MicroBatch: 2, Dropout: dropout, Seed: 3, VaryingPrefix: alike > 0})
		if err != nil {
			t.Fatal(err)
		}
		if tr.alike > 0 {
			tr.alike = alike
		}
		return tr
	}
	for _, dropout := range []float64{0, 0.4} {
		apart, parts := start(0, dropout), start(2, dropout)
		for step := range 2 {
			want, err := apart.Step(t.Context(), b, batch.Objective{}, batch.Update{Rate: 1e-2})
			if err != nil {
				t.Fatal(err)
			}
			got, err := parts.Step(t.Context(), b, batch.Objective{}, batch.Update{Rate: 1e-2})
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(got.Loss-want.Loss) > 1e-6*want.Loss ||
				math.Abs(got.GradNorm-want.GradNorm) > 1e-5*want.GradNorm || got.NumTrained != want.NumTrained {
				t.Errorf("step %d: %+v, want %+v", step, got, want)
			}
			// Of six rows with 33 tokens behind four of all, four share two more and two share one more, which is too
			// few: so two tokens are computed once and not four times, behind a prefix that is there twice.
			if want.NumTokens != 4+33 || got.NumTokens != 4+33-4*2+2+4 {
				t.Errorf("%d tokens, apart %d", got.NumTokens, want.NumTokens)
			}
		}
		if delta := maxDelta(stateOf(t, apart).Adapter, stateOf(t, parts).Adapter); delta > 2e-6 {
			t.Errorf("with dropout %g the adapters differ by %g", dropout, delta)
		}
		scores := func(tr *Trainer) [][]float32 {
			all, err := tr.Score(context.Background(), b, 1)
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
		want, got := scores(apart), scores(parts)
		for i := range want {
			if len(want[i]) != len(got[i]) || maxDelta(want[i], got[i]) > 2e-5 {
				t.Errorf("row %d: logprobs %v, apart %v", i, got[i], want[i])
			}
		}
	}
}

// A prefix is cut to one of few lengths, at most as long as it is, of which at least four fifths are kept.
func TestPrefixesHaveFewLengths(t *testing.T) {
	lengths := map[int]bool{}
	for n := 2048; n <= 16384; n++ {
		cut := bucketBelow(n, 256)
		lengths[cut] = true
		if cut > n || float64(cut) < 0.8*float64(n) || bucketBelow(cut, 256) != cut {
			t.Fatalf("%d tokens are cut to %d", n, cut)
		}
	}
	if len(lengths) > 14 {
		t.Errorf("%d lengths", len(lengths))
	}
	if cut := bucketBelow(255, 256); cut != 0 {
		t.Errorf("255 tokens are cut to %d", cut)
	}
}
