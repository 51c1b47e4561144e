package run

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/fault"
)

const fullDisk = "/dev/full" // of Linux: what is written to it meets a full disk

// onFullDisk makes a file that is about to be written lie on a full disk.
func onFullDisk(t *testing.T, name string) {
	t.Helper()
	if _, err := os.Stat(fullDisk); err != nil {
		t.Skip("no " + fullDisk + " here")
	}
	must(t, os.Symlink(fullDisk, name))
}

// Whatever of a run a full disk stops, the error says so in its code, and once there is space the run begins or goes
// on.
func TestFullDisks(t *testing.T) {
	parent := t.TempDir()
	begun := filepath.Join(parent, "begun")
	must(t, os.Mkdir(begun, 0o755))
	onFullDisk(t, filepath.Join(begun, configFile+".tmp"))
	if _, err := Create(begun, []byte("seed: 7\n"), nil); fault.CodeOf(err) != fault.CodeExhausted {
		t.Errorf("a run is begun: %v", err)
	}
	d, err := Create(begun, []byte("seed: 7\n"), nil)
	must(t, err)
	must(t, d.PutMetric("sft", 1, json.RawMessage(`{"loss":1}`)))
	must(t, d.Close())

	want := read(t, filepath.Join(begun, metricsFile))
	onFullDisk(t, filepath.Join(begun, metricsFile+".tmp"))
	if _, err := Open(begun, OpenOptions{}); fault.CodeOf(err) != fault.CodeExhausted {
		t.Errorf("a run is opened: %v", err)
	}
	d, err = Open(begun, OpenOptions{})
	must(t, err)
	defer d.Close()
	if got := read(t, filepath.Join(begun, metricsFile)); got != want {
		t.Errorf("metrics %q, were %q", got, want)
	}

	must(t, d.metrics.f.Close())
	must(t, d.trajectories.f.Close())
	full, err := os.OpenFile(fullDisk, os.O_WRONLY, 0)
	must(t, err)
	d.metrics.f, d.trajectories.f = full, full
	if err := d.PutMetric("sft", 2, json.RawMessage(`{"loss":2}`)); fault.CodeOf(err) != fault.CodeExhausted {
		t.Errorf("a metric is told: %v", err)
	}
	_, err = d.PutTrajectory(TrajectoryRow{ID: "a", Stage: "sft", JSON: json.RawMessage(`{}`)})
	must(t, err)
	err = d.PutScores([]ScoreRow{{"a", json.RawMessage(`{"reward":1}`)}})
	if fault.CodeOf(err) != fault.CodeExhausted {
		t.Errorf("a score is told: %v", err)
	}
	row, _, err := d.Ledger.Trajectory("a")
	must(t, err)
	if rows, err := d.Ledger.AllMetrics(); len(rows) != 2 || string(row.Score) != `{"reward":1}` || err != nil {
		t.Errorf("what was paid for is lost: %v, %s, %v", rows, row.Score, err)
	}
}

// Something else where a run's file belongs is said with the file, and is still there afterwards.
func TestSomethingElseInAFilesPlace(t *testing.T) {
	for name, c := range map[string]struct {
		file   string
		folder bool // else the text is in the file
		text   string
		says   string
	}{
		"a folder of metrics":      {metricsFile, true, "", "metrics.jsonl: is a directory"},
		"a folder of trajectories": {trajectoriesFile, true, "", "trajectories.jsonl: is a directory"},
		"a file of checkpoints":    {checkpointsDir, false, "x", "cannot list the checkpoints"},
		"a file of logs":           {logsDir, false, "x", "cannot open the run"},
		"a folder for a lock":      {lockFile, true, "", "cannot lock the run"},
		"a version that is cut":    {versionFile, false, `{"hone": "te`, "the run's version.json is damaged"},
		"a folder for the version": {versionFile, true, "", "cannot open the run"},
		"a folder of configuration": {configFile, true, "",
			"cannot read what the run began with"},
		"a folder for what is written": {metricsFile + ".tmp", true, "", "cannot open the run"},
	} {
		t.Run(name, func(t *testing.T) {
			path := killedRun(t)
			place := filepath.Join(path, c.file)
			must(t, os.RemoveAll(place))
			if c.folder {
				must(t, os.MkdirAll(filepath.Join(place, "x"), 0o755))
			} else {
				must(t, os.WriteFile(place, []byte(c.text), 0o600))
			}
			for _, o := range []OpenOptions{{}, {RebuildLedger: true}} {
				_, err := Open(path, o)
				if f, ok := errors.AsType[*fault.Error](err); !ok || !strings.Contains(err.Error(), c.says) ||
					!strings.HasPrefix(f.Where, path) {
					t.Errorf("%+v: %v", o, err)
				}
			}
			if info, err := os.Stat(place); err != nil || info.IsDir() != c.folder ||
				!c.folder && read(t, place) != c.text {
				t.Errorf("%s: %v", place, err)
			}
		})
	}
}

