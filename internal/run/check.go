package run

import (
	"bufio"
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	sqlite3 "modernc.org/sqlite/lib"

	"hone/internal/fault"
)

// A row goes to the ledger first and to its export second, and a checkpoint counts the rows of the ledger it follows.
// So a ledger never has less than the files beside it, whenever the process is killed. One that has is damaged, was cut
// off or was put there, and a run that went on with it would count paid results as never made.

// exports are the rows that the JSON-lines files hold, by what the ledger knows them by.
type exports struct {
	metrics      map[lineHead]bool
	trajectories map[string]bool // ids
	damaged      []damagedFile
}

// damagedFile is an export with lines that are not as they were written.
type damagedFile struct {
	name  string
	first int // line, from 1
	n     int
}

func (d damagedFile) String() string {
	return fmt.Sprintf("%s: %s not as written, the first is line %d", d.name, fault.Count(d.n, "line"), d.first)
}

func readExports(path string) (e exports, err error) {
	e = exports{metrics: map[lineHead]bool{}, trajectories: map[string]bool{}}
	err = eachLine(filepath.Join(path, metricsFile), &e.damaged, func(h lineHead, _ json.RawMessage) error {
		e.metrics[h] = true
		return nil
	})
	if err == nil {
		err = eachLine(filepath.Join(path, trajectoriesFile), &e.damaged, func(h lineHead, _ json.RawMessage) error {
			e.trajectories[h.Row] = true
			return nil
		})
	}
	return e, storageError("cannot read the run's files", path, err)
}

// eachLine yields the rows of an export, and notes where it is not as it was written. A last line without its end is a
// kill's doing, and is passed over.
func eachLine(name string, damaged *[]damagedFile, yield func(h lineHead, row json.RawMessage) error) error {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	bad := damagedFile{name: filepath.Base(name)}
	defer func() {
		if bad.n > 0 {
			*damaged = append(*damaged, bad)
		}
	}()
	r := bufio.NewReaderSize(f, 1<<20)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		h, row, ok := parseLine(bytes.TrimSuffix(line, []byte{'\n'}))
		if !ok {
			if bad.n++; bad.n == 1 {
				bad.first = n
			}
			continue
		}
		if err := yield(h, row); err != nil {
			return err
		}
	}
}

// judge compares the ledger of the run in path with itself and with what lies beside it. It changes nothing, but that
// a ledger whose pages or rows are damaged is moved to quarantine. It returns what is wrong with the exports.
func judge(path string) (damagedExports []damagedFile, err error) {
	name := filepath.Join(path, ledgerFile)
	files, err := readExports(path)
	if err != nil {
		return nil, err
	}
	all, err := Checkpoints(path, "")
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, storageError("cannot open the ledger", name, err)
	}
	if err != nil || info.Size() == 0 { // SQLite would remove the log beside an empty file
		what := "it is empty"
		if err != nil {
			what = "it is not there"
		}
		return files.damaged, nothingIn(path, what, files, all)
	}
	l, err := ReadLedger(name)
	if err == nil {
		err = l.compare(path, files, all)
		err = errors.Join(err, l.Close())
	}
	if d, ok := errors.AsType[damage](err); ok || sqliteCode(err) == sqlite3.SQLITE_CORRUPT ||
		sqliteCode(err) == sqlite3.SQLITE_NOTADB {
		if !ok {
			d = damage(err.Error())
		}
		return nil, putAway(path, string(d))
	}
	return files.damaged, err
}

// damage is what is wrong inside a ledger.
type damage string

func (d damage) Error() string { return string(d) }

// compare is nil where the ledger is whole and has all that the files beside it have. It uses files up.
func (l *Ledger) compare(path string, files exports, all []Checkpoint) error {
	var found string
	if err := l.db.QueryRow("PRAGMA integrity_check(3)").Scan(&found); err != nil {
		return err
	}
	if found != "ok" {
		return damage("integrity_check: " + found)
	}
	form, err := l.form()
	if err != nil {
		return err
	}
	if form != ledgerForm && form != unscoredForm {
		return l.ofAnotherForm(path, files, all)
	}
	damaged, err := l.checkExports(files)
	if err != nil {
		return err
	}
	if damaged != "" {
		return damage(damaged)
	}
	have, err := l.counts()
	if err != nil {
		return err
	}
	ahead, err := checkpointsAhead(all, have, l.checkpoint)
	if err != nil {
		return err
	}
	if why := append(missing(files), ahead...); len(why) > 0 {
		return less(path, why)
	}
	return nil
}

// ofAnotherForm is nil for a ledger without tables, beside which nothing is.
func (l *Ledger) ofAnotherForm(path string, files exports, all []Checkpoint) error {
	var tables int
	if err := l.db.QueryRow("SELECT count(*) FROM sqlite_master").Scan(&tables); err != nil {
		return err
	}
	if tables > 0 {
		return &fault.Error{Code: fault.CodeUsage, What: "the ledger was written by another version of hone",
			Where: filepath.Join(path, ledgerFile), Next: rebuildIt(path)}
	}
	return nothingIn(path, "it has no tables", files, all)
}

// nothingIn is nil where a ledger without rows is right.
func nothingIn(path, what string, files exports, all []Checkpoint) error {
	ahead, err := checkpointsAhead(all, counts{}, func(string, int) (string, error) { return "", nil })
	if why := append(missing(files), ahead...); err == nil && len(why) > 0 {
		return less(path, append([]string{what}, why...))
	}
	return err
}

