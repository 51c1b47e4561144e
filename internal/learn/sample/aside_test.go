package sample

import (
	"slices"
	"sync"
	"testing"

	"hone/internal/engine"
	"hone/internal/testing/learntest"
)

// Conversations that take turns in a slot say what each says alone, to the bit, and what a slot held of one is not
// computed again. A new adapter forgets all of it.
func TestTurnsInASlotAreThoseOfEachAlone(t *testing.T) {
	learntest.EachDevice(t, func(t *testing.T, e *engine.Engine) {
		weights := learntest.Weights(t, e, learntest.Spec())
		open := func(seats int) *Sampler {
			s, err := New(e, learntest.Spec(), weights, Options{LoRA: learntest.LoRA(), Slots: 2, Context: 96,
				Prefix: sharedIDs, Seats: seats})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			return s
		}
		type said struct {
			ids      []int32
			logprobs []float32
		}
		// talk takes three turns, each when it is told to.
		talk := func(s *Sampler, slot, seat int, next <-chan bool, done chan<- bool) (all said) {
			salt := 2*slot + seat
			r := request(slot, 20+salt, seat == 0)
			r.Seat = seat
			for turn := range 3 {
				<-next
				r.MaxTokens, r.Key.Seed, r.Key.Stream = 5+turn, uint64(turn), uint64(salt)
				c := must(t, s, r)
				all.ids, all.logprobs = append(all.ids, c.IDs...), append(all.logprobs, c.SamplerLogprobs...)
				r.Prompt = append(slices.Concat(r.Prompt, c.IDs), prompt(false, 7+turn, salt)...)
				done <- true
			}
			return all
		}
		beside := func(s *Sampler, order []int) [4]said {
			var all [4]said
			var talks sync.WaitGroup
			next, done := [4]chan bool{}, make(chan bool)
			for i := range all {
				next[i] = make(chan bool)
				talks.Go(func() { all[i] = talk(s, i/2, i%2, next[i], done) })
			}
			for _, i := range order {
				next[i] <- true
				<-done
			}
			talks.Wait()
			return all
		}
		alone := [4]said{}
		plain := open(1)
		for i := range alone {
			next, done := make(chan bool, 3), make(chan bool, 3)
			for range 3 {
				next <- true
			}
			alone[i] = talk(plain, i/2, i%2, next, done)
		}
		fed := plain.Stats().Prefilled
		s := open(2)
		for _, order := range [][]int{{0, 1, 2, 3, 1, 0, 3, 2, 0, 1, 2, 3}, {0, 0, 1, 1, 2, 3, 2, 3, 2, 3, 1, 0}} {
			if err := s.SetAdapter(nil, 0); err != nil {
				t.Fatal(err)
			}
			before := s.Stats().Prefilled
			got := beside(s, order)
			for i := range got {
				if !slices.Equal(got[i].ids, alone[i].ids) || !slices.Equal(got[i].logprobs, alone[i].logprobs) {
					t.Errorf("order %v: %d says %v beside others, %v alone", order, i, got[i].ids, alone[i].ids)
				}
			}
			if n := s.Stats().Prefilled - before; n != fed {
				t.Errorf("order %v: %d tokens are fed, %d alone", order, n, fed)
			}
		}
	})
}
