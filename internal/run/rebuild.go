package run

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"hone/internal/blob"
	"hone/internal/fault"
)

// rebuildLedger makes the ledger of the run in path again: what is whole of the old one, then what the exports hold
// besides, then the checkpoints whose files are as their manifests say. The old one goes to quarantine. A kill leaves
// the old ledger or the new one. It returns what it did.
func rebuildLedger(path string) (notes []string, err error) {
	tmp := filepath.Join(path, ledgerFile+".tmp")
	if err := errors.Join(removeLedger(tmp), fillLedger(path, tmp, &notes)); err != nil {
		return nil, storageError("cannot make the ledger again", path, errors.Join(err, removeLedger(tmp)))
	}
	moved, err := quarantineLedger(path, "made again")
	if err == nil {
		err = os.Rename(tmp, filepath.Join(path, ledgerFile))
	}
	if err == nil {
		err = blob.Sync(path)
	}
	for _, q := range moved {
		notes = append(notes, fmt.Sprintf("%s was moved to %s", filepath.Base(q.From), q.To))
	}
	return notes, storageError("cannot make the ledger again", path, err)
}

func removeLedger(name string) error {
	var errs []error
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(name + end); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// fillLedger makes the new ledger under the name tmp, one file without a log.
func fillLedger(path, tmp string, notes *[]string) (err error) {
	l, err := OpenLedger(tmp)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if _, err := l.db.Exec("PRAGMA synchronous = OFF"); err != nil { // synced as a whole below
		return err
	}
	old, err := l.takeOld(path)
	if err != nil {
		return err
	}
	from, err := l.counts()
	if err != nil {
		return err
	}
	damaged, err := l.takeExports(path)
	for _, d := range damaged {
		old = append(old, d.String())
	}
	if err != nil {
		return err
	}
	alone, err := l.put(json.RawMessage("null"), "DELETE FROM scores WHERE id NOT IN (SELECT id FROM trajectories)")
	if err != nil {
		return err
	}
	if alone > 0 {
		old = append(old, "left out "+fault.Count(int(alone), "score")+" of trajectories that are lost")
	}
	now, err := l.counts()
	if err != nil {
		return err
	}
	known, lost, err := l.takeCheckpoints(path, now)
	if err != nil {
		return err
	}
	*notes = append(append(old, lost...),
		fmt.Sprintf("the ledger was made again: of %s and %s, %d and %d are from the files beside it; it knows %s",
			fault.Count(now.Metrics, "step"), fault.Count(now.Trajectories, "trajectory"), now.Metrics-from.Metrics,
			now.Trajectories-from.Trajectories, fault.Count(known, "checkpoint")))
	_, err = l.db.Exec("PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE")
	return err
}

// takeOld copies the rows of the old ledger, here or in quarantine, that are as they were written. What keeps it from
// being read to its end is a note.
func (l *Ledger) takeOld(path string) (notes []string, err error) {
	name := oldLedger(path)
	if name == "" {
		return nil, nil
	}
	old, err := ReadLedger(name)
	if err != nil {
		return []string{"of the old ledger nothing can be read: " + oneLine(err)}, nil
	}
	defer old.Close()
	form, _ := old.form() // 0 of one that cannot be read, and of those before rows had sums
	sums := "''"
	if form == ledgerForm || form == unscoredForm {
		sums = "sum"
	}
	var put error
	tables := map[string]func(rows *sql.Rows) error{
		"SELECT name, status, json FROM stages ORDER BY rowid": func(rows *sql.Rows) error {
			s, err := scanStage(rows)
			if err == nil {
				put = errors.Join(put, l.PutStage(s))
			}
			return err
		},
		"SELECT id, stage, step, json, " + sums + " FROM trajectories ORDER BY rowid": func(rows *sql.Rows) error {
			var t TrajectoryRow
			var row, sum string
			err := rows.Scan(&t.ID, &t.Stage, &t.Step, &row, &sum)
			if t.JSON = json.RawMessage(row); err == nil && (sum == "" && json.Valid(t.JSON) || sum == t.sum()) {
				_, e := l.PutTrajectory(t)
				put = errors.Join(put, e)
			}
			return err
		},
		"SELECT id, json, sum FROM scores": func(rows *sql.Rows) error {
			var s ScoreRow
			var row, sum string
			err := rows.Scan(&s.ID, &row, &sum)
			if s.JSON = json.RawMessage(row); err == nil && (row == ownScore || row == noScore || sum == s.sum()) {
				_, e := l.PutScores([]ScoreRow{s})
				put = errors.Join(put, e)
			}
			return err
		},
		"SELECT stage, step, json, " + sums + " FROM metrics ORDER BY rowid": func(rows *sql.Rows) error {
			var m MetricRow
			var row, sum string
			err := rows.Scan(&m.Stage, &m.Step, &row, &sum)
			if m.JSON = json.RawMessage(row); err == nil &&
				(sum == "" && json.Valid(m.JSON) || sum == sumOf("", m.Stage, m.Step, row)) {
				put = errors.Join(put, l.PutMetric(m.Stage, m.Step, m.JSON))
			}
			return err
		},
	}
	for statement, take := range tables {
		if err := old.each(statement, take); err != nil {
			notes = append(notes, "the old ledger cannot be read to its end: "+oneLine(err))
		}
	}
	return notes, put
}

// takeExports adds the rows of the exports that are not there yet. It returns their lines that are no rows.
func (l *Ledger) takeExports(path string) (damaged []damagedFile, err error) {
	err = eachLine(filepath.Join(path, metricsFile), &damaged, func(h lineHead, row json.RawMessage) error {
		_, err := l.put(row, `INSERT INTO metrics VALUES (?, ?, ?, ?) ON CONFLICT (stage, step) DO NOTHING`,
			h.Stage, h.Step, string(row), sumOf("", h.Stage, h.Step, string(row)))
		return err
	})
	if err != nil {
		return damaged, err
	}
	err = eachLine(filepath.Join(path, trajectoriesFile), &damaged, func(h lineHead, row json.RawMessage) error {
		added, err := l.PutTrajectory(TrajectoryRow{ID: h.Row, Stage: h.Stage, Step: h.Step, JSON: row})
		s := ScoreRow{h.Row, row} // of a trajectory that is there without it: the line holds both
		if added {
			s.JSON = json.RawMessage(ownScore)
		}
		if err == nil {
			_, err = l.put(s.JSON, `INSERT INTO scores VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING`,
				s.ID, string(s.JSON), s.sum())
		}
		return err
	})
	return damaged, err
}

// takeCheckpoints makes known the checkpoints that are as their manifests say. A manifest that counts more rows than
// are left is written anew, with those that are: that they are lost is told here, and stops the run no more.
func (l *Ledger) takeCheckpoints(path string, have counts) (known int, lost []string, err error) {
	all, err := Checkpoints(path, "")
	if err != nil {
		return 0, nil, err
	}
	for _, c := range all {
		hash := "none" // known, so that the run goes on and puts it into quarantine
		name := filepath.Join(c.Path, manifestFile)
		if text, err := os.ReadFile(name); err == nil {
			if m, err := verifyFiles(c.Path, text); err == nil {
				known++
				if why := m.Rows.beyond(c, have); why != "" {
					lost = append(lost, why+": what it lacks is lost")
					m.Rows = counts{min(m.Rows.Metrics, have.Metrics), min(m.Rows.Trajectories, have.Trajectories)}
					text = m.text()
					if err := writeFileSync(name, text); err != nil {
						return known, lost, err
					}
				}
				hash = blob.Of(text).String()
			}
		}
		if err := l.putCheckpoint(c.Stage, c.Step, hash); err != nil {
			return known, lost, err
		}
	}
	return known, lost, nil
}

// oldLedger is the file of the ledger that was, "" where there is none: in its place, else the last in quarantine.
func oldLedger(path string) string {
	found := ""
	look := func(name string) bool {
		info, err := os.Stat(name)
		if err == nil && info.Size() > 0 {
			found = name
		}
		return err == nil
	}
	if look(filepath.Join(path, ledgerFile)) {
		return found
	}
	name := filepath.Join(path, quarantineDir, ledgerFile)
	for n := 2; look(name); n++ {
		name = filepath.Join(path, quarantineDir, fmt.Sprintf("%s.%d", ledgerFile, n))
	}
	return found
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
