package run

import (
	"database/sql"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"time"

	"hone/internal/fault"
)

// Summary is what `hone runs show` prints of a run.
type Summary struct {
	Name        string          `json:"name"`
	Path        string          `json:"path"`
	Created     time.Time       `json:"created"`
	InUseBy     string          `json:"in_use_by,omitempty"` // pid of the process writing it
	NumAttempts int             `json:"num_attempts"`
	Stages      []StageSummary  `json:"stages"`
	Checkpoints []Checkpoint    `json:"checkpoints,omitempty"` // unverified
	Version     json.RawMessage `json:"version,omitempty"`
}

// StageSummary is one stage of a Summary, in the order the stages were first put.
type StageSummary struct {
	Name            string          `json:"name"`
	Status          string          `json:"status,omitempty"` // empty where the stage only left rows
	NumTrajectories int             `json:"num_trajectories"`
	NumSteps        int             `json:"num_steps"`
	LastMetric      json.RawMessage `json:"last_metric,omitempty"`
	StageEnd
}

// StageEnd is what the row of a stage that trained holds once it has ended.
type StageEnd struct {
	FinalStep int `json:"final_step,omitempty"` // steps taken by the adapter in final; 0: not known
}

// Listed is one entry of List: a run's summary, or why it could not be read.
type Listed struct {
	Summary
	Err error `json:"-"`
}

// List summarises the runs under root and those at the other paths, newest first, each once. A folder with neither a
// ledger nor a version.json is not a run. One that cannot be read is listed with its Err, so that one broken run does
// not hide the others.
func List(root string, others ...string) ([]Listed, error) {
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, storageError("cannot list the runs", root, err)
	}
	var paths []string
	for _, e := range entries {
		paths = append(paths, filepath.Join(root, e.Name()))
	}
	seen := map[string]bool{}
	var out []Listed
	for _, path := range append(paths, others...) {
		if absolute, err := filepath.Abs(path); err == nil {
			if seen[absolute] {
				continue
			}
			seen[absolute] = true
		}
		if !isRun(path) {
			continue
		}
		s, err := Summarize(path)
		out = append(out, Listed{s, err})
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Created.After(out[j].Created) })
	return out, nil
}

// isRun reports whether a folder holds a run, be it one whose ledger is in quarantine.
func isRun(path string) bool {
	for _, name := range []string{ledgerFile, versionFile} {
		if _, err := os.Stat(filepath.Join(path, name)); err == nil {
			return true
		}
	}
	return false
}

// Summarize reads a run, also while another process is writing it.
func Summarize(path string) (Summary, error) {
	s := Summary{Name: filepath.Base(path), Path: path}
	info, err := os.Stat(filepath.Join(path, configFile)) // written once, so its time is the run's
	if err != nil {
		return s, &fault.Error{Code: fault.CodeUsage, What: "no run there", Where: path, Err: err, Next: "hone runs ls"}
	}
	s.Created = info.ModTime()
	if s.InUseBy, err = InUse(path); err != nil {
		return s, storageError("cannot read the run", path, err)
	}
	attempts, _ := fs.Glob(os.DirFS(path), logsDir+"/attempt_*") // the pattern is one
	s.NumAttempts = len(attempts)
	if b, err := os.ReadFile(filepath.Join(path, versionFile)); err == nil && json.Valid(b) {
		s.Version = b
	}
	if s.Checkpoints, err = Checkpoints(path, ""); err != nil {
		return s, err
	}
	ledger := filepath.Join(path, ledgerFile)
	if _, err := os.Stat(ledger); errors.Is(err, fs.ErrNotExist) {
		return s, &fault.Error{Code: fault.CodeError, What: "the run's ledger is not there", Where: ledger,
			Next: "hone runs resume " + Name(path) + " says what can be done"}
	}
	l, err := ReadLedger(ledger)
	if err != nil {
		return s, err
	}
	defer l.Close()
	s.Stages, err = l.summarize()
	return s, err
}

// summarize returns the stages that were put, then those that only trajectories or metrics name.
func (l *Ledger) summarize() ([]StageSummary, error) {
	return query(l, scanSummary, `
		WITH t AS (SELECT stage, count(*) AS n FROM trajectories GROUP BY stage),
		     m AS (SELECT stage, count(*) AS n, max(step) AS last FROM metrics GROUP BY stage),
		     names AS (SELECT name, rowid AS place FROM stages
		               UNION ALL SELECT stage, 1000000 FROM (SELECT stage FROM t UNION SELECT stage FROM m)
		               WHERE stage NOT IN (SELECT name FROM stages))
		SELECT names.name, coalesce(s.status, ''), coalesce(t.n, 0), coalesce(m.n, 0), coalesce(last.json, ''),
			coalesce(s.json, '')
		FROM names LEFT JOIN stages s ON s.name = names.name LEFT JOIN t ON t.stage = names.name
		LEFT JOIN m ON m.stage = names.name LEFT JOIN metrics last ON last.stage = names.name AND last.step = m.last
		ORDER BY names.place, names.name`)
}

func scanSummary(rows *sql.Rows) (s StageSummary, err error) {
	var last, end string
	err = rows.Scan(&s.Name, &s.Status, &s.NumTrajectories, &s.NumSteps, &last, &end)
	if last != "" {
		s.LastMetric = json.RawMessage(last)
	}
	if json.Unmarshal([]byte(end), &s.StageEnd) != nil {
		s.StageEnd = StageEnd{} // a row of another form
	}
	return s, err
}
