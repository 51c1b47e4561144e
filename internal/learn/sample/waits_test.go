package sample

import (
	"slices"
	"testing"

	"hone/internal/engine"
	"hone/internal/testing/learntest"
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

// While slots decode, the program for a long prompt's chunks is compiled beside them: the prompt is fed in smaller
// chunks meanwhile, and they draw.
func TestStreamsGoOnWhileAProgramIsCompiled(t *testing.T) {
	e := learntest.Devices(t, 1)
	if e.IsGPU() {
		t.Skip("its chunks are longer than these prompts")
	}
	s, err := New(e, learntest.Spec(), learntest.Weights(t, e, learntest.Spec()),
		Options{LoRA: learntest.LoRA(), Slots: 8, Context: 160})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	long := request(5, 120, false)
	want := must(t, s, long)
	long.Owner = 1 // what the slot holds is another's
	jobs := []*job{{request: request(1, 1, false)}, {request: long}}
	s.making.Lock() // as another compilation does
	if err := s.between(func() error {
		s.gpu = true
		for _, j := range jobs {
			j.ctx, j.done = t.Context(), make(chan struct{})
			s.enqueue(j)
			s.next(j.request.Slot)
		}
		s.larger(&s.prefillFew, 1, few*s.chunk, 0)
		before := s.stats
		for range 2 {
			if err := s.advance(); err != nil {
				return err
			}
		}
		if fed, drawn := s.stats.Prefilled-before.Prefilled, s.stats.Decoded-before.Decoded; fed != few*s.chunk ||
			drawn != 1 || s.prefillOne.coming == nil || s.prefillOne.program != nil {
			t.Errorf("%d tokens are fed and %d drawn, with the program for more %v", fed, drawn, s.prefillOne)
		}
		s.making.Unlock()
		s.beside.Wait()
		before = s.stats
		if err := s.advance(); err != nil {
			return err
		}
		if n := s.stats.Prefilled - before.Prefilled; n != 120-1-few*s.chunk || s.prefillOne.program == nil {
			t.Errorf("%d tokens are fed at one time when the program is there", n)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs {
		<-j.done
	}
	if got := jobs[1].completion; jobs[1].err != nil || !slices.Equal(got.IDs, want.IDs) {
		t.Errorf("%v, %v, and in small chunks %v", got.IDs, jobs[1].err, want.IDs)
	}
}
