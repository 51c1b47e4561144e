package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/episode/trajectory"
	"hone/internal/eval"
)

// Beside each rate stands how many episodes are not in it, and how its interval was made is said.
func TestPrintEval(t *testing.T) {
	rows := func(wins int) (rows []eval.Row) {
		for i := range 20 {
			rows = append(rows, eval.Row{ScenarioID: fmt.Sprint(i), FirstCall: i < wins, Episode: i < wins})
		}
		return rows
	}
	r := eval.Report{Systems: []eval.System{{Name: "base", Rows: rows(0), Excluded: map[trajectory.Outcome]int{trajectory.EnvironmentError: 3, trajectory.InfrastructureError: 4}},
		{Name: "model", Rows: rows(10), Excluded: map[trajectory.Outcome]int{trajectory.EnvironmentError: 2}}}}
	var stdout, stderr bytes.Buffer
	a := &app{stdout: &stdout, stderr: &stderr, plain: true}
	if err := a.printEval(r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"base\t0.0% [0.0, 16.1]\t0.0% [0.0, 16.1]\t20\t7\n", "\t20\t2\n", "model - base\t+50.0 [", "\t20\t2 + 7\n"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("stdout lacks %q: %s", want, &stdout)
		}
	}
	if !strings.Contains(stderr.String(), "Wilson's for a rate, paired bootstrap") {
		t.Errorf("the method is not named: %s", &stderr)
	}
}

// eval.confidence is the coverage of both kinds of interval.
func TestConfidence(t *testing.T) {
	rows := func(wins int) (rows []eval.Row) {
		for i := range 20 {
			rows = append(rows, eval.Row{ScenarioID: fmt.Sprint(i), FirstCall: i < wins, Episode: i < wins})
		}
		return rows
	}
	width := func(confidence float64) (rate, difference float64) {
		c := config.Default()
		c.Eval.Confidence = confidence
		r := eval.Report{Bootstrap: intervalsOf(c), Systems: []eval.System{{Name: "base", Rows: rows(4)}, {Name: "model", Rows: rows(10)}}}.Results()
		return r.Systems["model"].High - r.Systems["model"].Low, r.Deltas[0].First.High - r.Deltas[0].First.Low
	}
	rate, difference := width(0.5)
	if wideRate, wideDifference := width(0.99); wideRate < 1.5*rate || wideDifference < 1.5*difference {
		t.Errorf("rate %g and %g, difference %g and %g", rate, wideRate, difference, wideDifference)
	}
}
