package run

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// formBeforeScores is the ledger of hone before 2026-11-22: trajectories hold their scores.
const formBeforeScores = `
CREATE TABLE stages (name TEXT PRIMARY KEY, status TEXT NOT NULL, json TEXT NOT NULL) STRICT;
CREATE TABLE trajectories (id TEXT PRIMARY KEY, stage TEXT NOT NULL, step INTEGER NOT NULL, json TEXT NOT NULL, sum TEXT NOT NULL) STRICT;
CREATE INDEX trajectories_by_step ON trajectories (stage, step);
CREATE TABLE metrics (stage TEXT NOT NULL, step INTEGER NOT NULL, json TEXT NOT NULL, sum TEXT NOT NULL, PRIMARY KEY (stage, step)) STRICT;
CREATE TABLE checkpoints (stage TEXT NOT NULL, step INTEGER NOT NULL, manifest TEXT NOT NULL, PRIMARY KEY (stage, step)) STRICT;
PRAGMA user_version = 1;`

// oldRun is a run of that hone.
func oldRun(t *testing.T) string {
	t.Helper()
	d := create(t)
	must(t, d.Close())
	name := filepath.Join(d.Path, ledgerFile)
	must(t, os.Remove(name))
	l, err := connect(name, "")
	must(t, err)
	_, err = l.db.Exec(formBeforeScores)
	must(t, err)
	row := TrajectoryRow{ID: "grpo/a/0/0", Stage: "grpo", JSON: json.RawMessage(`{"id":"a/0/0","reward":1.5}`)}
	_, err = l.db.Exec(`INSERT INTO trajectories VALUES (?, ?, ?, ?, ?)`, row.ID, row.Stage, row.Step,
		string(row.JSON), row.sum())
	must(t, err)
	must(t, l.Close())
	must(t, os.WriteFile(filepath.Join(d.Path, trajectoriesFile), []byte(oldLine), 0o600))
	return d.Path
}

const oldLine = `{"row":"grpo/a/0/0","stage":"grpo","step":0,"id":"a/0/0","reward":1.5}` + "\n"

// A run that was begun before scores were rows of their own is read, goes on, and is made again as it was.
func TestRunsFromBeforeScoresAreGoneOnWith(t *testing.T) {
	for name, damage := range map[string]func(path string){
		"whole": func(string) {},
		"damaged": func(path string) {
			must(t, os.WriteFile(filepath.Join(path, ledgerFile), bytes.Repeat([]byte("no database "), 1000), 0o600))
		},
		"a row is damaged": func(path string) {
			text, err := os.ReadFile(filepath.Join(path, ledgerFile))
			must(t, err)
			flip(t, filepath.Join(path, ledgerFile), bytes.Index(text, []byte(`"reward":1.5`))+1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := oldRun(t)
			l, err := ReadLedger(filepath.Join(path, ledgerFile))
			must(t, err)
			rows, err := l.Find("a/0/0")
			must(t, err)
			if len(rows) != 1 || string(rows[0].Score) != ownScore {
				t.Errorf("read as %+v", rows)
			}
			must(t, l.Close())
			damage(path)
			if name != "whole" {
				if _, err := Open(path, OpenOptions{}); err == nil || !strings.Contains(err.Error(), "damaged") {
					t.Fatalf("%v", err)
				}
			}
			d, err := Open(path, OpenOptions{RebuildLedger: name != "whole"})
			must(t, err)
			defer d.Close()
			if got := read(t, filepath.Join(path, trajectoriesFile)); got != oldLine {
				t.Errorf("%s, want %s", got, oldLine)
			}
			row, ok, err := d.Ledger.Trajectory("grpo/a/0/0")
			must(t, err)
			if !ok || string(row.Score) != ownScore {
				t.Errorf("%v, %+v", ok, row)
			}
			must(t, d.PutScores([]ScoreRow{{"grpo/a/0/0", json.RawMessage(`{"reward":2}`)}}))
			must(t, d.Close())
			if got := read(t, filepath.Join(path, trajectoriesFile)); got != strings.Replace(oldLine, "1.5", "2", 1) {
				t.Errorf("scored again: %s", got)
			}
		})
	}
}

// A trajectory whose score is lost, and one whose score is of the episode before it, are not taken for scored.
func TestScoresAreOfTheEpisodeThatIsThere(t *testing.T) {
	d := create(t)
	for _, id := range []string{"a", "b"} {
		_, err := d.PutTrajectory(TrajectoryRow{ID: id, Stage: "grpo", JSON: json.RawMessage(`{"n":1}`)})
		must(t, err)
	}
	scores := []ScoreRow{{"a", json.RawMessage(`{"reward":1}`)}, {"b", json.RawMessage(`{"reward"`)}}
	if err := d.PutScores(scores); err == nil {
		t.Error("half a score was stored")
	}
	if row, _, err := d.Ledger.Trajectory("a"); err != nil || row.Score != nil {
		t.Errorf("%v: of a group that was not stored, a has the score %s", err, row.Score)
	}
	must(t, d.PutScores(scores[:1]))
	must(t, d.ReplaceTrajectory(TrajectoryRow{ID: "a", Stage: "grpo", JSON: json.RawMessage(`{"n":2}`)}))
	must(t, d.Close())
	for range 2 { // the second is of a ledger made again
		if got := read(t, filepath.Join(d.Path, trajectoriesFile)); got != "" {
			t.Errorf("exported: %s", got)
		}
		again, err := Open(d.Path, OpenOptions{RebuildLedger: true})
		must(t, err)
		must(t, again.Close())
	}
}
