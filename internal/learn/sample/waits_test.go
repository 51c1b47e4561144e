package sample

import (
	"testing"

	"hone/internal/learn/engine"
	"hone/internal/learn/learntest"
)

// While a program is compiled that one request needs, the others are sampled.
func TestNobodyWaitsForOthersPrograms(t *testing.T) {
	learntest.EachDevice(t, func(t *testing.T, e *engine.Engine) {
		s := small(t, e)
		s.making.Lock() // as a compilation does
		needs := request(0, 5, false)
		needs.TopP = 0.5
		done := make(chan error, 1)
		go func() {
			_, err := s.Sample(t.Context(), needs)
			done <- err
		}()
		must(t, s, request(1, 6, false))
		if len(done) > 0 || s.chooser != nil {
			t.Error("a program was compiled outside of the lock")
		}
		s.making.Unlock()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// What a slot holds of one owner is not used for another.
func TestOwnersShareNothing(t *testing.T) {
	learntest.EachDevice(t, func(t *testing.T, e *engine.Engine) {
		s := small(t, e)
		fed := func(owner int) (int, []int32) {
			r := request(0, 9, false)
			r.Owner = owner
			before := s.Stats().Prefilled
			c := must(t, s, r)
			return s.Stats().Prefilled - before, c.IDs
		}
		first, want := fed(1)
		again, _ := fed(1)
		other, got := fed(2)
		if again != 0 || other != first || first == 0 || len(got) != len(want) {
			t.Errorf("%d tokens were fed at first, %d again, %d for another owner", first, again, other)
		}
	})
}

func small(t *testing.T, e *engine.Engine) *Sampler {
	spec := learntest.Spec()
	spec.NumLayers = 1
	s, err := New(e, spec, learntest.Weights(t, e, spec), Options{Slots: 2, Context: 48})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}
