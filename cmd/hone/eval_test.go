package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/episode/trajectory"
	"hone/internal/eval"
	"hone/internal/run"
)

// Evaluated episodes are kept as those of other verbs are, each system's as a stage, scored; without a folder nothing is left.
func TestEvalKeepsTrajectories(t *testing.T) {
	url, _ := shop(t)
	workFolder(t, map[string]string{"hone.yaml": toyConfig, "tasks.json": hats})
	toyModel(t, "base/toy.gguf")
	toyAdapter(t, "base", "adapter")
	eval := []string{"eval", "--mcp", url, "--base-model", "base", "--model", "adapter", "--compare-base", "--dataset", "tasks.json", "--split", "validation"}
	if code, _, said := hone(t, "", eval...); code != 0 || strings.Contains(said, "trajectories:") {
		t.Fatalf("exit code %d, %s", code, said)
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) != 4 {
		t.Errorf("something is left: %v, %v", entries, err)
	}
	eval = append(eval, "--output-dir", "out")
	if code, _, said := hone(t, "", append(eval, "--dry-run")...); code != 0 {
		t.Fatalf("a dry run: exit code %d, %s", code, said)
	}
	if code, _, said := hone(t, "", eval...); code != 0 || !strings.Contains(said, "trajectories: out/trajectories.jsonl") {
		t.Fatalf("exit code %d, %s", code, said)
	}
	text, err := os.ReadFile("out/trajectories.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, line := range lines {
		var x trajectory.Trajectory
		if err := json.Unmarshal([]byte(line), &x); err != nil || x.ScenarioID != "cap" || len(x.Messages) < 3 || len(x.Turns) == 0 || len(x.Terms) == 0 {
			t.Errorf("%v: %s", err, line)
		}
	}
	s, err := run.Summarize("out")
	if err != nil || len(lines) != 2 || len(s.Stages) != 2 || s.Stages[0].Name != "eval_base" || s.Stages[1].Name != "eval_model" || s.Stages[1].NumTrajectories != 1 {
		t.Errorf("%d lines, %+v, %v", len(lines), s.Stages, err)
	}
	if _, err := os.Stat("out/catalog.json"); err != nil {
		t.Error(err)
	}
	if code, _, said := hone(t, "", eval...); code != 2 || !strings.Contains(said, "it already holds a run") {
		t.Errorf("a second time: exit code %d, %s", code, said)
	}
}

// An evaluation that is stopped leaves no stage that claims to be finished.
func TestStoppedEvalIsNotFinished(t *testing.T) {
	url, _ := shop(t)
	workFolder(t, map[string]string{"hone.yaml": toyConfig, "tasks.json": hats})
	toyModel(t, "base/toy.gguf")
	ctx, stop := context.WithCancel(t.Context())
	said := &once{line: "are compiled", do: stop}
	code := toyApp(said, nil).main(ctx, []string{"eval", "--mcp", url, "--base-model", "base", "--dataset", "tasks.json", "--split", "validation", "--output-dir", "out"})
	s, err := run.Summarize("out")
	if code == 0 || err != nil {
		t.Fatalf("exit code %d, %v, %s", code, err, said)
	}
	for _, stage := range s.Stages {
		t.Errorf("%+v", stage)
	}
}

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
