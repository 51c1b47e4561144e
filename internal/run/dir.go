// Package run keeps what a run leaves behind: its directory, its ledger and its checkpoints.
//
//	runs/<name>/
//	  lock                  held by the one process that writes; names its pid
//	  config.resolved.yaml  the configuration in force, written once
//	  version.json          what built it, and the sums of the configuration and the inputs; written once
//	  ledger.db             the truth (SQLite); everything below can be made again from it
//	  metrics.jsonl         one line per (stage, step)
//	  trajectories.jsonl    one line per trajectory
//	  logs/attempt_N        one log per process that opened the run
//	  checkpoints/<stage>_step_N/   complete only if manifest.json is the one that the ledger knows, and verifies
//	  quarantine/           checkpoints that did not verify, and other files that were damaged, under their names
//
// Rows are opaque JSON here: what a trajectory or a metric is, other packages know.
package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"hone/internal/blob"
	"hone/internal/fault"
)

const (
	lockFile         = "lock"
	configFile       = "config.resolved.yaml"
	versionFile      = "version.json"
	ledgerFile       = "ledger.db"
	metricsFile      = "metrics.jsonl"
	trajectoriesFile = "trajectories.jsonl"
	logsDir          = "logs"
)

// Dir is a run directory open for writing by this process alone. Its methods may be called from many goroutines.
type Dir struct {
	Path    string   // the directory itself
	Attempt int      // 1 for the process that created the run, +1 each time it was opened again
	Log     *os.File // logs/attempt_N
	Ledger  *Ledger
	Notes   []string // what Open had to mend, for the user

	lock         *os.File
	metrics      *lines
	trajectories *lines
	stale        atomic.Bool // rows were replaced, which the two files do not show
}

// Create makes a new run directory at path. It refuses a path that already holds anything (exit code 2): two runs
// never share a directory. config is YAML text, version is encoded as JSON. inputs are written beside them: what the
// run is to go on with when it is opened again, whatever becomes of the user's files.
//
// version.json, which has the sums of all these files, is written last, so a kill leaves a run, or what Create takes
// for an empty directory.
func Create(path string, config []byte, version any, inputs ...Input) (*Dir, error) {
	if err := Free(path); err != nil {
		return nil, err
	}
	if err := makePrivate(path); err != nil {
		err = storageError("cannot create the run directory", path, err)
		if f, ok := errors.AsType[*fault.Error](err); ok && f.Next == "" {
			f.Next = "name a directory that can be written"
		}
		return nil, err
	}
	lock, err := acquire(path)
	if err != nil {
		return nil, err
	}
	sums := map[string]string{configFile: blob.Of(config).String()}
	for _, in := range inputs {
		sums[in.Name] = blob.Of(in.Data).String()
	}
	versionJSON, err := versionText(version, sums)
	if err == nil {
		err = Free(path) // another process may have begun and ended a run meanwhile
	}
	if err == nil {
		err = writeFileSync(filepath.Join(path, configFile), config)
	}
	for _, in := range inputs {
		if err == nil {
			err = writeFileSync(filepath.Join(path, in.Name), in.Data)
		}
	}
	if err == nil {
		err = writeFileSync(filepath.Join(path, versionFile), versionJSON)
	}
	if err != nil {
		lock.Close()
		return nil, storageError("cannot write the run's configuration", path, err)
	}
	return open(path, lock)
}

// makePrivate makes a folder that its user alone may read: tasks, tool results and a server's flags can hold secrets.
// What is above it is as folders are.
func makePrivate(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Chmod(path, 0o700) // also where it was there, empty
}

// Input is a file that a run keeps from its beginning. Name holds no path.
type Input struct {
	Name string
	Data []byte
}

