package sample_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"hone/internal/engine"
	"hone/internal/learn/batch"
	"hone/internal/learn/sample"
	"hone/internal/learn/train"
	"hone/internal/testing/learntest"
)

// The trainer's own forward pass, which has a shared prefix, gives the same numbers; an adapter changes them.
func TestLogprobsAreTheTrainers(t *testing.T) {
	learntest.EachDevice(t, func(t *testing.T, e *engine.Engine) {
		spec, lora := learntest.Spec(), learntest.LoRA()
		weights := learntest.Weights(t, e, spec)
		state := train.NewState(spec, lora, 1)
		r := rand.New(rand.NewPCG(1, 2))
		for i := range state.Adapter {
			state.Adapter[i] = float32(r.NormFloat64()) * 0.3
		}
		ids := make([]int32, 45)
		trained := make([]bool, len(ids)-1)
		for i := range ids {
			ids[i] = int32(r.IntN(spec.VocabSize))
		}
		for i := 1; i < len(trained); i++ {
			trained[i] = true
		}
		trainer, err := train.New(e, spec, weights, state, train.Options{LoRA: lora})
		if err != nil {
			t.Fatal(err)
		}
		// A row's first token cannot be scored by the trainer, so the comparison begins at ids[2].
		want, err := trainer.Score(t.Context(),
			batch.Batch{Prefix: ids[:1], Rows: []batch.Sequence{{IDs: ids[1:], Trained: trained}}}, 1)
		if err != nil {
			t.Fatal(err)
		}
		adapted := scored(t, e, weights, state.Adapter, ids)
		if d := distance(adapted[1:], want[0][1:]); d > 1e-4 {
			t.Errorf("differs from the trainer's by %g", d)
		}
		base := scored(t, e, weights, nil, ids)
		if d := distance(base[1:], want[0][1:]); d < 1e-2 {
			t.Errorf("without the adapter it differs by %g only", d)
		}
		if short := scored(t, e, weights, nil, ids[:2]); len(short) != 1 || math.Abs(float64(short[0]-base[0])) > 1e-5 {
			t.Errorf("of two ids: %v, want %v", short, base[:1])
		}
		if none := scored(t, e, weights, nil, ids[:1]); len(none) != 0 {
			t.Errorf("of one id: %v", none)
		}
	})
}

func scored(t *testing.T, e *engine.Engine, weights []engine.Buffer, adapter []float32, ids []int32) []float32 {
	t.Helper()
	s, err := sample.NewScorer(e, learntest.Spec(), weights, learntest.LoRA(), adapter)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out, err := s.Logprobs(ids)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// distance is the largest difference; infinite where the lengths differ.
func distance(a, b []float32) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	most := 0.0
	for i := range a {
		most = max(most, math.Abs(float64(a[i]-b[i])))
	}
	return most
}