// One run that cannot be read does not hide the others, and says what is wrong with it. None is listed twice.
func TestListOfBrokenRuns(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(path string)
		says  string
	}{
		"whole": {func(string) {}, ""},
		"no ledger": {func(path string) {
			must(t, os.Remove(filepath.Join(path, ledgerFile)))
		}, "is not there"},
		"a file of checkpoints": {func(path string) {
			must(t, os.WriteFile(filepath.Join(path, checkpointsDir), nil, 0o600))
		}, "cannot list the checkpoints"},
		"a table of another program": {func(path string) {
			forget(t, path, "DROP TABLE metrics; CREATE TABLE metrics (x)")
		}, "cannot read the ledger"},
		"a lock that is none": {func(path string) {
			must(t, os.Remove(filepath.Join(path, lockFile)))
			must(t, os.Symlink(lockFile, filepath.Join(path, lockFile)))
		}, "cannot read the run"},
	} {
		broken, good := create(t), create(t)
		must(t, broken.Close())
		c.spoil(broken.Path)
		runs, err := List(filepath.Dir(good.Path), broken.Path, good.Path, broken.Path)
		must(t, err)
		if len(runs) != 2 {
			t.Errorf("%s: %d runs", name, len(runs))
			continue
		}
		for _, r := range runs {
			switch {
			case r.Path == good.Path && r.Err != nil:
				t.Errorf("%s: another is broken: %v", name, r.Err)
			case r.Path == broken.Path && (c.says == "") != (r.Err == nil),
				r.Path == broken.Path && c.says != "" && !strings.Contains(r.Err.Error(), c.says):
				t.Errorf("%s: %v", name, r.Err)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "runs")
	must(t, os.WriteFile(file, nil, 0o600))
	if _, err := List(file); fault.CodeOf(err) != fault.CodeError {
		t.Errorf("a file: %v", err)
	}
	if _, err := Index(file).Paths(); fault.CodeOf(err) != fault.CodeError {
		t.Errorf("a file of places: %v", err)
	}
	if err := Index(file).Add("run"); err == nil {
		t.Error("a run is noted in a file")
	}
}

// Where no run can begin the error names a place where one can, and nothing is begun.
func TestNoPlaceForARun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run")
	must(t, os.WriteFile(file, nil, 0o600))
	_, err := Create(file, nil, nil)
	if fault.CodeOf(err) != fault.CodeUsage || !strings.Contains(err.Error(), file+"-2") {
		t.Errorf("a file: %v", err)
	}
	_, err = Create(filepath.Join(t.TempDir(), strings.Repeat("long", 70)), nil, nil)
	if err == nil || !strings.Contains(err.Error(), "name too long") {
		t.Errorf("a long name: %v", err)
	}
	path := filepath.Join(t.TempDir(), "run")
	if _, err := Create(path, nil, []string{"no object"}); err == nil || isRun(path) {
		t.Errorf("a version that is no object: %v", err)
	}
	d, err := Create(path, []byte("seed: 7\n"), nil) // in its place
	must(t, err)
	defer d.Close()
	if text, err := d.Config(); string(text) != "seed: 7\n" || err != nil {
		t.Errorf("configuration %q, %v", text, err)
	}
	must(t, os.Remove(filepath.Join(path, configFile)))
	if _, err := d.Config(); fault.CodeOf(err) != fault.CodeError {
		t.Errorf("configuration that is gone: %v", err)
	}
}

