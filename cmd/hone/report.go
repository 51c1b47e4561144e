package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"hone/internal/episode/trajectory"
	"hone/internal/eval"
	"hone/internal/recipe"
	"hone/internal/run"
)

// reportFile is one page that loads nothing from anywhere, in a run's directory.
const reportFile = "report.html"

// mostExamples is how many episodes a report shows whole.
const mostExamples = 20

// writeReport writes report.html, and the numbers of what was evaluated to results.json.
func writeReport(dir string, r eval.Report, results eval.Results) error {
	if len(r.Systems) > 0 {
		text, err := json.MarshalIndent(results, "", "  ")
		if err != nil {
			return err
		}
		if err := writeFile(filepath.Join(dir, "results.json"), text); err != nil {
			return err
		}
	}
	path := filepath.Join(dir, reportFile)
	f, err := os.Create(path + ".tmp")
	if err != nil {
		return err
	}
	if err := r.WriteHTML(f); err != nil {
		_ = f.Close() // the first error counts
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

// curvesOf reads the learning curves from the ledger; a stage that has none is left out.
func curvesOf(l *run.Ledger) ([]eval.Curve, error) {
	var curves []eval.Curve
	for _, x := range []struct{ stage, metric string }{{"sft", "loss"}, {"grpo", "reward"}, {"grpo", "frac_reward_zero_std"}, {"grpo", "completions/mean_length"},
		{"grpo", "turns/mean"}, {"grpo", "grad_norm"}, {"grpo", "sampling/mismatch_kl"}, {recipe.ValidationStage, "success"}, {recipe.ValidationStage, "reward"}} {
		rows, err := l.Metrics(x.stage)
		if err != nil {
			return nil, err
		}
		c := eval.Curve{Name: x.stage + " " + x.metric}
		for _, r := range rows {
			var m map[string]float64
			if err := json.Unmarshal(r.JSON, &m); err != nil {
				return nil, err
			}
			if y, ok := m[x.metric]; ok {
				c.Points = append(c.Points, eval.Point{Step: r.Step, Value: y})
			}
		}
		if len(c.Points) > 0 {
			curves = append(curves, c)
		}
	}
	return curves, nil
}

// facts are what every report begins with.
func (t *tuning) facts(l *lab) []eval.Fact {
	facts := []eval.Fact{{Name: "run", Value: t.path}, {Name: "base model", Value: t.c.Model.Base}, {Name: "device", Value: l.machine.Engine.Description()}}
	var servers []string
	for _, s := range l.catalog.Servers {
		servers = append(servers, s.Name)
	}
	return append(facts, eval.Fact{Name: "servers", Value: strings.Join(servers, ", ")}, eval.Fact{Name: "seed", Value: fmt.Sprint(t.c.Seed)},
		eval.Fact{Name: "attempts", Value: fmt.Sprint(t.dir.Attempt)})
}

// reportEval writes the report of an evaluation that is kept.
func (t *tuning) reportEval(l *lab, f evalFlags, r eval.Report, results eval.Results) error {
	r.Title = "hone eval: " + filepath.Base(t.path)
	r.Facts = append(t.facts(l), eval.Fact{Name: "adapter", Value: f.model}, eval.Fact{Name: "dataset", Value: f.dataset}, eval.Fact{Name: "split", Value: f.split})
	r.Examples = nil
	for _, failed := range []bool{true, false} { // what failed comes first
		for _, s := range r.Systems {
			for _, e := range s.Episodes {
				if e.Failed() == failed && len(r.Examples) < mostExamples {
					e.Title = s.Name + ": " + e.Name()
					r.Examples = append(r.Examples, e)
				}
			}
		}
	}
	if err := writeReport(t.path, r, results); err != nil {
		return err
	}
	t.a.Say("report: %s", filepath.Join(t.path, reportFile))
	return nil
}

// reportTrain writes the report of a training run: its curves, and episodes of its last step.
func (t *tuning) reportTrain(l *lab, stage string) (err error) {
	r := eval.Report{Title: "hone train: " + filepath.Base(t.path), Facts: append(t.facts(l), eval.Fact{Name: "adapter begun from", Value: t.kept.Adapter},
		eval.Fact{Name: "steps", Value: fmt.Sprint(t.c.GRPO.Steps)})}
	if r.Curves, err = curvesOf(t.dir.Ledger); err != nil {
		return err
	}
	known := scenariosOf(t.path)
	rows, err := t.dir.Ledger.Trajectories(stage, t.c.GRPO.Steps-1)
	if err != nil {
		return err
	}
	for _, row := range rows[:min(mostExamples, len(rows))] {
		x := &trajectory.Trajectory{}
		if err := json.Unmarshal(row.JSON, x); err != nil {
			return err
		}
		r.Examples = append(r.Examples, eval.Example{Title: row.ID, Trajectory: x, Scenario: known[x.ScenarioID]})
	}
	if err := writeReport(t.path, r, r.Results()); err != nil {
		return err
	}
	t.a.Say("report: %s", filepath.Join(t.path, reportFile))
	return nil
}
