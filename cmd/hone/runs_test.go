package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/job"
	"hone/internal/run"
)

// runs ls says of each run how far it is and by which command it goes on.
func TestRunsLs(t *testing.T) {
	workFolder(t, nil)
	c := config.Default()
	for name, x := range map[string]struct {
		verb, last string // last is the file that a finished run has
		open       bool
		ended      bool     // its stage
		stages     []string // that have ended too
	}{
		"a-train": {verb: "train"}, "b-train": {verb: "train", last: "final/chat_template.jinja"},
		"c-demo": {verb: "demo"}, "d-demo": {verb: "demo", last: "final/chat_template.jinja",
			stages: []string{"eval_grpo"}},
		"l-demo": {verb: "demo", last: "report.html", stages: []string{"eval_base"}}, "m-learn": {verb: "demo learn",
			stages: []string{"eval_start", "eval_gold"}},
		"e-collect": {verb: "collect"}, "f-sft": {verb: "sft", open: true}, "g-learn": {verb: "demo learn"},
		"h-eval": {verb: "eval", ended: true}, "i-eval": {verb: "eval"}, "j-collect": {verb: "collect", ended: true},
		"elsewhere/k-train": {verb: "train"},
	} {
		path := filepath.Join("runs", name)
		if strings.Contains(name, "/") {
			path = name
		}
		dir, err := toyApp(&bytes.Buffer{}, nil).jobs(config.Config{}).Create(path, c, job.Begun{Verb: x.verb})
		if err != nil {
			t.Fatal(err)
		}
		if x.ended {
			if err := dir.Ledger.PutStage(run.StageRow{Name: "grpo", Status: run.Finished}); err != nil {
				t.Fatal(err)
			}
		}
		for _, stage := range x.stages {
			if err := dir.Ledger.PutStage(run.StageRow{Name: stage, Status: run.Finished}); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range []string{"one", "two"} {
			if _, err := dir.PutTrajectory(run.TrajectoryRow{ID: id, Stage: "grpo", JSON: []byte(`{}`)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := dir.PutMetric("grpo", 0, []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
		if x.last != "" {
			path := filepath.Join("runs", name, x.last)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if !x.open {
			if err := dir.Close(); err != nil {
				t.Fatal(err)
			}
		} else {
			defer dir.Close()
		}
	}
	var stdout bytes.Buffer
	a := toyApp(&bytes.Buffer{}, nil)
	a.Data, a.Program = sanitize.New(&stdout), "bin/hone"
	if code := a.main(t.Context(), []string{"runs", "ls", "--plain"}); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"h-eval": "\tfinished\n", "i-eval": "stopped; bin/hone runs resume runs/i-eval", "j-collect": "\tfinished\n",
		here + "/elsewhere/k-train": "stopped; bin/hone runs resume " + here + "/elsewhere/k-train",
		"a-train":                   "grpo 1\t2\tstopped; bin/hone runs resume runs/a-train",
		"b-train":                   "grpo 1\t2\tfinished", "c-demo": "stopped; bin/hone runs resume runs/c-demo",
		"d-demo": "finished", "l-demo": "stopped; bin/hone runs resume runs/l-demo",
		"m-learn":   "idle; hone-learn --resume --output-dir runs/m-learn goes on with it",
		"e-collect": "idle; its own command runs what is left", "f-sft": "running, pid ",
		"g-learn": "idle; hone-learn --resume --output-dir runs/g-learn goes on with it",
	} {
		found := false
		for line := range strings.Lines(stdout.String()) {
			found = found || strings.HasPrefix(line, name+"\t") && strings.Contains(line, want)
		}
		if !found {
			t.Errorf("%s: no %q in\n%s", name, want, &stdout)
		}
	}
	stdout.Reset()
	if code := a.main(t.Context(), []string{"runs", "ls", "--json"}); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	var list []struct {
		Name, Resume string
		Episodes     int
	}
	if err := json.Unmarshal(stdout.Bytes(), &list); err != nil || len(list) != 13 {
		t.Fatalf("%v: %s", err, &stdout)
	}
	for _, r := range list {
		if (r.Resume != "") != strings.Contains("a-train c-demo i-eval k-train l-demo", r.Name) || r.Episodes != 2 {
			t.Errorf("%+v", r)
		}
	}
}

// Commands in hints begin as hone was invoked; nothing else changes.
func TestHintsAreAsInvoked(t *testing.T) {
	var said bytes.Buffer
	a := toyApp(&said, nil)
	a.Program = "bin/hone"
	if code := a.main(t.Context(), []string{"collect"}); code != 2 ||
		!strings.Contains(said.String(), "next:  bin/hone collect --help") {
		t.Errorf("exit code %d, %s", code, &said)
	}
	if got := a.CommandText("hone.yaml; then hone runs resume x, or what hone does"); got != "hone.yaml; "+
		"then bin/hone runs resume x, or what hone does" {
		t.Errorf("got %q", got)
	}
	a.Program = "hone"
	if got := a.CommandText("hone doctor"); got != "hone doctor" {
		t.Errorf("got %q", got)
	}
}

// A run of an experiment is another command's, which is named.
func TestResumeOfAnExperiment(t *testing.T) {
	workFolder(t, nil)
	dir, err := toyApp(&bytes.Buffer{}, nil).jobs(config.Config{}).Create("runs/study", config.Default(),
		job.Begun{Verb: "demo learn"})
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	if code, _, said := hone(t, "", "runs", "resume", "study"); code != 2 ||
		!strings.Contains(said, "hone-learn --resume --output-dir runs/study") {
		t.Errorf("exit code %d, %s", code, said)
	}
}
