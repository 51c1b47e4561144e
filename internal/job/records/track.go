package records

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"hone/internal/config"
	"hone/internal/engine"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/run"
	"hone/internal/run/metrics"
)

// Track is what a run tells of itself while it works: where its time goes, and its metrics to all that the
// configuration names. A nil Track tells nothing.
type Track struct {
	host  *host.Host
	end   func() // of what goes on
	began time.Time
	watch *metrics.Watch
	sinks []metrics.Sink
}

// Tracked says what is tracked.
type Tracked struct {
	Main     string // the stage that the run is for
	Engine   *engine.Engine
	Measures bool // it validates while it trains, by success
}

// tfeventsDir is the folder of a run that TensorBoard reads.
const tfeventsDir = "tfevents"

// StartTracking begins to tell of a run, whose directory is open. It never fails: what cannot be told is a warning.
func StartTracking(e job.Env, c config.Metrics, dir *run.Dir, x Tracked) *Track {
	began, kept, err := metricRows(dir)
	if err != nil {
		e.Say("note: the metrics of earlier attempts cannot be read, so totals begin anew: %v", err)
	}
	o := metrics.Options{Main: x.Main, Target: c.Target, Measures: x.Measures, Kept: kept}
	if x.Engine != nil && x.Engine.IsGPU() {
		o.NumGPUs = x.Engine.NumDevices()
	}
	e.Opens(o)
	t := &Track{host: e.Host, end: e.Working("running " + x.Main), began: began, watch: metrics.NewWatch(o)}
	if c.TFEvents {
		t.sinks = append(t.sinks, metrics.OpenTFEvents(filepath.Join(dir.Path, tfeventsDir), x.Main, began,
			kept, func(err error) {
				e.Say("note: no more events for TensorBoard are written; metrics.jsonl has all metrics: %v", err)
			}))
	}
	s := outside{e, c, dir, x.Main, began, kept}
	t.sinks = append(append(append(t.sinks, s.mlflow()...), s.wandb()...), s.prometheus()...)
	return t
}

// metricRows are the metrics that a run has, and when it began.
func metricRows(dir *run.Dir) (began time.Time, rows []metrics.Row, err error) {
	if info, err := os.Stat(filepath.Join(dir.Path, run.ConfigFile)); err == nil {
		began = info.ModTime()
	}
	list, err := dir.Ledger.AllMetrics()
	return began, RowsOf(list, began), err
}

// RowsOf reads metrics of a ledger, of a run that began at a time. Those of another form are left out.
func RowsOf(list []run.MetricRow, began time.Time) (rows []metrics.Row) {
	for _, m := range list {
		r := metrics.Row{Stage: m.Stage, Step: m.Step}
		if json.Unmarshal(m.JSON, &r.Values) == nil {
			rows = append(rows, at(r, began))
		}
	}
	return rows
}

// at is a row with its time: the run's beginning and what its attempts have worked since, so that a pause between two
// of them is no time.
func at(r metrics.Row, began time.Time) metrics.Row {
	r.At = began.Add(time.Duration(r.Values[metrics.Elapsed] * float64(time.Second)))
	return r
}

// measure adds to the metrics of a step what is known of its time.
func (t *Track) measure(stage string, step int, values map[string]float64) {
	if t != nil {
		t.watch.Row(stage, step, values)
	}
}

// put hands the metrics of a step on, after they were kept.
func (t *Track) put(stage string, step int, values map[string]float64) {
	if t == nil {
		return
	}
	for _, s := range t.sinks {
		s.Put(at(metrics.Row{Stage: stage, Step: step, Values: values}, t.began))
	}
}

// begin says that a part of the run goes on until end is called.
func (t *Track) begin(p metrics.Part) (end func()) {
	if t == nil {
		return func() {}
	}
	return t.watch.Begin(p)
}

// Progress adds the bottleneck to what is said of a stage; a part of a step is another matter than the steps before it.
func (t *Track) Progress(p host.Progress) host.Progress {
	return func(stage string, done, total int, note string) {
		if most := t.watch.Note(); most != "" && !strings.Contains(stage, "/") {
			note += "  " + most
		}
		p(stage, done, total, note)
	}
}

// Tell says what the run took.
func (t *Track) Tell(dir *run.Dir) error {
	_, rows, err := metricRows(dir)
	for _, line := range metrics.AddUp(rows).Lines() {
		t.host.Say("%s", line)
	}
	return err
}

// Close says how the run ended, to all that are told of it.
func (t *Track) Close(err error) {
	t.end()
	var all sync.WaitGroup
	for _, s := range t.sinks { // at once, for each may wait for a server
		all.Go(func() { s.Close(statusOf(err)) })
	}
	all.Wait()
}
