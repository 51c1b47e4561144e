package serve

import (
	"context"
	"errors"
	"slices"
	"sync"

	"hone/internal/episode/policy"
)

var (
	errBusy     = errors.New("all slots are taken and the queue is full")
	errDraining = errors.New("the server is shutting down: send the request again, to another one or later")
)

// slots hands out a sampler's slots, one to a request. A free slot that last held a prefix of the new prompt is
// preferred, the longest: what a slot already holds is not computed again, so a conversation's turns find their cache.
type slots struct {
	mu       sync.Mutex
	held     []held
	free     []int
	waiting  []*waiter // first come, first served
	maxQueue int
	draining bool
}

// held is what a slot last held: ids, of an adapter, for an owner.
type held struct {
	adapter, owner int
	ids            []int32
}

// waiter is a request in the queue; the slot it is given arrives on ready (one place, so that giving never blocks), or
// -1 where there will be none.
type waiter struct {
	ready chan int
	begun bool // it is of a task whose calls were made: it is never turned away
}

func newSlots(n, maxQueue int) *slots {
	s := &slots{held: make([]held, n), maxQueue: maxQueue}
	for i := range n {
		s.free = append(s.free, i)
	}
	return s
}

// acquire returns a slot for the prompt, waiting for one where all are taken. It fails with errBusy where the queue is
// full, with errDraining at the end, or with ctx's error; what has begun fails with the last alone.
func (s *slots) acquire(ctx context.Context, adapter, owner int, prompt []int32, begun bool) (int, error) {
	s.mu.Lock()
	if err := s.full(); err != nil && !begun {
		s.mu.Unlock()
		return 0, err
	}
	if len(s.free) > 0 {
		defer s.mu.Unlock()
		return s.take(adapter, owner, prompt), nil
	}
	w := &waiter{make(chan int, 1), begun}
	s.waiting = append(s.waiting, w)
	s.mu.Unlock()
	select {
	case slot := <-w.ready:
		if slot < 0 {
			return 0, errDraining
		}
		return slot, nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case slot := <-w.ready: // given in the meantime: pass it on
		if slot >= 0 {
			s.give(slot)
		}
	default:
		s.leave(w)
	}
	return 0, ctx.Err()
}

// full is why no request more is taken; nil where one is.
func (s *slots) full() error {
	switch {
	case s.draining:
		return errDraining
	case len(s.free) == 0 && len(s.waiting) >= s.maxQueue:
		return errBusy
	}
	return nil
}

// admits says, before the work of a request is begun, whether it would be turned away now.
func (s *slots) admits() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.full()
}

// drain turns away those who wait for a slot, and all who come, but for what has begun.
func (s *slots) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
	s.waiting = slices.DeleteFunc(s.waiting, func(w *waiter) bool {
		if !w.begun {
			w.ready <- -1
		}
		return !w.begun
	})
}

// release gives a slot back, noting what it holds now.
func (s *slots) release(slot, adapter, owner int, ids []int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[slot] = held{adapter, owner, ids}
	s.give(slot)
}

func (s *slots) give(slot int) {
	if len(s.waiting) == 0 {
		s.free = append(s.free, slot)
		return
	}
	w := s.waiting[0]
	s.waiting = s.waiting[1:]
	w.ready <- slot
}

func (s *slots) leave(w *waiter) {
	for i, other := range s.waiting {
		if other == w {
			s.waiting = append(s.waiting[:i:i], s.waiting[i+1:]...)
			return
		}
	}
}

// take removes the best free slot: the longest shared prefix, then the one that was freed first.
func (s *slots) take(adapter, owner int, prompt []int32) int {
	best, length := 0, -1
	for i, slot := range s.free {
		n := 0
		if s.held[slot].adapter == adapter && s.held[slot].owner == owner {
			n = policy.CommonPrefix(s.held[slot].ids, prompt)
		}
		if n > length {
			best, length = i, n
		}
	}
	slot := s.free[best]
	s.free = append(s.free[:best:best], s.free[best+1:]...)
	return slot
}

// busy returns how many slots are taken, and how many requests wait for one.
func (s *slots) busy() (taken, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.held) - len(s.free), len(s.waiting)
}
