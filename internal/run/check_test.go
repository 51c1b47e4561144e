package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/fault"
)

// killedRun is a run of three steps with a checkpoint after the second, as a kill leaves it: the ledger's last rows are
// in SQLite's log.
func killedRun(t *testing.T) string {
	t.Helper()
	d := create(t)
	for step := range 3 {
		for i := range 2 {
			id := fmt.Sprintf("grpo/s%d/%d/0", i, step)
			_, err := d.PutTrajectory(TrajectoryRow{ID: id, Stage: "grpo", Step: step,
				JSON: json.RawMessage(fmt.Sprintf(`{"id":%q,"text":"the answer <&> %d"}`, id, step))})
			must(t, err)
			must(t, d.PutScores([]ScoreRow{
				{id, json.RawMessage(fmt.Sprintf(`{"reward":%d.5,"text":"the answer <&> %d"}`, i, step))},
			}))
		}
		must(t, d.PutMetric("grpo", step, json.RawMessage(fmt.Sprintf(`{"loss":%d}`, step))))
		if step == 1 {
			_, err := d.PublishCheckpoint("grpo", 2, adapter("02"))
			must(t, err)
		}
	}
	path := filepath.Join(t.TempDir(), "run")
	must(t, os.CopyFS(path, os.DirFS(d.Path)))
	must(t, os.Remove(filepath.Join(path, lockFile)))
	if info, err := os.Stat(filepath.Join(path, ledgerFile+"-wal")); err != nil || info.Size() == 0 {
		t.Fatalf("no log to lose: %v", err)
	}
	return path
}

// files are the contents of a run's files, but for its logs and its lock.
func files(t *testing.T, path string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range []string{
		metricsFile, trajectoriesFile, ledgerFile, ledgerFile + "-wal", "checkpoints/grpo_step_2/manifest.json",
	} {
		if text, err := os.ReadFile(filepath.Join(path, name)); err == nil && len(text) > 0 { // an empty log is none
			all[name] = string(text)
		}
	}
	return all
}

func flip(t *testing.T, name string, at int) {
	t.Helper()
	text, err := os.ReadFile(name)
	must(t, err)
	text[at] ^= 0x20
	must(t, os.WriteFile(name, text, 0o600))
}

// settled closes the run's log into the ledger, as the end of a process does.
func settled(t *testing.T, path string) {
	t.Helper()
	l, err := OpenLedger(filepath.Join(path, ledgerFile))
	must(t, err)
	must(t, l.Close())
}

// forget runs statements on a run's ledger.
func forget(t *testing.T, path string, statements ...string) {
	t.Helper()
	l, err := OpenLedger(filepath.Join(path, ledgerFile))
	must(t, err)
	for _, s := range statements {
		_, err = l.db.Exec(s)
		must(t, err)
	}
	must(t, l.Close())
}

