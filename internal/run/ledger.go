package run

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"

	"hone/internal/blob"
	"hone/internal/fault"
)

// Ledger is a run's record of results: the only truth about what was done. Each Put is one durable transaction; a
// result is in the ledger whole or not at all, whenever the process is killed. Putting the same row twice is the same
// as putting it once. Rows hold opaque JSON. A Ledger may be used from many goroutines.
type Ledger struct {
	db   *sql.DB
	path string
}

// Finished is the status of a stage that has ended.
const Finished = "finished"

// StageRow is one stage of a run and its state.
type StageRow struct {
	Name   string
	Status string
	JSON   json.RawMessage // may be empty
}

// TrajectoryRow is one trajectory as it ended; ID is unique in the run.
type TrajectoryRow struct {
	ID    string
	Stage string
	Step  int
	JSON  json.RawMessage
	Score json.RawMessage // of its ScoreRow; nil where it has none. Put takes no notice of it
}

// ScoreRow is what a trajectory earned: an object whose keys stand in the place of those of the trajectory's own, or
// are added to them.
type ScoreRow struct {
	ID   string // of the trajectory
	JSON json.RawMessage
}

func (s ScoreRow) sum() string { return sumOf(s.ID, "", 0, string(s.JSON)) }

// Decode reads the trajectory with what it earned into a struct.
func (t TrajectoryRow) Decode(into any) error {
	text, err := t.JSON, error(nil)
	if t.Score != nil {
		text, err = withScore(t.JSON, t.Score)
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("reading trajectory %s of the ledger: %w", t.ID, err)
	}
	return nil
}

func (t TrajectoryRow) sum() string { return sumOf(t.ID, t.Stage, t.Step, string(t.JSON)) }

// MetricRow is the metrics of one step of a stage.
type MetricRow struct {
	Stage string
	Step  int
	JSON  json.RawMessage
}

// tables are made in one transaction with the form's number. sum is sumOf the row: SQLite does not notice a byte of a
// text that changed on disk. A trajectory that is replaced has not been scored yet.
const tables = `
CREATE TABLE IF NOT EXISTS stages (
	name TEXT PRIMARY KEY, status TEXT NOT NULL, json TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS trajectories (
	id TEXT PRIMARY KEY, stage TEXT NOT NULL, step INTEGER NOT NULL, json TEXT NOT NULL, sum TEXT NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS trajectories_by_step ON trajectories (stage, step);
CREATE TABLE IF NOT EXISTS scores (
	id TEXT PRIMARY KEY, json TEXT NOT NULL, sum TEXT NOT NULL) STRICT;
CREATE TRIGGER IF NOT EXISTS replaced AFTER UPDATE ON trajectories BEGIN
	UPDATE scores SET json = '` + noScore + `', sum = '' WHERE id = new.id; END;
CREATE TABLE IF NOT EXISTS metrics (
	stage TEXT NOT NULL, step INTEGER NOT NULL, json TEXT NOT NULL, sum TEXT NOT NULL, PRIMARY KEY (stage, step)) STRICT;
CREATE TABLE IF NOT EXISTS checkpoints (
	stage TEXT NOT NULL, step INTEGER NOT NULL, manifest TEXT NOT NULL, PRIMARY KEY (stage, step)) STRICT;
PRAGMA user_version = 2;`

// ledgerForm is the number of the tables above, which SQLite keeps in the file's head. Ledgers of unscoredForm have no
// scores: trajectories hold their own. Each is given a score that changes nothing. A trajectory in trajectories.jsonl
// always has a row of scores, be it noScore, so that a score that was lost is missed.
const (
	ledgerForm   = 2
	unscoredForm = 1
	ownScore     = "{}"
	noScore      = "null" // of a trajectory that was replaced since it was scored
)

// sumOf is the SHA-256 of a row: its names and its JSON.
func sumOf(id, stage string, step int, row string) string {
	return blob.Parts(id, stage, strconv.Itoa(step), row).String()
}

