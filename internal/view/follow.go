package view

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"hone/internal/run"
)

// How often a followed ledger is looked at. Rows that lie where others were are looked for less often the longer that
// takes, so that a page costs whoever writes next to nothing.
const (
	lookEvery    = time.Second
	compareEvery = 5 * time.Second
	compareShare = 200 // of the time a comparison takes
)

// followed is a run that is being followed, from the first time that a page asks for it.
type followed struct {
	Key, Path string
	File      bool // it is a file of tasks, and no run

	index Index
	once  sync.Once

	measuring sync.Mutex
	measured  measured

	mu      sync.Mutex
	trouble string              // why it cannot be read now, "" where it can
	version int64               // rises with each change that a page should know
	waiting map[chan int64]bool // pages that want to be told
	cache   map[string]cached   // answers that take long, by what was asked
}

// cached is an answer and the version of the run that it is of.
type cached struct {
	version int64
	value   any
}

// begin follows the run until ctx is over.
func (f *followed) begin(ctx context.Context) {
	if !f.File {
		f.once.Do(func() { go f.follow(ctx) })
	}
}

func (f *followed) follow(ctx context.Context) {
	for ctx.Err() == nil {
		err := f.watch(ctx)
		if err == nil {
			return
		}
		f.tell(err.Error())
		pause(ctx, 2*lookEvery)
	}
}

// watch reads one ledger until it is another one, or cannot be read.
func (f *followed) watch(ctx context.Context) error {
	file, err := os.Stat(filepath.Join(f.Path, "ledger.db"))
	if err != nil {
		return err
	}
	l, err := run.LedgerOf(f.Path)
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }() // read only
	version, compared, took := int64(-1), time.Now(), time.Duration(0)
	stale := false // something was written since rows were compared
	for last := time.Now(); ctx.Err() == nil; pause(ctx, lookEvery) {
		now, err := l.Version()
		if err != nil {
			return err
		}
		if now != version {
			_, err := f.index.read(l, func() {
				if time.Since(last) > lookEvery/4 {
					last = time.Now()
					f.tell("")
				}
			})
			if err != nil {
				return err
			}
			stale = version >= 0
			if version < 0 {
				if err := f.index.compare(l); err != nil {
					return err
				}
			}
			version = now
			f.tell("")
		}
		if stale && time.Since(compared) > max(compareEvery, compareShare*took) {
			begun, before := time.Now(), f.index.last()
			if err := f.index.compare(l); err != nil {
				return err
			}
			compared, took, stale = time.Now(), time.Since(begun), false
			if f.index.last() != before {
				f.tell("")
			}
		}
		if again, err := os.Stat(filepath.Join(f.Path, "ledger.db")); err != nil || !os.SameFile(file, again) {
			return cmp.Or(err, errReplaced)
		}
	}
	return nil
}

// errReplaced says that another file lies where the ledger was, as where it was rebuilt.
var errReplaced = errors.New("the ledger was replaced, and is read again")

// tell wakes the pages that wait. trouble is why the run cannot be read.
func (f *followed) tell(trouble string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.trouble = trouble
	f.version++
	for c := range f.waiting {
		select {
		case c <- f.version:
		default: // it has not taken the last one yet, and will look again then
		}
	}
}

// listen returns a channel that is told of changes, until stop is called.
func (f *followed) listen() (changes <-chan int64, stop func()) {
	c := make(chan int64, 1)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waiting == nil {
		f.waiting = map[chan int64]bool{}
	}
	f.waiting[c] = true
	return c, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.waiting, c)
	}
}

// state is the run's version, and why it cannot be read.
func (f *followed) state() (version int64, trouble string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.version, f.trouble
}

// remember computes an answer, or takes the one that was computed of the run as it still is.
func remember[T any](f *followed, name string, compute func() (T, error)) (T, error) {
	version, _ := f.state()
	f.mu.Lock()
	kept, there := f.cache[name]
	f.mu.Unlock()
	if there && kept.version == version {
		return kept.value.(T), nil
	}
	value, err := compute()
	if err != nil {
		return value, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cache == nil {
		f.cache = map[string]cached{}
	}
	f.cache[name] = cached{version, value}
	return value, nil
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