// A resume stops where the ledger is damaged or has less than the files beside it, says what is missing, and overwrites
// nothing; with RebuildLedger it goes on with all that is left.
func TestLedgerFaults(t *testing.T) {
	ledger, wal := ledgerFile, ledgerFile+"-wal"
	for name, c := range map[string]struct {
		damage func(t *testing.T, path string)
		says   []string
		moved  bool // to quarantine
	}{
		"no log": {func(t *testing.T, path string) { must(t, os.Remove(filepath.Join(path, wal))) },
			[]string{"has less than the files beside it", "metrics.jsonl has 3 rows that it lacks, first grpo step 0",
				"trajectories.jsonl has 6 rows", "nothing was changed"}, false},
		"a log cut short": {func(t *testing.T, path string) {
			info, err := os.Stat(filepath.Join(path, wal))
			must(t, err)
			must(t, os.Truncate(filepath.Join(path, wal), info.Size()-1))
		}, []string{"metrics.jsonl has 1 row that it lacks, first grpo step 2"}, false},
		"an empty ledger": {func(t *testing.T, path string) { must(t, os.Truncate(filepath.Join(path, ledger), 0)) },
			[]string{"it is empty; metrics.jsonl has 3 rows"}, false},
		"no ledger": {func(t *testing.T, path string) { must(t, os.Remove(filepath.Join(path, ledger))) },
			[]string{"it is not there; metrics.jsonl has 3 rows"}, false},
		"a row's text": {func(t *testing.T, path string) {
			settled(t, path)
			text, err := os.ReadFile(filepath.Join(path, ledger))
			must(t, err)
			flip(t, filepath.Join(path, ledger), bytes.Index(text, []byte("the answer <&> 1")))
		}, []string{"the run's ledger is damaged", `trajectory "grpo/s`, "is not as it was written", "moved to"}, true},
		"a score's text": {func(t *testing.T, path string) {
			settled(t, path)
			text, err := os.ReadFile(filepath.Join(path, ledger))
			must(t, err)
			flip(t, filepath.Join(path, ledger), bytes.Index(text, []byte(`{"reward":1.5`))+10)
		}, []string{"the run's ledger is damaged", "the score of trajectory \"grpo/s1/",
			"is not as it was written"}, true},
		"a score that is gone": {func(t *testing.T, path string) {
			settled(t, path)
			l, err := OpenLedger(filepath.Join(path, ledger))
			must(t, err)
			_, err = l.db.Exec("DELETE FROM scores WHERE id = 'grpo/s1/0/0'")
			must(t, err)
			must(t, l.Close())
		}, []string{"trajectories.jsonl has 1 row that it lacks, such as grpo/s1/0/0"}, false},
		"a trajectory that is gone": {func(t *testing.T, path string) {
			forget(t, path, "DELETE FROM trajectories WHERE id = 'grpo/s1/0/0'")
		},
			[]string{"the run's ledger is damaged",
				`the score of trajectory "grpo/s1/0/0" is there, and the trajectory is not`, "moved to"}, true},
		"all trajectories gone": {func(t *testing.T, path string) { forget(t, path, "DELETE FROM trajectories") },
			[]string{"the run's ledger is damaged", "is there, and the trajectory is not"}, true},
		"a trajectory under another name": {func(t *testing.T, path string) {
			forget(t, path, "UPDATE trajectories SET id = 'grpo/other' WHERE id = 'grpo/s1/2/0'",
				"DELETE FROM trajectories WHERE id = 'grpo/other'")
		}, []string{"the run's ledger is damaged", "is there, and the trajectory is not"}, true},
		"a trajectory and its line gone": {func(t *testing.T, path string) {
			forget(t, path, "DELETE FROM trajectories WHERE id = 'grpo/s1/2/0'")
			name := filepath.Join(path, trajectoriesFile)
			lines := slices.DeleteFunc(slices.Collect(strings.Lines(read(t, name))), func(line string) bool {
				return strings.Contains(line, `"row":"grpo/s1/2/0"`)
			})
			must(t, os.WriteFile(name, []byte(strings.Join(lines, "")), 0o600))
		}, []string{"the run's ledger is damaged",
			`the score of trajectory "grpo/s1/2/0" is there, and the trajectory is not`}, true},
		"a trajectory and its score gone": {func(t *testing.T, path string) {
			forget(t, path, "DELETE FROM trajectories WHERE id = 'grpo/s1/0/0'",
				"DELETE FROM scores WHERE id = 'grpo/s1/0/0'")
		}, []string{"trajectories.jsonl has 1 row that it lacks, such as grpo/s1/0/0", "nothing was changed"}, false},
		"a step's metrics gone": {func(t *testing.T, path string) {
			forget(t, path, "DELETE FROM metrics WHERE step = 1")
		},
			[]string{"metrics.jsonl has 1 row that it lacks, first grpo step 1", "nothing was changed"}, false},
		"a metric's text": {func(t *testing.T, path string) {
			settled(t, path)
			text, err := os.ReadFile(filepath.Join(path, ledger))
			must(t, err)
			flip(t, filepath.Join(path, ledger), bytes.Index(text, []byte(`"loss":1`))+1)
		}, []string{"the run's ledger is damaged", `the metrics of grpo step 1 are not as they were written`}, true},
		"a page's head": {func(t *testing.T, path string) {
			settled(t, path)
			flip(t, filepath.Join(path, ledger), 4096+3) // of the second page
		}, []string{"the run's ledger is damaged", "moved to"}, true},
		"the file's head": {func(t *testing.T, path string) {
			settled(t, path)
			flip(t, filepath.Join(path, ledger), 3)
		}, []string{"the run's ledger is damaged", "not a database", "moved to"}, true},
		"an old copy, without the files beside it": {func(t *testing.T, path string) {
			for _, gone := range []string{wal, metricsFile, trajectoriesFile} {
				must(t, os.Remove(filepath.Join(path, gone)))
			}
		}, []string{"checkpoint grpo_step_2 is not in it",
			"was made after 2 steps and 4 trajectories, the ledger has 0 and 0"}, false},
		"a checkpoint's row": {func(t *testing.T, path string) {
			l, err := OpenLedger(filepath.Join(path, ledger))
			must(t, err)
			_, err = l.db.Exec("DELETE FROM checkpoints")
			must(t, err)
			must(t, l.Close())
		}, []string{"checkpoint grpo_step_2 is not in it"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			path := killedRun(t)
			c.damage(t, path)
			before := files(t, path)
			for range 2 { // the second try meets the same
				_, err := Open(path, OpenOptions{})
				if err == nil || fault.CodeOf(err) != fault.CodeError {
					t.Fatalf("it went on: %v", err)
				}
				for _, want := range append(c.says, "--rebuild-ledger") {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("no %q in %v", want, err)
					}
				}
				if c.moved {
					want := before
					delete(want, ledger)
					before = want
					c.says = []string{"has less than the files beside it", "it is not there"}
					if _, err := os.Stat(filepath.Join(path, quarantineDir, ledger)); err != nil {
						t.Error(err)
					}
				}
				if after := files(t, path); !maps.Equal(after, before) {
					t.Errorf("files were changed:\n%.300v\nwant\n%.300v", after, before)
				}
			}
			d, err := Open(path, OpenOptions{RebuildLedger: true})
			must(t, err)
			defer d.Close()
			if len(d.Notes) == 0 || !strings.Contains(strings.Join(d.Notes, "\n"), "the ledger was made again") {
				t.Errorf("notes %q", d.Notes)
			}
			// rows come in another order where they come from two files
			for _, export := range []string{metricsFile, trajectoriesFile} {
				if got := read(t, filepath.Join(path, export)); sortedLines(got) != sortedLines(before[export]) &&
					!strings.Contains(name, "without the files") {
					t.Errorf("%s:\n%swant\n%s", export, got, before[export])
				}
			}
			if step, moved := latest(t, d); step != 2 || moved != nil {
				t.Errorf("latest checkpoint %d, moved %v", step, moved)
			}
			must(t, d.Close())
			again, err := Open(path, OpenOptions{}) // what was lost is told once
			must(t, err)
			must(t, again.Close())
			if again.Notes != nil {
				t.Errorf("notes %q", again.Notes)
			}
		})
	}
}

