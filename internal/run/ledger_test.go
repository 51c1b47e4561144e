package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"hone/internal/fault"
)

func openLedger(t *testing.T) *Ledger {
	t.Helper()
	l, err := OpenLedger(filepath.Join(t.TempDir(), "ledger.db"))
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

func TestLedgerIsDurable(t *testing.T) {
	l := openLedger(t)
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2"} {
		var got string
		must(t, l.db.QueryRow("PRAGMA "+pragma).Scan(&got))
		if got != want {
			t.Errorf("%s = %s, want %s", pragma, got, want)
		}
	}
}

// Any sequence of puts, each done once or several times, leaves the ledger as a map would be.
func TestLedgerPutsAreIdempotent(t *testing.T) {
	l := openLedger(t)
	rapid.Check(t, func(t *rapid.T) {
		if _, err := l.db.Exec(
			`DELETE FROM stages; DELETE FROM trajectories; DELETE FROM metrics; DELETE FROM scores`,
		); err != nil {
			t.Fatal(err)
		}
		stages, trajectories, metrics := map[string]string{}, map[string]string{}, map[int]string{}
		for range rapid.IntRange(1, 12).Draw(t, "puts") {
			key := rapid.IntRange(0, 3).Draw(t, "key")
			id, row := fmt.Sprint("k", key), fmt.Sprintf(`{"v":%d}`, rapid.IntRange(0, 9).Draw(t, "value"))
			kind := rapid.IntRange(0, 3).Draw(t, "kind")
			for range rapid.IntRange(1, 3).Draw(t, "times") {
				var err error
				switch kind {
				case 0:
					err = l.PutStage(StageRow{Name: id, Status: "s", JSON: json.RawMessage(row)})
					stages[id] = row
				case 1:
					var added bool
					added, err = l.PutTrajectory(TrajectoryRow{ID: id, Stage: "s", JSON: json.RawMessage(row)})
					if _, had := trajectories[id]; had == added {
						t.Fatalf("added = %v although there = %v", added, had)
					}
					if added {
						trajectories[id] = row
					}
				case 2:
					err = l.ReplaceTrajectory(TrajectoryRow{ID: id, Stage: "s", JSON: json.RawMessage(row)})
					trajectories[id] = row
				case 3:
					err = l.PutMetric("s", key, json.RawMessage(row))
					metrics[key] = row
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		checkLedger(t, l, stages, trajectories, metrics)
	})
}

func checkLedger(t *rapid.T, l *Ledger, stages, trajectories map[string]string, metrics map[int]string) {
	ss, err1 := query(l, scanStage, `SELECT name, status, json FROM stages ORDER BY rowid`)
	ts, err2 := l.Trajectories("s", 0)
	ms, err3 := l.Metrics("s")
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	gotS, gotT, gotM := map[string]string{}, map[string]string{}, map[int]string{}
	for _, s := range ss {
		gotS[s.Name] = string(s.JSON)
	}
	for _, r := range ts {
		gotT[r.ID] = string(r.JSON)
		if one, ok, err := l.Trajectory(r.ID); err != nil || !ok || string(one.JSON) != string(r.JSON) {
			t.Fatalf("Trajectory(%s) = %v, %v, %v", r.ID, one, ok, err)
		}
	}
	for _, m := range ms {
		gotM[m.Step] = string(m.JSON)
	}
	if !maps.Equal(gotS, stages) || !maps.Equal(gotT, trajectories) || !maps.Equal(gotM, metrics) {
		t.Fatalf("ledger %v %v %v, want %v %v %v", gotS, gotT, gotM, stages, trajectories, metrics)
	}
	if len(ss) != len(stages) || len(ts) != len(trajectories) || len(ms) != len(metrics) {
		t.Fatal("a row is there twice")
	}
}

func TestLedgerFromManyGoroutines(t *testing.T) {
	l := openLedger(t)
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			if _, err := l.PutTrajectory(TrajectoryRow{ID: fmt.Sprint(i / 2), Stage: "s",
				JSON: json.RawMessage(`1`)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	rows, err := l.Trajectories("s", 0)
	must(t, err)
	if len(rows) != 20 {
		t.Errorf("%d rows, want 20", len(rows))
	}
}

func TestLedgerRefusesWhatIsNotJSON(t *testing.T) {
	l := openLedger(t)
	if err := l.PutMetric("s", 1, json.RawMessage(`{"loss": NaN}`)); err == nil {
		t.Error("a row that is not JSON was stored")
	}
	if _, ok, err := l.Trajectory("none"); ok || err != nil {
		t.Errorf("Trajectory of nothing = %v, %v", ok, err)
	}
}

func TestFullDiskIsExhausted(t *testing.T) {
	l := openLedger(t)
	_, err := l.db.Exec(`PRAGMA max_page_count = 12`)
	must(t, err)
	big, _ := json.Marshal(string(make([]byte, 100_000)))
	if _, err := l.PutTrajectory(TrajectoryRow{ID: "big", Stage: "s",
		JSON: big}); fault.CodeOf(err) != fault.CodeExhausted {
		t.Errorf("a full database: %v, code %d", err, fault.CodeOf(err))
	}
	if _, ok, err := l.Trajectory("big"); ok || err != nil {
		t.Errorf("half a row is there: %v, %v", ok, err)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	defer full.Close()
	if err := (&lines{f: full}).append(json.RawMessage(`{}`)); fault.CodeOf(err) != fault.CodeExhausted {
		t.Errorf("a full disk: %v", err)
	}
	if err := storageError("x", "y", syscall.EACCES); fault.CodeOf(err) != fault.CodeError {
		t.Errorf("a permission error is not exhaustion: %v", err)
	}
}

// What is wrong with a run's files is said with what to do about it.
func TestFailuresHaveANextStep(t *testing.T) {
	d := create(t)
	must(t, d.Close())
	must(t, os.WriteFile(filepath.Join(d.Path, ledgerFile), bytes.Repeat([]byte("no database "), 1000), 0o600))
	_, damaged := Open(d.Path, OpenOptions{})
	_, unread := ReadLedger(filepath.Join(d.Path, "none.db"))
	for name, c := range map[string]struct {
		err  error
		next string
	}{
		"damaged":   {damaged, "--rebuild-ledger"},
		"no ledger": {unread, "writable"},
		"forbidden": {storageError("cannot lock the run", d.Path, &os.PathError{Op: "open", Path: d.Path, Err: syscall.EACCES}), "writable"},
		"full":      {storageError("cannot write to the ledger", d.Path, syscall.ENOSPC), "free space"},
	} {
		if f, ok := errors.AsType[*fault.Error](c.err); !ok || !strings.Contains(f.Next, c.next) {
			t.Errorf("%s: %v", name, c.err)
		}
	}
}