// OpenLedger opens or creates the ledger at path for reading and writing.
func OpenLedger(path string) (*Ledger, error) {
	l, err := connect(path,
		"_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(10000)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	form, err := l.form()
	if err == nil && form != ledgerForm {
		err = l.makeTables(form)
	}
	if err != nil {
		return nil, storageError("cannot open the ledger", path, errors.Join(err, l.db.Close()))
	}
	return l, nil
}

// makeTables makes those that are not there. form is the ledger's.
func (l *Ledger) makeTables(form int) error {
	var old []TrajectoryRow
	if form == unscoredForm {
		var err error
		if old, err = query(l, scanTrajectory, `SELECT id, stage, step, json, NULL FROM trajectories`); err != nil {
			return err
		}
	}
	return l.together(func(tx *sql.Tx) error {
		if _, err := tx.Exec(tables); err != nil {
			return err
		}
		for _, t := range old {
			if err := putScore(tx, ScoreRow{t.ID, json.RawMessage(ownScore)}); err != nil {
				return err
			}
		}
		return nil
	})
}

// together runs statements as one transaction.
func (l *Ledger) together(run func(*sql.Tx) error) error {
	tx, err := l.db.Begin()
	if err != nil {
		return err
	}
	if err := run(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// form is the number of the ledger's tables, 0 where they are yet to be made.
func (l *Ledger) form() (form int, err error) {
	err = l.db.QueryRow("PRAGMA user_version").Scan(&form)
	return form, err
}

// ReadLedger opens the ledger at path for reading, also while a run is writing it.
func ReadLedger(path string) (*Ledger, error) {
	l, err := connect(path, "mode=ro&_pragma=busy_timeout(10000)")
	if err != nil {
		return nil, err
	}
	// whoever reads the rows finds what is wrong with others
	if form, err := l.form(); err == nil && form < ledgerForm {
		_, _ = l.db.Exec(`CREATE TEMP VIEW scores AS SELECT id, '` + ownScore +
			`' AS json, '' AS sum, rowid AS rowid FROM trajectories`)
	}
	return l, nil
}

func connect(path, options string) (*Ledger, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, storageError("cannot open the ledger", path, err)
	}
	dsn := (&url.URL{Scheme: "file", Path: filepath.ToSlash(abs), RawQuery: options}).String()
	db, _ := sql.Open("sqlite", dsn) // the driver is linked in: what is wrong with the file, Ping says
	// One connection: SQLite has one writer anyway, and this way callers queue here instead of meeting SQLITE_BUSY.
	db.SetMaxOpenConns(1)
	if err := db.Ping(); err != nil {
		return nil, storageError("cannot open the ledger", path, errors.Join(err, db.Close()))
	}
	return &Ledger{db: db, path: path}, nil
}

// Close closes the ledger.
func (l *Ledger) Close() error { return storageError("cannot close the ledger", l.path, l.db.Close()) }

// PutStage inserts or replaces a stage.
func (l *Ledger) PutStage(s StageRow) error {
	if len(s.JSON) == 0 {
		s.JSON = json.RawMessage("null")
	}
	_, err := l.put(s.JSON, `INSERT INTO stages VALUES (?1, ?2, ?3)
		ON CONFLICT (name) DO UPDATE SET status = ?2, json = ?3`, s.Name, s.Status, string(s.JSON))
	return err
}

// PutTrajectory inserts a trajectory. An id already there keeps its first row (added is false): a result once paid
// for is never overwritten by its repetition. ReplaceTrajectory is the deliberate way.
func (l *Ledger) PutTrajectory(t TrajectoryRow) (added bool, err error) {
	n, err := l.put(t.JSON, `INSERT INTO trajectories VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
		t.ID, t.Stage, t.Step, string(t.JSON), t.sum())
	return n == 1, err
}

// ReplaceTrajectory inserts a trajectory or replaces the one with its id, whose score is forgotten.
func (l *Ledger) ReplaceTrajectory(t TrajectoryRow) error {
	_, err := l.put(t.JSON, `INSERT INTO trajectories VALUES (?1, ?2, ?3, ?4, ?5)
		ON CONFLICT (id) DO UPDATE SET stage = ?2, step = ?3, json = ?4, sum = ?5`, t.ID, t.Stage, t.Step, string(t.JSON), t.sum())
	return err
}

// PutScores inserts or replaces what trajectories earned, all in one transaction. again tells whether one had been
// scored before.
func (l *Ledger) PutScores(scores []ScoreRow) (again bool, err error) {
	err = l.together(func(tx *sql.Tx) error {
		for _, s := range scores {
			if !json.Valid(s.JSON) {
				return &fault.Error{Code: fault.CodeError, What: "a row for the ledger is not JSON", Where: l.path}
			}
			var n int
			err := tx.QueryRow(`SELECT count(*) FROM scores WHERE id = ?`, s.ID).Scan(&n)
			if err == nil {
				err = putScore(tx, s)
			}
			if err != nil {
				return err
			}
			again = again || n > 0
		}
		return nil
	})
	return again, storageError("cannot write to the ledger", l.path, err)
}

func putScore(tx *sql.Tx, s ScoreRow) error {
	_, err := tx.Exec(`INSERT INTO scores VALUES (?1, ?2, ?3) ON CONFLICT (id) DO UPDATE SET json = ?2, sum = ?3`,
		s.ID, string(s.JSON), s.sum())
	return err
}

// trajectories selects rows for scanTrajectory.
const trajectories = `SELECT t.id, t.stage, t.step, t.json, s.json FROM trajectories t LEFT JOIN scores s ON s.id = t.id AND s.json <> '` + noScore + `' `

// Trajectory returns a trajectory; ok is false where there is none.
func (l *Ledger) Trajectory(id string) (t TrajectoryRow, ok bool, err error) {
	rows, err := query(l, scanTrajectory, trajectories+`WHERE t.id = ?`, id)
	return first(rows, err)
}

// Find returns the trajectories whose id is the one given, or ends with it after a slash.
func (l *Ledger) Find(id string) ([]TrajectoryRow, error) {
	return query(l, scanTrajectory,
		trajectories+`WHERE t.id = ?1 OR substr(t.id, -length(?1) - 1) = '/' || ?1 ORDER BY t.rowid`, id)
}

// FindByPrefix returns the trajectories of whose names a part, behind a stage or whole, begins so, in the order they
// were put.
func (l *Ledger) FindByPrefix(id string) ([]TrajectoryRow, error) {
	return query(l, scanTrajectory, trajectories+`WHERE instr('/' || t.id, '/' || ?1) > 0 ORDER BY t.rowid`, id)
}

// Each yields all trajectories in the order they were put.
func (l *Ledger) Each(yield func(TrajectoryRow) error) error {
	return eachRow(l, scanTrajectory, yield, trajectories+`ORDER BY t.rowid`)
}

// EachOf yields the trajectories of a stage in the order they were put.
func (l *Ledger) EachOf(stage string, yield func(TrajectoryRow) error) error {
	return eachRow(l, scanTrajectory, yield, trajectories+`WHERE t.stage = ? ORDER BY t.rowid`, stage)
}

// Trajectories returns the trajectories of one step of a stage, in the order they were put.
func (l *Ledger) Trajectories(stage string, step int) ([]TrajectoryRow, error) {
	return query(l, scanTrajectory, trajectories+`WHERE t.stage = ? AND t.step = ? ORDER BY t.rowid`, stage, step)
}

// PutMetric inserts or replaces the metrics of one step.
func (l *Ledger) PutMetric(stage string, step int, row json.RawMessage) error {
	_, err := l.put(row, `INSERT INTO metrics VALUES (?1, ?2, ?3, ?4)
		ON CONFLICT (stage, step) DO UPDATE SET json = ?3, sum = ?4`, stage, step, string(row), sumOf("", stage, step, string(row)))
	return err
}

func (l *Ledger) hasMetric(stage string, step int) (bool, error) {
	_, ok, err := first(query(l, scanMetric, `SELECT stage, step, json FROM metrics WHERE stage = ? AND step = ?`,
		stage, step))
	return ok, err
}

// Metrics returns the metrics of a stage by step.
func (l *Ledger) Metrics(stage string) ([]MetricRow, error) {
	return query(l, scanMetric, `SELECT stage, step, json FROM metrics WHERE stage = ? ORDER BY step`, stage)
}

// AllMetrics returns the metrics of all stages, in the order in which each step was first put.
func (l *Ledger) AllMetrics() ([]MetricRow, error) {
	return query(l, scanMetric, `SELECT stage, step, json FROM metrics ORDER BY rowid`)
}

// put runs one statement, which SQLite makes one transaction, and returns the number of rows it changed.
func (l *Ledger) put(row json.RawMessage, statement string, args ...any) (int64, error) {
	if !json.Valid(row) {
		return 0, &fault.Error{Code: fault.CodeError, What: "a row for the ledger is not JSON", Where: l.path}
	}
	res, err := l.db.Exec(statement, args...)
	if err != nil {
		return 0, storageError("cannot write to the ledger", l.path, err)
	}
	n, err := res.RowsAffected()
	return n, storageError("cannot write to the ledger", l.path, err)
}

// putCheckpoint notes the SHA-256 of a checkpoint's manifest.
func (l *Ledger) putCheckpoint(stage string, step int, manifest string) error {
	_, err := l.db.Exec(
		`INSERT INTO checkpoints VALUES (?1, ?2, ?3) ON CONFLICT (stage, step) DO UPDATE SET manifest = ?3`,
		stage, step, manifest,
	)
	return storageError("cannot write to the ledger", l.path, err)
}

// checkpoint is the SHA-256 of a checkpoint's manifest, "" where the ledger does not know the checkpoint.
func (l *Ledger) checkpoint(stage string, step int) (manifest string, err error) {
	err = l.db.QueryRow(`SELECT manifest FROM checkpoints WHERE stage = ? AND step = ?`, stage, step).Scan(&manifest)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return manifest, storageError("cannot read the ledger", l.path, err)
}

// counts is how many rows there are.
func (l *Ledger) counts() (c counts, err error) {
	err = l.db.QueryRow(`SELECT (SELECT count(*) FROM metrics), (SELECT count(*) FROM trajectories)`).Scan(&c.Metrics,
		&c.Trajectories)
	return c, storageError("cannot read the ledger", l.path, err)
}

// eachScoredLine yields the lines of trajectories.jsonl: those that were scored.
func (l *Ledger) eachScoredLine(yield func(json.RawMessage) error) error {
	return l.Each(func(t TrajectoryRow) error {
		if t.Score == nil {
			return nil
		}
		line, err := trajectoryLine(t)
		if err != nil {
			return err
		}
		return yield(line)
	})
}

func (l *Ledger) eachMetric(yield func(json.RawMessage) error) error {
	return eachRow(l, scanMetric, func(m MetricRow) error { return yield(metricLine(m.Stage, m.Step, m.JSON)) },
		`SELECT stage, step, json FROM metrics ORDER BY rowid`)
}

func (l *Ledger) each(statement string, yield func(*sql.Rows) error, args ...any) error {
	rows, err := l.db.Query(statement, args...)
	if err != nil {
		return storageError("cannot read the ledger", l.path, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := yield(rows); err != nil {
			return storageError("cannot read the ledger", l.path, err)
		}
	}
	return storageError("cannot read the ledger", l.path, rows.Err())
}

// eachRow yields what scan reads of each row.
func eachRow[T any](
	l *Ledger, scan func(*sql.Rows) (T, error), yield func(T) error, statement string, args ...any,
) error {
	return l.each(statement, func(rows *sql.Rows) error {
		row, err := scan(rows)
		if err != nil {
			return err
		}
		return yield(row)
	}, args...)
}

// query is what scan reads of all rows, nil where one cannot be read.
func query[T any](l *Ledger, scan func(*sql.Rows) (T, error), statement string, args ...any) (out []T, err error) {
	err = eachRow(l, scan, func(row T) error {
		out = append(out, row)
		return nil
	}, statement, args...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func first[T any](rows []T, err error) (row T, ok bool, _ error) {
	if err != nil || len(rows) == 0 {
		return row, false, err
	}
	return rows[0], true, nil
}

func scanStage(rows *sql.Rows) (s StageRow, err error) {
	var row string
	err = rows.Scan(&s.Name, &s.Status, &row)
	s.JSON = json.RawMessage(row)
	return s, err
}

func scanTrajectory(rows *sql.Rows) (t TrajectoryRow, err error) {
	var row string
	var score sql.NullString
	err = rows.Scan(&t.ID, &t.Stage, &t.Step, &row, &score)
	if t.JSON = json.RawMessage(row); score.Valid {
		t.Score = json.RawMessage(score.String)
	}
	return t, err
}

func scanMetric(rows *sql.Rows) (m MetricRow, err error) {
	var row string
	err = rows.Scan(&m.Stage, &m.Step, &row)
	m.JSON = json.RawMessage(row)
	return m, err
}
