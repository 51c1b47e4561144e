package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/episode/trajectory"
	"hone/internal/eval"
	"hone/internal/eval/stats"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/view/terminal"
)

// Beside each rate stands how many episodes are not in it, and how its interval was made is said.
func TestPrintEval(t *testing.T) {
	rows := func(wins int) (rows []stats.Row) {
		for i := range 20 {
			rows = append(rows, stats.Row{ScenarioID: fmt.Sprint(i), NumGold: 1, NumExtraCalls: i % 2,
				FirstCall: i < wins, Episode: i < wins})
		}
		return rows
	}
	r := stats.Comparison{Systems: []stats.System{
		{Name: "base", Rows: rows(0), Excluded: map[trajectory.Outcome]int{trajectory.EnvironmentError: 3, trajectory.InfrastructureError: 4}},
		{Name: "model", Rows: rows(10), Excluded: map[trajectory.Outcome]int{trajectory.EnvironmentError: 2}},
	}}
	var stdout, stderr bytes.Buffer
	a := &app{Host: &host.Host{Data: sanitize.New(&stdout), Talk: sanitize.New(&stderr), Plain: true}}
	if err := terminal.Rates(a.Host, &eval.Evaluated{Comparison: r}, terminal.None); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"base\t0.0% [0.0, 16.1] too few\t0.0% [0.0, 16.1] too few\t0.5\t20\t7\n", "\t20\t2\n", "model - base\t+50.0 [",
		"]\t\t20\t2 + 7\n",
	} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("stdout lacks %q: %s", want, &stdout)
		}
	}
	for _, row := range []int{0, 1, 2} {
		r.Systems[0].Rows[row].NumGold = 0
	}
	r.Systems[1].Rows = slices.Clone(r.Systems[1].Rows)
	for i := range r.Systems[1].Rows {
		r.Systems[1].Rows[i].NumGold = 0
	}
	stdout.Reset()
	if err := terminal.Rates(a.Host, &eval.Evaluated{Comparison: r}, terminal.None); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"model\t-\t50.0% [", "]\t-\t20\t2\n", "model - base\t-\t+50.0 ["} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("without gold calls stdout lacks %q: %s", want, &stdout)
		}
	}
	for _, want := range []string{
		"base: first call and extra calls are of the 17 scenarios with gold calls, of 20\n",
		"model: first call and extra calls are of the 0 scenarios", "whole episode: all checks pass",
		"too few: fewer than 5 pieces of evidence",
	} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("stderr lacks %q: %s", want, &stderr)
		}
	}
	if !strings.Contains(stderr.String(),
		"Wilson's for a rate; of a difference the paired bootstrap, and Student's t below 12") {
		t.Errorf("the method is not named: %s", &stderr)
	}
}

// eval.confidence is the coverage of both kinds of interval.
func TestConfidence(t *testing.T) {
	rows := func(wins int) (rows []stats.Row) {
		for i := range 20 {
			rows = append(rows, stats.Row{ScenarioID: fmt.Sprint(i), NumGold: 1, NumExtraCalls: i % 2,
				FirstCall: i < wins, Episode: i < wins})
		}
		return rows
	}
	width := func(confidence float64) (rate, difference float64) {
		c := config.Default()
		c.Eval.Confidence = confidence
		r := stats.Comparison{Bootstrap: job.IntervalsOf(c),
			Systems: []stats.System{{Name: "base", Rows: rows(4)}, {Name: "model", Rows: rows(10)}}}.Results()
		return *r.Systems["model"].High - *r.Systems["model"].Low, r.Deltas[0].First.High - r.Deltas[0].First.Low
	}
	rate, difference := width(0.5)
	if wideRate, wideDifference := width(0.99); wideRate < 1.5*rate || wideDifference < 1.5*difference {
		t.Errorf("rate %g and %g, difference %g and %g", rate, wideRate, difference, wideDifference)
	}
}