// checkpointsAhead says which checkpoints a ledger does not know, and which were made after rows that it lacks.
func checkpointsAhead(
	all []Checkpoint, have counts, known func(stage string, step int) (string, error),
) (why []string, err error) {
	for _, c := range all {
		hash, err := known(c.Stage, c.Step)
		if err != nil {
			return nil, err
		}
		if hash == "" {
			why = append(why, fmt.Sprintf("checkpoint %s is not in it", filepath.Base(c.Path)))
		}
		var m manifest // one that cannot be read counts nothing, and does not verify
		if text, err := os.ReadFile(filepath.Join(c.Path, manifestFile)); err == nil &&
			json.Unmarshal(text, &m) == nil {
			if beyond := m.Rows.beyond(c, have); beyond != "" {
				why = append(why, beyond)
			}
		}
	}
	return why, nil
}

// checkExports takes the rows that the ledger has out of files, and says which row is not as it was put, "" where all
// are. A line of trajectories.jsonl is of two rows, and is had where both are there.
func (l *Ledger) checkExports(files exports) (damaged string, err error) {
	there := map[string]bool{}
	err = l.each(`SELECT id, stage, step, json, sum FROM trajectories`, func(rows *sql.Rows) error {
		var t TrajectoryRow
		var row, sum string
		if err := rows.Scan(&t.ID, &t.Stage, &t.Step, &row, &sum); err != nil {
			return err
		}
		if t.JSON = json.RawMessage(row); t.sum() != sum && damaged == "" {
			damaged = fmt.Sprintf("trajectory %q is not as it was written", t.ID)
		}
		there[t.ID] = true
		return nil
	})
	if err != nil {
		return "", err
	}
	err = l.each(`SELECT id, json, sum FROM scores`, func(rows *sql.Rows) error {
		var s ScoreRow
		var row, sum string
		if err := rows.Scan(&s.ID, &row, &sum); err != nil {
			return err
		}
		if s.JSON = json.RawMessage(row); s.sum() != sum && row != ownScore && row != noScore && damaged == "" {
			damaged = fmt.Sprintf("the score of trajectory %q is not as it was written", s.ID)
		}
		if !there[s.ID] && damaged == "" {
			damaged = fmt.Sprintf("the score of trajectory %q is there, and the trajectory is not", s.ID)
		}
		delete(files.trajectories, s.ID)
		return nil
	})
	if err != nil {
		return "", err
	}
	err = l.each(`SELECT stage, step, json, sum FROM metrics`, func(rows *sql.Rows) error {
		var m MetricRow
		var row, sum string
		if err := rows.Scan(&m.Stage, &m.Step, &row, &sum); err != nil {
			return err
		}
		if sumOf("", m.Stage, m.Step, row) != sum && damaged == "" {
			damaged = fmt.Sprintf("the metrics of %s step %d are not as they were written", m.Stage, m.Step)
		}
		delete(files.metrics, lineHead{Stage: m.Stage, Step: m.Step})
		return nil
	})
	return damaged, err
}

// missing says which rows of the exports are left.
func missing(files exports) (why []string) {
	if n := len(files.metrics); n > 0 {
		first := lineHead{Step: -1}
		for h := range files.metrics {
			if first.Step < 0 || h.Stage < first.Stage || h.Stage == first.Stage && h.Step < first.Step {
				first = h
			}
		}
		why = append(why, fmt.Sprintf("%s has %s that it lacks, first %s step %d",
			metricsFile, fault.Count(n, "row"), first.Stage, first.Step))
	}
	if n := len(files.trajectories); n > 0 {
		first := ""
		for id := range files.trajectories {
			if first == "" || id < first {
				first = id
			}
		}
		why = append(why,
			fmt.Sprintf("%s has %s that it lacks, such as %s", trajectoriesFile, fault.Count(n, "row"), first))
	}
	return why
}

func less(path string, why []string) error {
	return &fault.Error{Code: fault.CodeError, What: "cannot go on: the run's ledger has less than the files beside it",
		Where: filepath.Join(path, ledgerFile), Why: strings.Join(why, "; ") + "; nothing was changed",
		Next: "put a whole copy of it back; or " + rebuildIt(path)}
}

// putAway moves a damaged ledger to quarantine.
func putAway(path, why string) error {
	moved, err := quarantineLedger(path, why)
	if err != nil {
		return storageError("cannot move the damaged ledger away", path, err)
	}
	var to []string
	for _, q := range moved {
		to = append(to, q.To)
	}
	return &fault.Error{Code: fault.CodeError, What: "cannot go on: the run's ledger is damaged",
		Where: filepath.Join(path, ledgerFile), Why: why + "; moved to " + strings.Join(to, ", "),
		Next: "put a whole copy of it back; or " + rebuildIt(path)}
}

func rebuildIt(path string) string {
	return "hone runs resume " + Name(path) + " --rebuild-ledger makes it again from what it still holds and from " +
		"the files beside it, and keeps it in " + quarantineDir
}

// ledgerFiles are the ledger and what SQLite keeps beside it.
func ledgerFiles() []string { return []string{ledgerFile + "-wal", ledgerFile + "-shm", ledgerFile} }

// quarantineLedger moves the ledger last: a log without it says no less than both.
func quarantineLedger(path, why string) (moved []Quarantined, err error) {
	for _, name := range ledgerFiles() {
		from := filepath.Join(path, name)
		if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		q, err := quarantine(path, from, why)
		if err != nil {
			return moved, err
		}
		moved = append(moved, q)
	}
	return moved, nil
}
