package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/run"
)

// runs ls says of each run how far it is and by which command it goes on.
func TestRunsLs(t *testing.T) {
	workFolder(t, nil)
	c := config.Default()
	text, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		verb, last string // last is the file that a finished run has
		open       bool
	}{"a-train": {verb: "train"}, "b-train": {verb: "train", last: "final/chat_template.jinja"}, "c-demo": {verb: "demo"}, "d-demo": {verb: "demo", last: "report.html"},
		"e-collect": {verb: "collect"}, "f-sft": {verb: "sft", open: true}, "g-learn": {verb: "demo learn"}} {
		dir, err := run.Create(filepath.Join("runs", name), text, begun{Verb: x.verb})
		if err != nil {
			t.Fatal(err)
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
	a.stdout, a.program = &stdout, "bin/hone"
	if code := a.main(t.Context(), []string{"runs", "ls", "--plain"}); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	for name, want := range map[string]string{"a-train": "grpo 1\t2\tstopped; bin/hone runs resume runs/a-train", "b-train": "grpo 1\t2\tfinished",
		"c-demo": "stopped; bin/hone runs resume runs/c-demo", "d-demo": "finished", "e-collect": "idle; its own command runs what is left",
		"f-sft": "running, pid ", "g-learn": "stopped; bin/hone demo learn --resume --output-dir runs/g-learn"} {
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
	if err := json.Unmarshal(stdout.Bytes(), &list); err != nil || len(list) != 7 {
		t.Fatalf("%v: %s", err, &stdout)
	}
	for _, r := range list {
		if (r.Resume != "") != strings.Contains("a-train c-demo g-learn", r.Name) || r.Episodes != 2 {
			t.Errorf("%+v", r)
		}
	}
}

// Commands in hints begin as hone was invoked; nothing else changes.
func TestHintsAreAsInvoked(t *testing.T) {
	var said bytes.Buffer
	a := toyApp(&said, nil)
	a.program = "bin/hone"
	if code := a.main(t.Context(), []string{"collect"}); code != 2 || !strings.Contains(said.String(), "next:  bin/hone collect --help") {
		t.Errorf("exit code %d, %s", code, &said)
	}
	if got := a.invoked("hone.yaml; then hone runs resume x, or what hone does"); got != "hone.yaml; then bin/hone runs resume x, or what hone does" {
		t.Errorf("got %q", got)
	}
	a.program = "hone"
	if got := a.invoked("hone doctor"); got != "hone doctor" {
		t.Errorf("got %q", got)
	}
}
