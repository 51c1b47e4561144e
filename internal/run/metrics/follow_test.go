package metrics

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// board is a tracker in memory.
type board struct {
	mu     sync.Mutex
	down   bool
	hangs  bool
	opened []string
	got    []string
	status []Status
}

func (b *board) set(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}

func (b *board) up(ctx context.Context) error {
	b.mu.Lock()
	hangs, down := b.hangs, b.down
	b.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	if down {
		return errors.New("no route")
	}
	return nil
}

func (b *board) Open(ctx context.Context, id string) (string, error) {
	if err := b.up(ctx); err != nil {
		return "", err
	}
	b.set(func() { b.opened = append(b.opened, id) })
	return "run", nil
}

func (b *board) Send(ctx context.Context, rows []Row) error {
	if err := b.up(ctx); err != nil {
		return err
	}
	b.set(func() {
		for _, r := range rows {
			b.got = append(b.got, fmt.Sprintf("%s %d %v", r.Stage, r.Step, r.Values["x"]))
		}
	})
	return nil
}

func (b *board) Close(ctx context.Context, s Status) error {
	if err := b.up(ctx); err != nil {
		return err
	}
	b.set(func() { b.status = append(b.status, s) })
	return nil
}

// said collects warnings.
type said struct {
	mu    sync.Mutex
	lines []string
}

func (s *said) warn(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, text)
}

func rowOf(stage string, step int, x float64) Row {
	return Row{Stage: stage, Step: step, Values: map[string]float64{"x": x}}
}

// A run that goes on sends what the tracker lacks, to the same run there, and no step twice.
func TestFollowerGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s, file := &board{}, &said{}, filepath.Join(t.TempDir(), "tracked", "b.json")
		f := Follow("b", file, b, nil, s.warn)
		f.Put(rowOf("grpo", 0, 1))
		f.Put(rowOf("validation", 1, 2))
		f.Put(rowOf("grpo", 1, 3))
		f.Close(Stopped)
		f = Follow("b", file, b,
			[]Row{rowOf("grpo", 0, 1), rowOf("grpo", 1, 3), rowOf("grpo", 2, 4), rowOf("validation", 1, 2)}, s.warn)
		f.Put(rowOf("grpo", 1, 33)) // the step is taken again
		f.Put(rowOf("grpo", 2, 4))  // this one was not sent before the kill; now it may be, or not yet
		f.Put(rowOf("grpo", 3, 5))
		f.Close(Finished)
		if want := []string{"grpo 0 1", "validation 1 2", "grpo 1 3", "grpo 2 4",
			"grpo 3 5"}; !slices.Equal(b.got, want) {
			t.Errorf("%q, not %q", b.got, want)
		}
		if !slices.Equal(b.opened, []string{"", "run"}) || !slices.Equal(b.status, []Status{Stopped, Finished}) ||
			len(s.lines) > 0 {
			t.Errorf("%q %v %q", b.opened, b.status, s.lines)
		}
	})
}

// A server that is away for a while is told of once, and has all rows in the end.
func TestFollowerWaitsForAServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := &board{down: true}, &said{}
		f := Follow("b", filepath.Join(t.TempDir(), "b.json"), b, nil, s.warn)
		for i := range 250 {
			f.Put(rowOf("sft", i, 0))
			time.Sleep(time.Second)
		}
		b.set(func() { b.down = false })
		time.Sleep(2 * longestWait)
		f.Close(Finished)
		if len(b.got) != 250 || b.got[249] != "sft 249 0" || len(b.status) != 1 {
			t.Errorf("%d rows, %v", len(b.got), b.status)
		}
		if len(s.lines) != 2 || !strings.Contains(s.lines[0], "b does not take metrics; the run goes on") ||
			!strings.Contains(s.lines[1], "again") {
			t.Errorf("%q", s.lines)
		}
	})
}

// One that never answers, or hangs, holds the end of a run up for some seconds at most, and no step of it at all.
func TestFollowerGivesUp(t *testing.T) {
	for _, b := range []*board{{down: true}, {hangs: true}} {
		synctest.Test(t, func(t *testing.T) {
			s := &said{}
			f := Follow("b", filepath.Join(t.TempDir(), "b.json"), b, nil, s.warn)
			began := time.Now()
			for i := range 3 {
				f.Put(rowOf("sft", i, 0))
			}
			if time.Since(began) > 0 {
				t.Error("a step waited for the tracker")
			}
			time.Sleep(time.Hour)
			ending := time.Now()
			f.Close(Failed)
			if took := time.Since(ending); took > lastTimeout {
				t.Errorf("the end waited %v", took)
			}
			if len(s.lines) != 2 || !strings.Contains(s.lines[1], "3 rows were not sent; metrics.jsonl has them") {
				t.Errorf("%q", s.lines)
			}
		})
	}
}
