package evallog

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"hone/internal/blob"
	"hone/internal/eval/stats"
	"hone/internal/fault"
)

// Run is what a log says of the run beside its numbers. Only Name is required.
type Run struct {
	Name        string
	Verb        string    // "hone eval"
	Created     time.Time // when it was begun
	Base        string    // name of the base model
	Dataset     string    // file of the scenarios
	Version     string    // of hone
	Temperature *float64
	Facts       map[string]string // what else its report's head says
	Unfinished  []string          // systems whose evaluation is not whole
}

// Of makes the log of one system. summary is its line of results.json.
func Of(run Run, s stats.System, summary any) Log {
	m := sampler{run: run, model: "hone/" + s.Name}
	runID, taskID := digest(run.Name, stamp(run.Created)), digest(run.Name, run.Dataset)
	l := Log{
		Version: Version,
		Status:  "success",
		Samples: []Sample{},
		Plan: Plan{Name: "plan", Steps: []PlanStep{{Solver: cmp.Or(run.Verb, "hone"), Params: map[string]any{}}},
			Config: Generate{run.Temperature}},
		Stats: Stats{ModelUsage: map[string]Usage{}},
	}
	if slices.Contains(run.Unfinished, s.Name) {
		l.Status = "cancelled"
	}
	scored, lost := rowsOf(s.Rows), rowsOf(s.Lost)
	for _, e := range s.Episodes {
		which := episode{e.Trajectory.ScenarioID, e.Trajectory.Rollout}
		l.Samples = append(l.Samples, m.sample(e, scored[which], lost[which]))
	}
	// as Inspect does
	sort.SliceStable(l.Samples, func(i, j int) bool {
		a, b := &l.Samples[i], &l.Samples[j]
		return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.ID, b.ID)) < 0
	})
	l.Eval = Spec{
		Scorers: []Scorer{}, EvalID: digest(runID, s.Name), RunID: runID, Created: stamp(run.Created), Task: run.Name,
		TaskID: taskID, TaskArgs: map[string]any{}, Dataset: dataset(run.Dataset, l.Samples), Model: m.model,
		Args: map[string]any{}, Config: Config{Epochs: 1,
			Reducers: []string{"mean"}, LogSamples: true},
		Packages: map[string]string{"hone": run.Version}, Metadata: map[string]any{"facts": run.Facts},
	}
	for name, value := range map[string]string{
		"base":     cmp.Or(s.Model.Base, run.Base),
		"adapter":  s.Model.Adapter,
		"endpoint": s.Model.Endpoint,
	} {
		if value != "" {
			l.Eval.Args[name] = value
		}
	}
	l.Results = Results{TotalSamples: len(l.Samples), Metadata: map[string]any{"hone": summary}}
	var used Usage
	worked := 0.0
	for _, x := range l.Samples {
		l.Eval.Config.Epochs = max(l.Eval.Config.Epochs, x.Epoch)
		if x.Error == nil {
			l.Results.CompletedSamples++
		}
		u := x.ModelUsage[m.model]
		worked += x.TotalTime
		used = Usage{used.Input + u.Input, used.Output + u.Output, used.Total + u.Total}
	}
	l.Stats.StartedAt, l.Stats.CompletedAt =
		stamp(run.Created), stamp(run.Created.Add(time.Duration(worked*float64(time.Second))))
	if used.Total > 0 {
		l.Stats.ModelUsage[m.model] = used
	}
	l.Results.Scores, l.Reductions = summarize(l.Samples)
	for _, score := range l.Results.Scores {
		i := slices.IndexFunc(scorers, func(x Scorer) bool { return x.Name == score.Name })
		l.Eval.Scorers = append(l.Eval.Scorers, scorers[i])
	}
	return l
}

func dataset(file string, samples []Sample) Dataset {
	d := Dataset{Name: strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), Location: file,
		SampleIDs: []string{}}
	if file == "" {
		d.Name = "scenarios"
	}
	for _, s := range samples {
		if !slices.Contains(d.SampleIDs, s.ID) {
			d.SampleIDs = append(d.SampleIDs, s.ID)
		}
	}
	d.Samples = len(d.SampleIDs)
	return d
}

// episode names one of a system's: its scenario, and which of the scenario's repeats it is.
type episode struct {
	scenario string
	repeat   int
}

// rowsOf are rows by their episodes.
func rowsOf(rows []stats.Row) map[episode]*stats.Row {
	out := map[episode]*stats.Row{}
	for i, r := range rows {
		out[episode{r.ScenarioID, r.Repeat}] = &rows[i]
	}
	return out
}

// Write writes the log of each system into dir, which it makes, and returns the files. Their names are as Inspect's own
// begin, for its viewer lists no others.
func Write(dir string, run Run, c stats.Comparison, summary func(system string) any) (files []string, err error) {
	broken := func(err error) error {
		return &fault.Error{Code: fault.CodeError, What: "cannot write the log", Where: dir, Err: err,
			Next: "make room there, or name another folder"}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, broken(err)
	}
	for _, s := range c.Systems {
		l := Of(run, s, summary(s.Name))
		path := filepath.Join(dir, run.Created.UTC().Format("2006-01-02T15-04-05-07-00")+"_"+fileName(run.Name)+"-"+
			fileName(s.Name)+"_"+l.Eval.EvalID+".json")
		if err := replace(path, l); err != nil {
			return files, broken(err)
		}
		files = append(files, path)
	}
	return files, nil
}

// replace writes a file whole or not at all.
func replace(path string, l Log) error {
	return blob.WriteFrom(path, 0o644, func(f io.Writer) error {
		w := bufio.NewWriter(f)
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		return errors.Join(e.Encode(l), w.Flush())
	})
}

// fileName is a name with what Inspect reads as a separator, or a file system does not take, as a hyphen.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '-'
	}, name[:min(len(name), 80)])
}