// Free is nil where a run may begin: nothing is there, or only what a Create that was killed left behind. Else it is a
// *fault.Error with exit code 2.
func Free(path string) error {
	entries, err := os.ReadDir(path)
	if errors.Is(err, syscall.ENOTDIR) {
		return &fault.Error{Code: fault.CodeUsage, What: "cannot create the run directory", Where: path, Err: err,
			Next: "name a directory that is not there, such as " + Beside(path)}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return storageError("cannot create the run directory", path, err)
	}
	foreign := map[string]bool{}
	for _, e := range entries {
		foreign[e.Name()] = true
	}
	why := "it is not empty and holds no run"
	if foreign[versionFile] || foreign[ledgerFile] {
		why = "it already holds a run"
	} else if foreign[lockFile] && foreign[configFile] {
		return nil
	}
	delete(foreign, lockFile)
	delete(foreign, configFile+".tmp")
	if len(foreign) == 0 {
		return nil
	}
	return &fault.Error{Code: fault.CodeUsage, What: "cannot create the run directory", Where: path, Why: why,
		Next: "name another directory, such as " + Beside(path)}
}

// Beside is a directory beside path that is not there: out-2 for out, out-3 where there is an out-2.
func Beside(path string) string {
	stem := filepath.Clean(path)
	if strings.Trim(filepath.Base(stem), "./") == "" { // no name to number
		stem = filepath.Join(stem, "run")
	}
	for n := 2; ; n++ {
		name := stem + "-" + strconv.Itoa(n)
		if _, err := os.Lstat(name); err != nil {
			return name
		}
	}
}

// OpenOptions say what is done about a run that is not as it was left.
type OpenOptions struct {
	AcceptEdits   bool // take files that were edited since the run began as they are now
	RebuildLedger bool // make a ledger again that is damaged or has less than the files beside it
}

// Open opens an existing run to continue it. Where another process holds it, the error names that process's pid
// (exit code 2). A run whose inputs were edited is refused, and so is one whose ledger is damaged or has less than the
// files beside it, unless o says otherwise. The JSON-lines exports are made again from the ledger, since a kill may
// have torn their last line. What was mended is in the Dir's Notes.
func Open(path string, o OpenOptions) (*Dir, error) {
	if _, err := os.Stat(filepath.Join(path, versionFile)); err != nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot open the run", Where: path, Err: err,
			Next: "hone runs ls lists the runs; one that was stopped before it began is begun again by its own command"}
	}
	lock, err := acquire(path)
	if err != nil {
		return nil, err
	}
	notes, err := settle(path, o)
	if err != nil {
		_ = lock.Close() // the first error counts
		return nil, err
	}
	d, err := open(path, lock)
	if err == nil {
		d.Notes = notes
	}
	return d, err
}

// settle finds out whether a run is as it was left, and does about it what o says. Only whoever holds the lock may call
// it.
func settle(path string, o OpenOptions) (notes []string, err error) {
	edited, err := checkInputs(path, o.AcceptEdits)
	if err != nil {
		return nil, err
	}
	damaged, err := judge(path)
	if err != nil && o.RebuildLedger {
		if notes, err = rebuildLedger(path); err == nil {
			damaged, err = judge(path)
		}
	}
	notes = append(edited, notes...)
	if err != nil {
		return notes, err
	}
	for _, d := range damaged {
		q, err := quarantine(path, filepath.Join(path, d.name), d.String())
		if err != nil {
			return notes, storageError("cannot move a damaged file away", filepath.Join(path, d.name), err)
		}
		notes = append(notes, fmt.Sprintf("%s; it was moved to %s and is made again from the ledger", q.Why, q.To))
	}
	return notes, nil
}

func open(path string, lock *os.File) (*Dir, error) {
	d := &Dir{Path: path, lock: lock}
	if err := d.openParts(); err != nil {
		return nil, storageError("cannot open the run", path, errors.Join(err, d.Close()))
	}
	return d, nil
}

func (d *Dir) openParts() error {
	var err error
	if d.Log, d.Attempt, err = nextLog(filepath.Join(d.Path, logsDir)); err != nil {
		return err
	}
	if d.Ledger, err = OpenLedger(filepath.Join(d.Path, ledgerFile)); err != nil {
		return err
	}
	if err := d.export(); err != nil {
		return err
	}
	return blob.Sync(d.Path)
}

