package engine

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
)

// On a GPU all begin before one has ended, and each error is told; elsewhere one comes after the other, up to the first
// error.
func TestTogether(t *testing.T) {
	failed := errors.New("failed")
	var all sync.WaitGroup
	all.Add(3)
	wait := func(err error) func() error {
		return func() error { all.Done(); all.Wait(); return err }
	}
	if err := (&Engine{isGPU: true}).Together(wait(nil), wait(failed), wait(nil)); !errors.Is(err, failed) {
		t.Error(err)
	}
	for _, e := range []*Engine{{}, {isGPU: true, account: &account{}}} {
		var order []int
		one := func(i int, err error) func() error {
			return func() error { order = append(order, i); return err }
		}
		if err := e.Together(one(0, nil), one(1, failed), one(2, nil)); !errors.Is(err, failed) ||
			!slices.Equal(order, []int{0, 1}) {
			t.Errorf("%v, %v", order, err)
		}
	}
}

// No more than mostTogether are under way at one time.
func TestTogetherIsBounded(t *testing.T) {
	var mu sync.Mutex
	now, most := 0, 0
	many := make([]func() error, 3*mostTogether)
	begun := make(chan struct{}, len(many))
	for i := range many {
		many[i] = func() error {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			begun <- struct{}{}
			for len(begun) < mostTogether { // until so many have begun
				runtime.Gosched()
			}
			mu.Lock()
			now--
			mu.Unlock()
			return nil
		}
	}
	if err := (&Engine{isGPU: true}).Together(many...); err != nil || most != mostTogether {
		t.Errorf("%d at one time, %v", most, err)
	}
}