func sortedLines(text string) string {
	return strings.Join(slices.Sorted(strings.Lines(text)), "")
}

// A manifest that says nothing is not verified by itself either: a rebuilt ledger knows only checkpoints that are
// whole.
func TestRebuildKnowsWholeCheckpointsOnly(t *testing.T) {
	for name, text := range map[string]string{
		"empty":           "{}",
		"of nothing":      "{}",
		"of another file": `{"files":{"adapter/weights":{"size":2,"sha256":"00"}}}`,
	} {
		path := killedRun(t)
		must(t, os.Remove(filepath.Join(path, ledgerFile)))
		must(t, os.WriteFile(filepath.Join(path, "checkpoints/grpo_step_2", manifestFile), []byte(text), 0o644))
		if name == "of nothing" {
			must(t, os.RemoveAll(filepath.Join(path, "checkpoints/grpo_step_2/adapter")))
		}
		d, err := Open(path, OpenOptions{RebuildLedger: true})
		must(t, err)
		if step, moved := latest(t, d); step != -1 || len(moved) != 1 {
			t.Errorf("%s: latest %d, moved %v", name, step, moved)
		}
		must(t, d.Close())
	}
}

// Wherever the log is damaged: the run goes on with all rows, or stops.
func TestFlippedLog(t *testing.T) {
	whole := killedRun(t)
	want := files(t, whole)
	stopped := 0
	for at := 0; at < len(want[ledgerFile+"-wal"]); at += 3001 {
		path := filepath.Join(t.TempDir(), "run")
		must(t, os.CopyFS(path, os.DirFS(whole)))
		flip(t, filepath.Join(path, ledgerFile+"-wal"), at)
		d, err := Open(path, OpenOptions{})
		if err == nil {
			must(t, d.Close())
		} else {
			stopped++
		}
		for _, export := range []string{metricsFile, trajectoriesFile} {
			if got := read(t, filepath.Join(path, export)); got != want[export] {
				t.Fatalf("byte %d: %s is\n%s\nwant\n%s", at, export, got, want[export])
			}
		}
	}
	if stopped == 0 {
		t.Error("no flip was noticed")
	}
}

// A damaged export is made again from the ledger, and kept aside.
func TestDamagedExport(t *testing.T) {
	path := killedRun(t)
	want := files(t, path)
	flip(t, filepath.Join(path, trajectoriesFile), 1)
	flip(t, filepath.Join(path, trajectoriesFile), 0)
	d, err := Open(path, OpenOptions{})
	must(t, err)
	defer d.Close()
	if got := read(t, filepath.Join(path, trajectoriesFile)); got != want[trajectoriesFile] {
		t.Errorf("made again:\n%s", got)
	}
	if got := read(t, filepath.Join(path, quarantineDir, trajectoriesFile)); len(got) != len(want[trajectoriesFile]) {
		t.Errorf("kept aside:\n%s", got)
	}
	if len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "trajectories.jsonl: 1 line not as written, "+
		"the first is line 1; it was moved to "+filepath.Join(path, quarantineDir, trajectoriesFile)) {
		t.Errorf("notes %q", d.Notes)
	}
}

// A row survives the way to its export and back, whatever is in it.
func TestLinesAreReadBack(t *testing.T) {
	for _, row := range []string{`{}`, `{"a":1}`, `{"row":"x","text":"<b> & \u2028 \"é\""}`} {
		h := lineHead{Row: "grpo/<s&>/1", Stage: "gr\"po", Step: 7}
		line := h.before(json.RawMessage(row))
		got, back, ok := parseLine(line)
		// a row with the head's own keys is not taken for another row's
		if row == `{"row":"x","text":"<b> & \u2028 \"é\""}` {
			if ok && got.Row != h.Row {
				t.Errorf("%s is read as %+v", line, got)
			}
			continue
		}
		if !ok || got != h || string(back) != row {
			t.Errorf("%s: %+v, %s, %v", line, got, back, ok)
		}
	}
	for _, line := range []string{
		``, `{`, `null`, `{"stage":"x"}`, `{"step":1,"stage":"grpo"}`, `{"a":{"stage":"grpo","step":1}}`,
	} {
		if h, row, ok := parseLine([]byte(line)); ok {
			t.Errorf("%s is %+v, %s", line, h, row)
		}
	}
}
