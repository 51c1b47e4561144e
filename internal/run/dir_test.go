package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"hone/internal/fault"
)

// TestMain also is the child that TestKilled kills: "<test binary> crash-child <dir>".
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "crash-child" {
		crashChild(os.Args[2])
		return
	}
	goleak.VerifyTestMain(m)
}

func create(t *testing.T) *Dir {
	t.Helper()
	d, err := Create(filepath.Join(t.TempDir(), "a run #1?%[x]"), []byte("seed: 7\n"),
		map[string]string{"hone": "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return string(b)
}

func TestCreateWritesOnceAndIsNotShared(t *testing.T) {
	d := create(t)
	if got := read(t, filepath.Join(d.Path, configFile)); got != "seed: 7\n" {
		t.Errorf("config = %q", got)
	}
	if got := read(t, filepath.Join(d.Path, versionFile)); !strings.Contains(got, `"hone": "test"`) {
		t.Errorf("version = %q", got)
	}
	if _, err := os.Stat(filepath.Join(d.Path, ledgerFile)); err != nil {
		t.Errorf("the ledger is not at its place: %v", err)
	}
	_, err := Create(d.Path, nil, nil)
	if fault.CodeOf(err) != fault.CodeUsage || !strings.Contains(err.Error(), "already holds a run") {
		t.Errorf("second Create: %v", err)
	}
	other := t.TempDir()
	must(t, os.WriteFile(filepath.Join(other, "thesis.tex"), []byte("x"), 0o644))
	if _, err := Create(other, nil, nil); fault.CodeOf(err) != fault.CodeUsage {
		t.Errorf("Create in a folder of something else: %v", err)
	}
	if _, err := Open(other, OpenOptions{}); fault.CodeOf(err) != fault.CodeUsage {
		t.Errorf("Open of a folder that is no run: %v", err)
	}
}

func TestCreateAfterAKill(t *testing.T) {
	inputs := []Input{{"scenarios.json", []byte("[]")}, {"catalog.json", []byte("{}")}}
	for name, left := range map[string][]string{
		"before the configuration": {lockFile, configFile + ".tmp"},
		"before an input":          {lockFile, configFile, "scenarios.json.tmp"},
		"before the version":       {lockFile, configFile, "scenarios.json", "catalog.json", versionFile + ".tmp"},
	} {
		path := t.TempDir()
		for _, file := range left {
			must(t, os.WriteFile(filepath.Join(path, file), []byte("half"), 0o644))
		}
		if _, err := Open(path, OpenOptions{}); fault.CodeOf(err) != fault.CodeUsage {
			t.Errorf("killed %s: Open: %v", name, err)
		}
		d, err := Create(path, []byte("seed: 7\n"), nil, inputs...)
		if err != nil {
			t.Errorf("killed %s: %v", name, err)
			continue
		}
		for _, in := range inputs {
			if got := read(t, filepath.Join(path, in.Name)); got != string(in.Data) {
				t.Errorf("killed %s: %s = %q", name, in.Name, got)
			}
		}
		must(t, d.Close())
	}
	foreign := t.TempDir()
	must(t, os.WriteFile(filepath.Join(foreign, lockFile), nil, 0o644))
	must(t, os.WriteFile(filepath.Join(foreign, "scenarios.json"), []byte("mine"), 0o644))
	if _, err := Create(foreign, nil, nil, inputs...); fault.CodeOf(err) != fault.CodeUsage {
		t.Errorf("Create beside a user's file: %v", err)
	}
}

func TestReplacedRowsAreExportedOnClose(t *testing.T) {
	d := create(t)
	for _, row := range []string{`{"loss":1}`, `{"loss":2}`} {
		must(t, d.PutMetric("sft", 0, json.RawMessage(row)))
	}
	_, err := d.PutTrajectory(TrajectoryRow{ID: "a", Stage: "sft", JSON: json.RawMessage(`{"n":1}`)})
	must(t, err)
	score := []ScoreRow{{"a", json.RawMessage(`{"reward":1}`)}}
	must(t, d.PutScores(score))
	must(t, d.ReplaceTrajectory(TrajectoryRow{ID: "a", Stage: "sft", JSON: json.RawMessage(`{"n":2}`)}))
	if row, _, err := d.Ledger.Trajectory("a"); err != nil || row.Score != nil {
		t.Errorf("%v: the score of the episode before is %s", err, row.Score)
	}
	must(t, d.PutScores(score))
	must(t, d.Close())
	if got := read(t, filepath.Join(d.Path, metricsFile)); got != `{"stage":"sft","step":0,"loss":2}`+"\n" {
		t.Errorf("metrics %q", got)
	}
	if got := read(t,
		filepath.Join(d.Path, trajectoriesFile)); got != `{"row":"a","stage":"sft","step":0,"n":2,"reward":1}`+"\n" {
		t.Errorf("trajectories %q", got)
	}
}

func TestLockNamesThePid(t *testing.T) {
	d := create(t)
	_, err := Open(d.Path, OpenOptions{})
	if want := fmt.Sprintf("process %d holds it", os.Getpid()); err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("Open of a held run: %v, want %q", err, want)
	}
	s, err := Summarize(d.Path)
	must(t, err)
	if s.InUseBy != fmt.Sprint(os.Getpid()) {
		t.Errorf("InUseBy = %q", s.InUseBy)
	}
	must(t, d.Close())
	again, err := Open(d.Path, OpenOptions{})
	must(t, err)
	defer again.Close()
	if again.Attempt != 2 {
		t.Errorf("attempt = %d, want 2", again.Attempt)
	}
}

func TestExportsFollowTheLedger(t *testing.T) {
	d := create(t)
	must(t, d.PutMetric("grpo", 1, json.RawMessage(`{"loss": 2}`)))
	must(t, d.PutMetric("grpo", 2, json.RawMessage(`{}`)))
	must(t, d.PutMetric("grpo", 1, json.RawMessage(`{"loss": 1.5}`)))
	for range 2 {
		_, err := d.PutTrajectory(TrajectoryRow{ID: "s/1/0", Stage: "grpo", Step: 1,
			JSON: json.RawMessage("{\n \"id\": \"s/1/0\", \"outcome\": \"ok\"}")})
		must(t, err)
	}
	metrics, trajectories := filepath.Join(d.Path, metricsFile), filepath.Join(d.Path, trajectoriesFile)
	if got := read(t, trajectories); got != "" {
		t.Errorf("before it was scored: %q", got)
	}
	must(t, d.PutScores([]ScoreRow{{"s/1/0", json.RawMessage(`{"reward": 0.5, "outcome": "judge_error"}`)}}))
	wantScored := `{"row":"s/1/0","stage":"grpo","step":1,"id":"s/1/0","outcome":"judge_error","reward":0.5}` + "\n"
	if got := read(t, trajectories); got != wantScored {
		t.Errorf("trajectories = %q, want %q", got, wantScored)
	}
	must(t, d.Close())
	f, err := os.OpenFile(metrics, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString(`{"stage":"grp`) // a torn last line
	must(t, err)
	must(t, f.Close())

	d, err = Open(d.Path, OpenOptions{})
	must(t, err)
	defer d.Close()
	want := `{"stage":"grpo","step":1,"loss":1.5}` + "\n" + `{"stage":"grpo","step":2}` + "\n"
	if got := read(t, trajectories); got != wantScored {
		t.Errorf("trajectories after reopening = %q", got)
	}
	if got := read(t, metrics); got != want {
		t.Errorf("metrics after reopening = %q, want %q", got, want)
	}
	must(t, d.PutMetric("grpo", 3, json.RawMessage(`[1]`)))
	if got := read(t, metrics); got != want+`{"stage":"grpo","step":3,"value":[1]}`+"\n" {
		t.Errorf("metrics after appending = %q", got)
	}
}

func TestListAndSummarize(t *testing.T) {
	d := create(t)
	must(t, d.Ledger.PutStage(StageRow{Name: "sft", Status: "done"}))
	must(t, d.PutMetric("sft", 1, json.RawMessage(`{"loss":3}`)))
	must(t, d.PutMetric("sft", 2, json.RawMessage(`{"loss":2}`)))
	_, err := d.PutTrajectory(TrajectoryRow{ID: "x", Stage: "eval", JSON: json.RawMessage(`{}`)})
	must(t, err)
	root := filepath.Dir(d.Path)
	must(t, os.MkdirAll(filepath.Join(root, "not a run"), 0o755))
	must(t, os.MkdirAll(filepath.Join(root, "broken"), 0o755))
	must(t, os.WriteFile(filepath.Join(root, "broken", ledgerFile), bytes.Repeat([]byte("no database"), 99), 0o644))

	runs, err := List(root) // while d still writes
	must(t, err)
	if len(runs) != 2 || runs[0].Err != nil || runs[1].Err == nil {
		t.Fatalf("runs = %+v", runs)
	}
	s := runs[0].Summary
	if s.Name != "a run #1?%[x]" || s.NumAttempts != 1 || len(s.Stages) != 2 {
		t.Fatalf("summary = %+v", s)
	}
	sft, eval := s.Stages[0], s.Stages[1]
	if sft.Name != "sft" || sft.Status != "done" || sft.NumSteps != 2 || string(sft.LastMetric) != `{"loss":2}` {
		t.Errorf("sft = %+v", sft)
	}
	if eval.Name != "eval" || eval.NumTrajectories != 1 || eval.Status != "" {
		t.Errorf("eval = %+v", eval)
	}
	if none, err := List(filepath.Join(root, "nowhere")); none != nil || err != nil {
		t.Errorf("List of nothing = %v, %v", none, err)
	}
}

// A name for a command to paste is one that nothing has yet.
func TestFreeFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, want := range []string{"sft", "sft-2", "sft-3"} {
		got := FreeFolder("sft")
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if err := os.Mkdir(want, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}
