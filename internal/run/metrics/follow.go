package metrics

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"hone/internal/blob"
)

// Tracker is a tracking server, or a program that speaks to one.
type Tracker interface {
	// Open begins a run there, or goes on with the one of an ID that it gave before, and returns its ID. It is called
	// until it succeeds.
	Open(ctx context.Context, id string) (string, error)
	// Send sends rows. After an error they are sent again.
	Send(ctx context.Context, rows []Row) error
	// Close says how the run ended.
	Close(ctx context.Context, s Status) error
}

// How long a Follower takes over things.
const (
	sendTimeout = 15 * time.Second // of one call of a tracker
	openTimeout = time.Minute      // of Open, which may start a program
	lastTimeout = 30 * time.Second // for all that is left at the end
	firstPause  = time.Second      // after a failure; twice as long after each further one
	longestWait = time.Minute
	mostRows    = 100 // of one call
)

// Follower hands rows to a tracker from a goroutine of its own, so that nothing waits for a server. What was sent is
// kept in a file: a run that goes on, or ends and goes on later, sends what is left, and no step twice.
type Follower struct {
	name    string
	file    string
	tracker Tracker
	warn    func(text string)

	mu     sync.Mutex
	queue  []Row
	status Status
	more   chan struct{} // there is a row; room for one signal
	ended  chan struct{} // no row will come
	done   chan struct{} // all is over
	cut    context.CancelFunc
	state  sent
	down   bool
}

// sent is what a tracker has of a run.
type sent struct {
	ID    string         `json:"id"`
	Steps map[string]int `json:"steps"` // by stage: those below are there
}

// Follow begins to send the rows that a run has and those that it puts. name is the tracker's, for warnings, and file
// remembers what was sent.
func Follow(name, file string, tracker Tracker, rows []Row, warn func(text string)) *Follower {
	f := &Follower{name: name, file: file, tracker: tracker, warn: warn, state: sent{Steps: map[string]int{}},
		more: make(chan struct{}, 1), ended: make(chan struct{}), done: make(chan struct{})}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &f.state)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		warn(fmt.Sprintf("%s: what was sent before is not known, so it is sent to a new run: %v", name, err))
		f.state = sent{}
	}
	if f.state.Steps == nil {
		f.state.Steps = map[string]int{}
	}
	f.queue = append(f.queue, rows...)
	ctx, cut := context.WithCancel(context.Background())
	f.cut = cut
	go f.run(ctx)
	return f
}

// Put implements Sink.
func (f *Follower) Put(r Row) {
	f.mu.Lock()
	f.queue = append(f.queue, r)
	f.mu.Unlock()
	select {
	case f.more <- struct{}{}:
	default: // there is a signal
	}
}

// Close implements Sink.
func (f *Follower) Close(s Status) {
	f.mu.Lock()
	f.status = s
	f.mu.Unlock()
	close(f.ended)
	late := time.AfterFunc(lastTimeout, f.cut)
	<-f.done
	late.Stop()
	f.cut()
}

// run sends until no row is left and none will come.
func (f *Follower) run(ctx context.Context) {
	defer close(f.done)
	pause, opened := firstPause, false
	for {
		err := f.step(ctx, &opened)
		over := isClosed(f.ended)
		switch {
		case err == nil && f.remaining() > 0:
			pause = firstPause
			continue
		case err == nil && over:
			f.end(ctx, opened)
			return
		case err == nil:
			pause = firstPause
			f.wait(f.more, 0)
		case ctx.Err() != nil || over && f.down && pause > firstPause:
			f.warn(
				fmt.Sprintf("%s: %d rows were not sent; metrics.jsonl has them, and hone runs resume sends what "+
					"is left: %v", f.name, f.remaining(), err),
			)
			return
		default:
			if !f.down {
				f.down = true
				f.warn(fmt.Sprintf("%s does not take metrics; the run goes on, and they are sent later: %v",
					f.name, err))
			}
			f.wait(nil, pause)
			pause = min(2*pause, longestWait)
		}
	}
}

// wait waits for a signal, a pause to be over (0: none), or the end.
func (f *Follower) wait(signal chan struct{}, pause time.Duration) {
	var late <-chan time.Time
	if pause > 0 {
		t := time.NewTimer(pause)
		defer t.Stop()
		late = t.C
		if isClosed(f.ended) { // what is to be tried again is tried once more
			<-late
			return
		}
	}
	select {
	case <-signal:
	case <-late:
	case <-f.ended:
	}
}

// step opens the run of the tracker, or sends some rows.
func (f *Follower) step(ctx context.Context, opened *bool) error {
	timeout := sendTimeout
	if !*opened {
		timeout = openTimeout
	}
	ctx, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	if !*opened {
		id, err := f.tracker.Open(ctx, f.state.ID)
		if err != nil {
			return err
		}
		if *opened = true; id != f.state.ID {
			f.state = sent{ID: id, Steps: map[string]int{}}
			f.save()
		}
	}
	rows, n := f.next()
	if len(rows) > 0 {
		if err := f.tracker.Send(ctx, rows); err != nil {
			return err
		}
		for _, r := range rows {
			f.state.Steps[r.Stage] = max(f.state.Steps[r.Stage], r.Step+1)
		}
		f.save()
	}
	f.mu.Lock()
	f.queue = f.queue[n:]
	f.mu.Unlock()
	if f.down {
		f.down = false
		f.warn(f.name + " takes metrics again; those that it missed were sent")
	}
	return nil
}

// next are the first rows of the queue that were not sent before, and how many of the queue that covers.
func (f *Follower) next() (rows []Row, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.queue {
		if len(rows) == mostRows {
			break
		}
		n++
		if r.Step < f.state.Steps[r.Stage] {
			continue
		}
		same := func(o Row) bool { return o.Stage == r.Stage && o.Step == r.Step }
		if at := slices.IndexFunc(rows, same); at >= 0 {
			rows[at] = r // a step that was taken again before it was sent
		} else {
			rows = append(rows, r)
		}
	}
	return rows, n
}

func (f *Follower) remaining() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.queue)
}

func (f *Follower) end(ctx context.Context, opened bool) {
	if !opened {
		return
	}
	ctx, stop := context.WithTimeout(ctx, sendTimeout)
	defer stop()
	if err := f.tracker.Close(ctx, f.status); err != nil {
		f.warn(fmt.Sprintf("%s has all metrics, and was not told that the run ended: %v", f.name, err))
	}
}

// save keeps what was sent. Where it cannot, a run that goes on sends it again.
func (f *Follower) save() {
	text, err := json.Marshal(f.state)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(f.file), 0o700)
	}
	if err == nil {
		err = blob.Write(f.file, append(text, '\n'), 0o600)
	}
	if err != nil {
		f.warn(fmt.Sprintf("%s: what was sent cannot be noted, so a resumed run would send it again: %v", f.name, err))
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
