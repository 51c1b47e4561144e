package serve

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

func TestSlotsPreferTheLongestPrefix(t *testing.T) {
	s := newSlots(3, 0)
	for range 3 {
		if _, err := s.acquire(t.Context(), 0, 0, nil, false); err != nil {
			t.Fatal(err)
		}
	}
	s.release(0, 0, 0, ids("ab"))
	s.release(1, 0, 0, ids("abcd"))
	s.release(2, 0, 0, ids("abx"))
	for _, want := range []int{1, 0, 2} { // "abcdef" runs along with slot 1; then 0 and 2 tie, and 0 was freed first
		if got, err := s.acquire(t.Context(), 0, 0, ids("abcdef"), false); got != want || err != nil {
			t.Errorf("slot %d, %v, want %d", got, err, want)
		}
	}
	if _, err := s.acquire(t.Context(), 0, 0, nil, false); !errors.Is(err, errBusy) {
		t.Errorf("err = %v, want %v", err, errBusy)
	}
}

func TestSlotsServeInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1, 2)
		if _, err := s.acquire(t.Context(), 0, 0, nil, false); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var order []string
		wait := func(ctx context.Context, name string) {
			go func() {
				slot, err := s.acquire(ctx, 0, 0, nil, false)
				if err != nil {
					name += " gave up"
				}
				order = append(order, name)
				if err == nil {
					s.release(slot, 0, 0, nil)
				}
			}()
			synctest.Wait()
		}
		wait(ctx, "first")
		wait(t.Context(), "second")
		if _, err := s.acquire(t.Context(), 0, 0, nil, false); !errors.Is(err, errBusy) {
			t.Errorf("a third in a queue of two: %v", err)
		}
		cancel()
		synctest.Wait()
		wait(t.Context(), "third") // in the place that was left
		s.release(0, 0, 0, nil)
		synctest.Wait()
		if got := strings.Join(order, ", "); got != "first gave up, second, third" {
			t.Errorf("order: %s", got)
		}
	})
}

// Whatever is cancelled when: a slot has one holder at a time, and all slots are there in the end.
func TestSlotsAreNeverSharedOrLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(t, "slots")
		s := newSlots(n, 100)
		holders := make([]atomic.Int32, n)
		var wg sync.WaitGroup
		for i := range 20 {
			cancelled := rapid.Bool().Draw(t, "cancelled")
			ctx, cancel := context.WithCancel(context.Background())
			wg.Go(func() {
				slot, err := s.acquire(ctx, 0, 0, ids("p"), false)
				if err != nil {
					return
				}
				if holders[slot].Add(1) != 1 {
					t.Errorf("slot %d has two holders", slot)
				}
				holders[slot].Add(-1)
				s.release(slot, 0, 0, []int32{int32(i)})
			})
			if cancelled {
				cancel()
			} else {
				defer cancel()
			}
		}
		wg.Wait()
		if len(s.free) != n || len(s.waiting) != 0 {
			t.Fatalf("free %v, waiting %d", s.free, len(s.waiting))
		}
	})
}

// A slot given to a request at the moment it is cancelled goes on to the next one.
func TestSlotGivenToTheCancelledIsPassedOn(t *testing.T) {
	s := newSlots(1, 1)
	for range 200 {
		slot, err := s.acquire(t.Context(), 0, 0, nil, false)
		if err != nil {
			t.Fatal("the slot was lost: ", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if slot, err := s.acquire(ctx, 0, 0, nil, false); err == nil {
				s.release(slot, 0, 0, nil)
			}
		}()
		for queued := false; !queued; runtime.Gosched() {
			s.mu.Lock()
			queued = len(s.waiting) == 1
			s.mu.Unlock()
		}
		s.mu.Lock()
		cancel()
		runtime.Gosched() // lets it see the cancellation before the slot, in most rounds
		s.give(slot)
		s.mu.Unlock()
		<-ended
	}
}

// What another adapter left in a slot is no prefix of this one's prompt.
func TestSlotsOfAdapters(t *testing.T) {
	s := newSlots(2, 0)
	for range 2 {
		if _, err := s.acquire(t.Context(), 0, 0, nil, false); err != nil {
			t.Fatal(err)
		}
	}
	s.release(0, 1, 0, ids("abcd"))
	s.release(1, 2, 0, ids("ab"))
	if got, err := s.acquire(t.Context(), 2, 0, ids("abcdef"), false); got != 1 || err != nil {
		t.Errorf("slot %d, %v", got, err)
	}
}
