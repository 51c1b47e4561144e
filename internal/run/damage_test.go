package run

import (
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hone/internal/fault"
)

// A file that is no ledger of hone is not written to, and the error names it.
func TestForeignLedgers(t *testing.T) {
	for name, c := range map[string]struct {
		statements string
		says       string
	}{
		"another program's table": {"CREATE TABLE trajectories (x)", "no such column: stage"},
		"a form's number, and no tables": {"PRAGMA user_version = 1",
			"no such table: trajectories"},
		"another program's table in a ledger from before scores": {formBeforeScores + `CREATE TABLE scores (x);
			INSERT INTO trajectories VALUES ('a', 'grpo', 0, '{}', '')`, "table scores has 1 columns but 3 values"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), ledgerFile)
			l, err := connect(path, "")
			must(t, err)
			_, err = l.db.Exec(c.statements)
			must(t, err)
			schema := tablesOf(t, l)
			must(t, l.Close())

			_, err = OpenLedger(path)
			if f, ok := errors.AsType[*fault.Error](err); !ok || f.Where != path ||
				!strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
			l, err = connect(path, "")
			must(t, err)
			defer l.Close()
			if got := tablesOf(t, l); !slices.Equal(got, schema) {
				t.Errorf("tables %q, were %q", got, schema)
			}
		})
	}
}

func tablesOf(t *testing.T, l *Ledger) []string {
	t.Helper()
	names, err := query(l, func(rows *sql.Rows) (name string, err error) { return name, rows.Scan(&name) },
		"SELECT coalesce(sql, name) FROM sqlite_master ORDER BY name")
	must(t, err)
	return names
}

// Text is no ledger, and a folder that is gone has none.
func TestNoLedger(t *testing.T) {
	text := filepath.Join(t.TempDir(), ledgerFile)
	must(t, os.WriteFile(text, []byte(strings.Repeat("no database ", 99)), 0o600))
	if _, err := OpenLedger(text); err == nil || !strings.Contains(err.Error(), "--rebuild-ledger") {
		t.Errorf("text: %v", err)
	}
	gone := t.TempDir()
	t.Chdir(gone)
	must(t, os.Remove(gone))
	if _, err := ReadLedger(ledgerFile); fault.CodeOf(err) != fault.CodeError {
		t.Errorf("the working folder is gone: %v", err)
	}
}

// access is each way in which a ledger is read or written, by its name.
var access = struct {
	read, write map[string]func(*Ledger) error
}{
	read: map[string]func(*Ledger) error{
		"Trajectory":    func(l *Ledger) error { _, _, err := l.Trajectory("a"); return err },
		"Find":          func(l *Ledger) error { _, err := l.Find("a"); return err },
		"FindByPrefix":  func(l *Ledger) error { _, err := l.FindByPrefix("a"); return err },
		"Trajectories":  func(l *Ledger) error { _, err := l.Trajectories("grpo", 0); return err },
		"Each":          func(l *Ledger) error { return l.Each(func(TrajectoryRow) error { return nil }) },
		"EachOf":        func(l *Ledger) error { return l.EachOf("grpo", func(TrajectoryRow) error { return nil }) },
		"EachAfter":     func(l *Ledger) error { return l.EachAfter(0, 9, func(int64, TrajectoryRow) {}) },
		"AtPlace":       func(l *Ledger) error { _, _, err := l.AtPlace(1); return err },
		"Metrics":       func(l *Ledger) error { _, err := l.Metrics("grpo"); return err },
		"AllMetrics":    func(l *Ledger) error { _, err := l.AllMetrics(); return err },
		"MetricsFrom":   func(l *Ledger) error { _, err := l.MetricsFrom(0); return err },
		"EachMetricSum": func(l *Ledger) error { return l.EachMetricSum(func(int64, string) {}) },
		"EachSum":       func(l *Ledger) error { return l.EachSum(func(int64, string, string) {}) },
		"ScoresAfter":   func(l *Ledger) error { _, _, err := l.ScoresAfter(0); return err },
		"Newer":         func(l *Ledger) error { _, err := l.Newer(); return err },
		"Version":       func(l *Ledger) error { _, err := l.Version(); return err },
		"Numbers":       func(l *Ledger) error { _, err := l.NumTrajectories(); return err },
		"Checkpoint":    func(l *Ledger) error { _, err := l.checkpoint("grpo", 0); return err },
	},
	write: map[string]func(*Ledger) error{
		"PutStage": func(l *Ledger) error { return l.PutStage(StageRow{Name: "grpo", Status: "begun"}) },
		"PutTrajectory": func(l *Ledger) error {
			_, err := l.PutTrajectory(TrajectoryRow{ID: "new", Stage: "grpo", JSON: json.RawMessage(`{}`)})
			return err
		},
		"ReplaceTrajectory": func(l *Ledger) error {
			return l.ReplaceTrajectory(TrajectoryRow{ID: "a", Stage: "grpo", JSON: json.RawMessage(`{"n":2}`)})
		},
		"PutScores": func(l *Ledger) error {
			_, err := l.PutScores([]ScoreRow{{"a", json.RawMessage(`{"reward":2}`)}})
			return err
		},
		"PutMetric":     func(l *Ledger) error { return l.PutMetric("grpo", 0, json.RawMessage(`{"loss":2}`)) },
		"putCheckpoint": func(l *Ledger) error { return l.putCheckpoint("grpo", 0, "00") },
	},
}

