package demo

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"hone/internal/host"
)

// whole tells of all stages of a demo in one line: what it does now, how long it has taken, and how long it takes in
// all.
type whole struct {
	told  host.Progress
	began time.Time
	now   func() time.Time // nil is time.Now

	mu    sync.Mutex
	parts []part    // in their order; nil before the choice
	steps int       // of GRPO that are done
	from  time.Time // of the first report behind the choice
	// expected seconds that were left at from: what an earlier attempt did tells nothing of this one's speed
	first float64
}

// part is a stage of a demo.
type part struct {
	stage, name string
	seconds     float64 // expected in all, and left
	left        float64
	steps       int
}

const (
	rolling = 0.6  // share of a step of GRPO until its episodes are there
	trusted = 0.04 // what was expected counts as much as this share of the whole that was seen since
)

// expect has the line tell when the demo ends.
func (w *whole) expect(c choice) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parts = c.parts()
}

// report implements recipe.Progress.
func (w *whole) report(stage string, done, total int, note string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if w.now != nil {
		now = w.now()
	}
	name, took := stage, now.Sub(w.began)
	clock := clockText(took)
	if i := w.at(stage); i >= 0 {
		name = w.parts[i].name
		w.parts[i].left = w.parts[i].seconds * (1 - w.fraction(w.parts[i], stage, done, total))
		left := 0.0
		for j := range w.parts {
			if j < i {
				w.parts[j].left = 0 // whoever did it
			}
			left += w.parts[j].left
		}
		if w.from.IsZero() {
			w.from, w.first = now, left
		}
		pace, known := 1.0, trusted*w.first
		if known > 0 {
			pace = (now.Sub(w.from).Seconds() + known) / (w.first - left + known)
		}
		clock += " of about " + clockText(took+seconds(left*pace))
	}
	w.told("demo/"+name, done, total, strings.TrimSpace(clock+"  "+note))
}

// at is which part a stage belongs to, or -1.
func (w *whole) at(stage string) int {
	stage, _, _ = strings.Cut(stage, "/")
	for i, p := range w.parts {
		if p.stage == stage {
			return i
		}
	}
	return -1
}

// fraction is how much of a part is done.
func (w *whole) fraction(p part, stage string, done, total int) float64 {
	if p.steps == 0 || total == 0 {
		return float64(done) / float64(max(1, total))
	}
	if !strings.Contains(stage, "/") {
		w.steps = done
		return float64(done) / float64(total)
	}
	return min(1, (float64(w.steps)+rolling*float64(done)/float64(total))/float64(p.steps))
}

// seconds is a number of them.
func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// clockText is a duration as a clock shows it: 3:07.
func clockText(d time.Duration) string {
	s := int(d.Seconds())
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