// Names are what can be typed: of a run, of a place beside a folder, of the run around a folder.
func TestNames(t *testing.T) {
	for path, want := range map[string]string{"sft": "./sft", "runs/sft": "runs/sft", "/tmp/sft": "/tmp/sft"} {
		if got := Name(path); got != want {
			t.Errorf("the name of %s is %s, want %s", path, got, want)
		}
	}
	d := create(t)
	for folder, want := range map[string]string{
		".": d.Path, "final": d.Path, "checkpoints/grpo_step_2/adapter": d.Path, "a/b/c/d": "", "..": "",
	} {
		if got := Around(filepath.Join(d.Path, folder)); got != want {
			t.Errorf("around %s is %q", folder, got)
		}
	}
	gone := t.TempDir()
	t.Chdir(gone)
	for path, want := range map[string]string{".": "run-2", "sft": "sft-2", "sft/": "sft-2", "./": "run-2"} {
		if got := Beside(path); got != want {
			t.Errorf("beside %s is %s, want %s", path, got, want)
		}
	}
	must(t, os.Remove(gone))
	if got := Around("final"); got != "" {
		t.Errorf("around what is gone is %q", got)
	}
}

// A score without its trajectory, and one that is no object, are refused with the name.
func TestScoresOfNothing(t *testing.T) {
	d := create(t)
	if err := d.PutScores([]ScoreRow{{"b", json.RawMessage(`{"reward":1}`)}}); err == nil ||
		!strings.Contains(err.Error(), "there is no trajectory b to score") {
		t.Errorf("%v", err)
	}
	_, err := d.PutTrajectory(TrajectoryRow{ID: "a", Stage: "grpo", JSON: json.RawMessage(`{}`)})
	must(t, err)
	if err := d.PutScores([]ScoreRow{{"a", json.RawMessage(`7`)}}); err == nil ||
		!strings.Contains(err.Error(), "cannot write the score of a trajectory") {
		t.Errorf("%v", err)
	}
	if err := d.PutMetric("grpo", 1, json.RawMessage(`{`)); err == nil {
		t.Error("half a metric was stored")
	}
	must(t, d.Ledger.Close())
	if err := d.PutMetric("grpo", 1, json.RawMessage(`{}`)); err == nil {
		t.Error("a metric was stored in a closed ledger")
	}
	if _, err := MetricTable("grpo", []MetricRow{{"grpo", 7, json.RawMessage(`[]`)}}); err == nil ||
		!strings.Contains(err.Error(), "the metrics of grpo step 7") {
		t.Errorf("%v", err)
	}
}

// A ledger that is made again keeps the stages and their state, and says of lines that are no rows.
func TestRebuildKeepsStages(t *testing.T) {
	path := killedRun(t)
	forget(t, path, "INSERT INTO stages VALUES ('grpo', '"+Finished+"', '{}'); DELETE FROM metrics WHERE step = 2")
	name := filepath.Join(path, trajectoriesFile)
	must(t, os.WriteFile(name, []byte("no row\n"+read(t, name)), 0o600))
	d, err := Open(path, OpenOptions{RebuildLedger: true})
	must(t, err)
	defer d.Close()
	stages, err := query(d.Ledger, scanStage, `SELECT name, status, json FROM stages`)
	must(t, err)
	if len(stages) != 1 || stages[0].Name != "grpo" || stages[0].Status != Finished {
		t.Errorf("stages %+v", stages)
	}
	if notes := strings.Join(d.Notes, "\n"); !strings.Contains(notes, "1 line not as written, the first is line 1") ||
		!strings.Contains(notes, "of 3 steps and 6 trajectories, 1 and 0 are from the files beside it") {
		t.Errorf("notes %q", notes)
	}
}