// Nothing is read of a ledger that is closed, nothing is written to one that is closed, full or read-only: each says
// so, and names it.
func TestLedgerOutOfReach(t *testing.T) {
	closed := func(t *testing.T, l *Ledger) { must(t, l.Close()) }
	readOnly := func(t *testing.T, l *Ledger) {
		_, err := l.db.Exec("PRAGMA query_only = 1")
		must(t, err)
	}
	for name, c := range map[string]struct {
		spoil func(*testing.T, *Ledger)
		calls map[string]func(*Ledger) error
		next  string
	}{
		"closed, read":       {closed, access.read, ""},
		"closed, written":    {closed, access.write, ""},
		"read-only, written": {readOnly, access.write, "make it readable and writable"},
	} {
		for call, do := range c.calls {
			l := ledgerOfOne(t)
			c.spoil(t, l)
			if f, ok := errors.AsType[*fault.Error](do(l)); !ok || f.Where != l.path ||
				!strings.HasPrefix(f.Next, c.next) {
				t.Errorf("%s: %s: %+v", name, call, f)
			}
			if name != "read-only, written" {
				continue
			}
			row, _, err := l.Trajectory("a")
			if err != nil || string(row.JSON)+string(row.Score) != `{"n":1}{"reward":1}` {
				t.Errorf("%s: %s left %s, %s, %v", name, call, row.JSON, row.Score, err)
			}
		}
	}
}

// ledgerOfOne is a ledger of one trajectory with its score, and one step's metrics.
func ledgerOfOne(t *testing.T) *Ledger {
	t.Helper()
	l := openLedger(t)
	_, err := l.PutTrajectory(TrajectoryRow{ID: "a", Stage: "grpo", JSON: json.RawMessage(`{"n":1}`)})
	must(t, err)
	again, err := l.PutScores([]ScoreRow{{"a", json.RawMessage(`{"reward":1}`)}})
	must(t, err)
	if again {
		t.Error("the first score is one more")
	}
	must(t, l.PutMetric("grpo", 0, json.RawMessage(`{"loss":1}`)))
	return l
}

