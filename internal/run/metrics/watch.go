package metrics

import (
	"sync"
	"time"
)

// Part is what a run spends its time on.
type Part string

// The parts of a run. Each is the metric time/PART of a row: seconds since the row before, of whatever stage, in which
// it was going on.
const (
	Rollout    Part = "rollout"    // an episode was under way
	Score      Part = "score"      // groups were scored, a judge's time included, while no episode was under way
	Train      Part = "train"      // the trainer worked: logprobs, gradients, optimiser steps
	Publish    Part = "publish"    // samplers were given the new policy
	Eval       Part = "eval"       // the policy was measured
	Checkpoint Part = "checkpoint" // the trainer's state was written
	Other      Part = "other"      // none of these
)

// Parts are all of them.
func Parts() []Part { return []Part{Rollout, Score, Train, Publish, Eval, Checkpoint, Other} }

// Metric is the name of a part's seconds.
func (p Part) Metric() string { return "time/" + string(p) }

// Names of what a Watch adds to a row, beside the parts.
const (
	Elapsed  = "time/elapsed"   // seconds that all attempts of the run have worked up to the row
	GPUHours = "time/gpu_hours" // hours of them, times the GPUs that were held; only where there are any
	ToTarget = "time/to_target" // time/elapsed of the first row whose success reached the target; in that row alone
	success  = "success"
)

// totals are metrics that add up another one over the steps of a stage: TRL counts num_tokens so.
func totals() map[string]string {
	return map[string]string{"num_tokens": "step_tokens", "judge/cost_total": "judge/cost"}
}

// Options are what a Watch has to know of its run.
type Options struct {
	Main     string           // the stage that the run is for
	NumGPUs  int              // 0: it runs on none
	Target   float64          // success that is aimed at; 0: none
	Measures bool             // it is validation that may reach it; else the steps of Main
	Kept     []Row            // what earlier attempts left
	Now      func() time.Time // nil: time.Now
}

// Watch tells where the time of a run goes, and what was spent. Its methods may be called from many goroutines. Parts
// may overlap, as where episodes are run while the trainer works; then they add up to more than the time that passed.
type Watch struct {
	o       Options
	mu      sync.Mutex
	active  map[Part]int
	since   time.Time // of the last change
	lap     map[Part]time.Duration
	row     time.Time     // of the last row, or the beginning
	before  float64       // seconds of earlier attempts
	began   time.Time     // of this attempt
	passed  time.Duration // of this attempt, up to the last row
	all     map[Part]time.Duration
	sums    map[string]map[int]float64 // stage and metric that is added up, by step
	reached map[string]int             // stage: the step that reached the target
}

// NewWatch begins to measure.
func NewWatch(o Options) *Watch {
	if o.Now == nil {
		o.Now = time.Now
	}
	now := o.Now()
	w := &Watch{o: o, active: map[Part]int{}, since: now, lap: map[Part]time.Duration{}, row: now, began: now,
		all: map[Part]time.Duration{}, sums: map[string]map[int]float64{}, reached: map[string]int{}}
	for _, r := range o.Kept {
		w.before = max(w.before, r.Values[Elapsed])
		w.add(r.Stage, r.Step, r.Values)
		if _, ok := r.Values[ToTarget]; ok {
			w.reached[r.Stage] = r.Step
		}
	}
	return w
}

// Begin says that a part goes on until end is called, once, which is End.
func (w *Watch) Begin(p Part) (end func()) {
	w.change(p, 1)
	return func() { w.End(p) }
}

// End says that what Begin began is over.
func (w *Watch) End(p Part) { w.change(p, -1) }

func (w *Watch) change(p Part, by int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.book()
	w.active[p] += by
}

// book gives the time since the last change to the parts that went on.
func (w *Watch) book() {
	now := w.o.Now()
	d := now.Sub(w.since)
	w.since = now
	idle := true
	for p, n := range w.active {
		if n == 0 {
			continue
		}
		idle = false
		if p != Score || w.active[Rollout] == 0 {
			w.lap[p] += d
		}
	}
	if idle {
		w.lap[Other] += d
	}
}

// Row adds to the metrics of a step what the watch knows. It is to be called once for each row, as it is written.
func (w *Watch) Row(stage string, step int, values map[string]float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.book()
	for p, d := range w.lap {
		values[p.Metric()] = d.Seconds()
		w.all[p] += d
	}
	clear(w.lap)
	w.row = w.since
	w.passed = w.row.Sub(w.began)
	values[Elapsed] = w.before + w.passed.Seconds()
	if w.o.NumGPUs > 0 {
		values[GPUHours] = values[Elapsed] / 3600 * float64(w.o.NumGPUs)
	}
	w.add(stage, step, values)
	for total, of := range totals() {
		if sum, ok := w.sum(stage, of, step); ok {
			values[total] = sum
		}
	}
	w.reach(stage, step, values)
}

func (w *Watch) add(stage string, step int, values map[string]float64) {
	for _, of := range totals() {
		x, ok := values[of]
		if !ok {
			continue
		}
		key := stage + "\x00" + of
		if w.sums[key] == nil {
			w.sums[key] = map[int]float64{}
		}
		w.sums[key][step] = x
	}
}

// sum adds up a metric over the steps of a stage up to one, in their order, so that a resumed run has the same sum.
func (w *Watch) sum(stage, of string, step int) (sum float64, ok bool) {
	each := w.sums[stage+"\x00"+of]
	for i := 0; i <= step; i++ {
		if x, has := each[i]; has {
			sum, ok = sum+x, true
		}
	}
	return sum, ok
}

func (w *Watch) reach(stage string, step int, values map[string]float64) {
	at := w.o.Main
	if w.o.Measures {
		at = ValidationStage
	}
	x, measured := values[success]
	if w.o.Target == 0 || stage != at || !measured {
		return
	}
	first, reached := w.reached[stage]
	switch {
	case reached && first < step:
	case x >= w.o.Target:
		w.reached[stage] = step
		values[ToTarget] = values[Elapsed]
	case reached && first == step: // an earlier attempt reached it here, this one does not: a step behind may
		delete(w.reached, stage)
	}
}

// Note is the bottleneck of this attempt in a few words, for a line of progress; "" before there is a row.
func (w *Watch) Note() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, share := most(w.all, w.passed)
	if p == "" {
		return ""
	}
	return percent(share) + " of the time so far: " + string(p)
}
