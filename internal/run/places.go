package run

import (
	"database/sql"
	"fmt"
	"path/filepath"
)

// A place is where a trajectory lies in a ledger: they rise in the order in which trajectories were put, and stay where
// a row is replaced or scored. By them a reader follows a ledger that is being written, and reads each row once.

// LedgerOf opens the ledger of the run in dir for reading, also while a run is writing it.
func LedgerOf(dir string) (*Ledger, error) { return ReadLedger(filepath.Join(dir, ledgerFile)) }

// Newer says that a newer hone made the ledger, "" where this one knows its form.
func (l *Ledger) Newer() (string, error) {
	form, err := l.form()
	if err != nil || form <= ledgerForm {
		return "", storageError("cannot read the ledger", l.path, err)
	}
	return fmt.Sprintf("a newer hone made this run: its ledger has form %d, and this hone knows %d, "+
		"so what is new in it is not shown", form, ledgerForm), nil
}

// Version is another number each time that somebody else has written to the ledger.
func (l *Ledger) Version() (version int64, err error) {
	err = l.db.QueryRow("PRAGMA data_version").Scan(&version)
	return version, storageError("cannot read the ledger", l.path, err)
}

// EachAfter yields at most limit trajectories that lie behind a place, in their order.
func (l *Ledger) EachAfter(place int64, limit int, yield func(place int64, t TrajectoryRow)) error {
	return l.each(placed+`WHERE t.rowid > ? ORDER BY t.rowid LIMIT ?`, func(rows *sql.Rows) error {
		at, t, err := scanPlace(rows)
		if err == nil {
			yield(at, t)
		}
		return err
	}, place, limit)
}

// AtPlace returns the trajectory of a place; ok is false where there is none.
func (l *Ledger) AtPlace(place int64) (t TrajectoryRow, ok bool, err error) {
	err = l.each(placed+`WHERE t.rowid = ?`, func(rows *sql.Rows) error {
		_, t, err = scanPlace(rows)
		ok = err == nil
		return err
	}, place)
	return t, ok, err
}

// ScoresAfter are the places of the trajectories whose scores were put behind a score, and the last score. The first
// score is behind 0.
func (l *Ledger) ScoresAfter(score int64) (places []int64, last int64, err error) {
	last = score
	err = l.each(
		`SELECT t.rowid, s.rowid FROM scores s JOIN trajectories t ON t.id = s.id WHERE s.rowid > ? ORDER BY s.rowid`, func(rows *sql.Rows) error {
			var place int64
			err := rows.Scan(&place, &last)
			places = append(places, place)
			return err
		}, score,
	)
	return places, last, err
}

// EachSum yields the sum of each trajectory and that of its score, "" where it has none: what was replaced or scored
// again has another one.
func (l *Ledger) EachSum(yield func(place int64, sum, score string)) error {
	return l.each(`SELECT t.rowid, t.sum, coalesce(s.sum, '') FROM trajectories t LEFT JOIN scores s ON s.id = t.id`,
		func(rows *sql.Rows) error {
			var place int64
			var sum, score string
			err := rows.Scan(&place, &sum, &score)
			if err == nil {
				yield(place, sum, score)
			}
			return err
		})
}

// NumTrajectories counts them.
func (l *Ledger) NumTrajectories() (int, error) {
	c, err := l.counts()
	return c.Trajectories, err
}

// placed selects rows for scanPlace.
const placed = `SELECT t.rowid, t.id, t.stage, t.step, t.json, s.json FROM trajectories t LEFT JOIN scores s ON s.id = t.id AND s.json <> '` + noScore + `' `

func scanPlace(rows *sql.Rows) (place int64, t TrajectoryRow, err error) {
	var row string
	var score sql.NullString
	err = rows.Scan(&place, &t.ID, &t.Stage, &t.Step, &row, &score)
	if t.JSON = []byte(row); score.Valid {
		t.Score = []byte(score.String)
	}
	return place, t, err
}

// EachMetricSum yields the place of each row of metrics, in their order, and its sum.
func (l *Ledger) EachMetricSum(yield func(place int64, sum string)) error {
	return l.each(`SELECT rowid, sum FROM metrics ORDER BY rowid`, func(rows *sql.Rows) error {
		var place int64
		var sum string
		err := rows.Scan(&place, &sum)
		if err == nil {
			yield(place, sum)
		}
		return err
	})
}

// MetricsFrom returns the rows of metrics from a place on, in their order.
func (l *Ledger) MetricsFrom(place int64) ([]MetricRow, error) {
	return query(l, scanMetric, `SELECT stage, step, json FROM metrics WHERE rowid >= ? ORDER BY rowid`, place)
}