// A row whose numbers are none, as in a database that another program wrote again, is an error and not a row less.
func TestRowsThatAreNone(t *testing.T) {
	l := ledgerOfOne(t)
	for _, table := range []string{"trajectories", "metrics"} {
		_, err := l.db.Exec(`CREATE TABLE copy AS SELECT * FROM ` + table + `; DROP TABLE ` + table +
			`; ALTER TABLE copy RENAME TO ` + table + `; UPDATE ` + table + ` SET step = 'the first'`)
		must(t, err)
	}
	for _, call := range strings.Fields(
		"Trajectory Find FindByPrefix Each EachOf EachAfter AtPlace Metrics AllMetrics MetricsFrom",
	) {
		err := access.read[call](l)
		if err == nil || !strings.Contains(err.Error(), "the first") || !strings.Contains(err.Error(), l.path) {
			t.Errorf("%s: %v", call, err)
		}
	}
}

// What a trajectory earned stands in the place of its own keys; what cannot be read names the trajectory.
func TestDecode(t *testing.T) {
	for name, c := range map[string]struct{ row, score, want string }{
		"not scored":              {`{"reward":1}`, "", "1"},
		"scored":                  {`{"reward":1}`, `{"reward":2}`, "2"},
		"a key of its own":        {`{"n":1}`, `{"reward":3}`, "3"},
		"a row that is no object": {`[]`, `{"reward":2}`, "reading trajectory a/1 of the ledger: a row is no object"},
		"a score that is none":    {`{}`, `7`, "reading trajectory a/1 of the ledger: a row is no object"},
		"a row that is cut":       {`{"reward":`, "", "reading trajectory a/1 of the ledger: unexpected end"},
		"a score that is cut":     {`{"reward":1}`, `{"reward"`, "reading trajectory a/1 of the ledger: EOF"},
		"a score cut at its key":  {`{"reward":1}`, `{"rew`, "reading trajectory a/1 of the ledger: unexpected EOF"},
		"a reward that is a word": {`{}`, `{"reward":"much"}`, "cannot unmarshal string"},
	} {
		row := TrajectoryRow{ID: "a/1", JSON: json.RawMessage(c.row)}
		if c.score != "" {
			row.Score = json.RawMessage(c.score)
		}
		var into struct{ Reward float64 }
		err := row.Decode(&into)
		got, _ := json.Marshal(into.Reward)
		if err != nil {
			got = []byte(err.Error())
		}
		if !strings.Contains(string(got), c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A run whose ledger another program wrote again does not go on with the rows that it can read; made again, the ledger
// has them all, from the files beside it.
func TestOpenOfRowsThatAreNone(t *testing.T) {
	anew := func(table string) []string {
		return []string{"DROP TRIGGER replaced", "CREATE TABLE copy AS SELECT * FROM " + table, "DROP TABLE " + table,
			"ALTER TABLE copy RENAME TO " + table}
	}
	for name, statements := range map[string][]string{
		"trajectories": append(anew("trajectories"), "UPDATE trajectories SET step = 'the first'"),
		"metrics":      append(anew("metrics"), "UPDATE metrics SET step = 'the first'"),
		"scores":       append(anew("scores"), "UPDATE scores SET sum = NULL"),
		"checkpoints":  append(anew("checkpoints"), "UPDATE checkpoints SET manifest = NULL"),
	} {
		path := killedRun(t)
		settled(t, path)
		l, err := connect(filepath.Join(path, ledgerFile), "")
		must(t, err)
		for _, s := range statements {
			_, err = l.db.Exec(s)
			must(t, err)
		}
		must(t, l.Close())
		want := files(t, path)

		_, err = Open(path, OpenOptions{})
		if err == nil || !strings.Contains(err.Error(), "converting") {
			t.Errorf("%s: %v", name, err)
		}
		d, err := Open(path, OpenOptions{RebuildLedger: true})
		if err != nil {
			t.Errorf("%s: made again: %v", name, err)
			continue
		}
		for _, export := range []string{metricsFile, trajectoriesFile} {
			if got := read(t, filepath.Join(path, export)); sortedLines(got) != sortedLines(want[export]) {
				t.Errorf("%s: %s is\n%s\nwant\n%s", name, export, got, want[export])
			}
		}
		must(t, d.Close())
	}
}