// export makes the JSON-lines files again from the ledger and leaves them open for appending.
func (d *Dir) export() error {
	for _, f := range []struct {
		lines **lines
		name  string
		each  func(yield func(json.RawMessage) error) error
	}{{&d.metrics, metricsFile, d.Ledger.eachMetric}, {&d.trajectories, trajectoriesFile, d.Ledger.eachScoredLine}} {
		made, err := rebuild(filepath.Join(d.Path, f.name), f.each)
		if err != nil {
			return err
		}
		if *f.lines != nil {
			_ = (*f.lines).close() // its file has just been replaced
		}
		*f.lines = made
	}
	return nil
}

// Close closes all files and releases the lock.
func (d *Dir) Close() error {
	var errs []error
	if d.stale.Load() {
		errs = append(errs, d.export())
	}
	for _, f := range []*lines{d.metrics, d.trajectories} {
		if f != nil {
			errs = append(errs, f.close())
		}
	}
	if d.Ledger != nil {
		errs = append(errs, d.Ledger.Close())
	}
	if d.Log != nil {
		errs = append(errs, d.Log.Close())
	}
	if d.lock != nil {
		errs = append(errs, d.lock.Close()) // closing releases the flock
	}
	return errors.Join(errs...)
}

// Config returns config.resolved.yaml as it was written.
func (d *Dir) Config() ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(d.Path, configFile))
	return b, storageError("cannot read the run's configuration", d.Path, err)
}

// PutMetric stores the metrics of one step in the ledger, then appends them to metrics.jsonl. A step put again (after
// a resume) replaces the ledger's row; the file is put right when the run is closed, or next opened.
func (d *Dir) PutMetric(stage string, step int, row json.RawMessage) error {
	again, err := d.Ledger.hasMetric(stage, step)
	if err != nil {
		return err
	}
	if again {
		d.stale.Store(true)
	}
	if err := d.Ledger.PutMetric(stage, step, row); err != nil {
		return err
	}
	return d.metrics.append(metricLine(stage, step, row))
}

// PutTrajectory stores a trajectory in the ledger, unless its id is there.
func (d *Dir) PutTrajectory(t TrajectoryRow) (added bool, err error) {
	return d.Ledger.PutTrajectory(t)
}

// ReplaceTrajectory stores a trajectory in the place of the one with its id, and forgets its score; trajectories.jsonl
// is put right when the run is closed, or next opened.
func (d *Dir) ReplaceTrajectory(t TrajectoryRow) error {
	d.stale.Store(true)
	return d.Ledger.ReplaceTrajectory(t)
}

// PutScores stores what trajectories of the ledger earned, all or none, then appends them to trajectories.jsonl. One
// that is scored again replaces the ledger's row; the file is put right when the run is closed, or next opened.
func (d *Dir) PutScores(scores []ScoreRow) error {
	again, err := d.Ledger.PutScores(scores)
	if err != nil {
		return err
	}
	if again {
		d.stale.Store(true)
	}
	for _, s := range scores {
		t, ok, err := d.Ledger.Trajectory(s.ID)
		if err == nil && !ok {
			err = &fault.Error{Code: fault.CodeError, What: "there is no trajectory " + s.ID + " to score",
				Where: d.Path}
		}
		if err != nil {
			return err
		}
		line, err := trajectoryLine(t)
		if err != nil {
			return err
		}
		if err := d.trajectories.append(line); err != nil {
			return err
		}
	}
	return nil
}

// Name is a run directory as `hone runs` takes it: a bare name would be one of a run in the folder of runs.
func Name(path string) string {
	if filepath.Base(path) == path {
		return "." + string(filepath.Separator) + path
	}
	return path
}

// nextLog opens logs/attempt_N for the first N not taken.
func nextLog(dir string) (*os.File, int, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, 0, err
	}
	for n := 1; ; n++ {
		f, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf("attempt_%d", n)),
			os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			return f, n, err
		}
	}
}

// FreeFolder is a name that nothing in the working folder has, for a command that can be run as it is printed: the one
// given, or with a number behind it.
func FreeFolder(name string) string {
	free := name
	for n := 2; ; n++ {
		if _, err := os.Lstat(free); err != nil {
			return free
		}
		free = fmt.Sprintf("%s-%d", name, n)
	}
}
