package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"hone/internal/blob"
	"hone/internal/fault"
)

const (
	checkpointsDir = "checkpoints"
	quarantineDir  = "quarantine"
	manifestFile   = "manifest.json"
	unfinished     = ".unfinished-" // prefix of folders a checkpoint is being written into
)

// Checkpoint is one published checkpoint.
type Checkpoint struct {
	Stage string
	Step  int
	Path  string
}

// Quarantined is a checkpoint that did not verify, or another damaged file: where it was moved, and why.
type Quarantined struct {
	From, To string
	Why      string
}

// PublishCheckpoint makes checkpoints/<stage>_step_<step> in the run directory dir. write fills a temporary folder;
// then every file is fsynced, the manifest written, and the folder renamed, so a checkpoint is there whole or not at
// all. A step already published and intact is left alone and write is not called: resume is exact, so it would write
// the same again.
//
// The ledger gets the manifest's sum before the folder gets its name, so a checkpoint that is there is one it knows.
func (d *Dir) PublishCheckpoint(stage string, step int, write func(tmp string) error) (Checkpoint, error) {
	root := filepath.Join(d.Path, checkpointsDir)
	c := Checkpoint{stage, step, filepath.Join(root, fmt.Sprintf("%s_step_%d", stage, step))}
	if stage == "" || strings.ContainsAny(stage, `/\`) || step < 0 {
		return c, &fault.Error{Code: fault.CodeError, What: "cannot name a checkpoint",
			Why: fmt.Sprintf("stage %q, step %d", stage, step)}
	}
	if d.verify(c) == nil {
		return c, nil
	}
	if _, err := os.Lstat(c.Path); err == nil {
		if _, err := quarantine(d.Path, c.Path, "replaced: it did not verify"); err != nil {
			return c, storageError("cannot move a broken checkpoint away", c.Path, err)
		}
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return c, storageError("cannot write the checkpoint", c.Path, err)
	}
	tmp := filepath.Join(root, unfinished+filepath.Base(c.Path))
	if err := d.publish(tmp, c, write); err != nil {
		return c, storageError("cannot write the checkpoint", c.Path, errors.Join(err, os.RemoveAll(tmp)))
	}
	return c, nil
}

func (d *Dir) publish(tmp string, c Checkpoint, write func(string) error) error {
	if err := errors.Join(os.RemoveAll(tmp), os.Mkdir(tmp, 0o755)); err != nil { // a killed process may have left one
		return err
	}
	if err := write(tmp); err != nil {
		return err
	}
	sums, err := sumAndSync(tmp)
	if err != nil {
		return err
	}
	if len(sums) == 0 {
		return errors.New("it holds no file")
	}
	rows, err := d.Ledger.counts()
	if err != nil {
		return err
	}
	text := manifest{sums, rows}.text()
	if err := writeFileSync(filepath.Join(tmp, manifestFile), text); err != nil {
		return err
	}
	if err := d.Ledger.putCheckpoint(c.Stage, c.Step, blob.Of(text).String()); err != nil {
		return err
	}
	if err := os.Rename(tmp, c.Path); err != nil {
		return err
	}
	return blob.Sync(filepath.Dir(c.Path))
}

// LatestCheckpoint returns the newest checkpoint of a stage that verifies; ok is false where there is none. Newer
// ones that do not verify are moved to quarantine/ and returned, for the caller to tell the user.
func (d *Dir) LatestCheckpoint(stage string) (c Checkpoint, ok bool, moved []Quarantined, err error) {
	all, err := Checkpoints(d.Path, stage)
	if err != nil {
		return c, false, nil, err
	}
	for _, c := range slices.Backward(all) {
		q, broken, err := d.checkOne(c)
		if err != nil || !broken {
			return c, err == nil, moved, err
		}
		moved = append(moved, q)
	}
	return Checkpoint{}, false, moved, nil
}

// CheckStep verifies the checkpoint of a step, and moves it away where it is broken.
func (d *Dir) CheckStep(stage string, step int) (moved Quarantined, broken bool, err error) {
	name := fmt.Sprintf("%s_step_%d", stage, step)
	return d.checkOne(Checkpoint{stage, step, filepath.Join(d.Path, checkpointsDir, name)})
}

func (d *Dir) checkOne(c Checkpoint) (moved Quarantined, broken bool, err error) {
	why := d.verify(c)
	if why == nil {
		return moved, false, nil
	}
	_, ledger := errors.AsType[*fault.Error](why)
	// a ledger that cannot be read, or too many open files, says nothing about the checkpoint
	if ledger || isFull(why) {
		return moved, true, storageError("cannot read the checkpoint", c.Path, why)
	}
	if moved, err = quarantine(d.Path, c.Path, why.Error()); err != nil {
		return moved, true, storageError("cannot move a broken checkpoint away", c.Path, err)
	}
	return moved, true, nil
}

// Checkpoints lists a stage's published checkpoints by step, unverified. Every stage's where stage is "".
func Checkpoints(dir, stage string) ([]Checkpoint, error) {
	root := filepath.Join(dir, checkpointsDir)
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, storageError("cannot list the checkpoints", root, err)
	}
	var out []Checkpoint
	for _, e := range entries {
		i := strings.LastIndex(e.Name(), "_step_")
		if i < 0 || strings.HasPrefix(e.Name(), unfinished) || !e.IsDir() {
			continue
		}
		step, err := strconv.Atoi(e.Name()[i+len("_step_"):])
		if name := e.Name()[:i]; err == nil && (stage == "" || name == stage) {
			out = append(out, Checkpoint{name, step, filepath.Join(root, e.Name())})
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Step < out[j].Step })
	return out, nil
}

// KeepLast deletes all but the newest n checkpoints of a stage, and those of the steps named. The newest is never
// deleted.
func KeepLast(dir, stage string, n int, steps ...int) error {
	all, err := Checkpoints(dir, stage)
	if err != nil {
		return err
	}
	for _, c := range all[:max(0, len(all)-max(1, n))] {
		if slices.Contains(steps, c.Step) {
			continue
		}
		// Renamed first: a kill half-way through the deletion must not leave a folder that looks published.
		tmp := filepath.Join(filepath.Dir(c.Path), unfinished+filepath.Base(c.Path))
		err := os.RemoveAll(tmp)
		if err == nil {
			err = os.Rename(c.Path, tmp)
		}
		if err == nil {
			err = os.RemoveAll(tmp)
		}
		if err != nil {
			return storageError("cannot delete an old checkpoint", c.Path, err)
		}
	}
	return nil
}

func quarantine(dir, path, why string) (Quarantined, error) {
	root := filepath.Join(dir, quarantineDir)
	err := os.MkdirAll(root, 0o755)
	to := filepath.Join(root, filepath.Base(path))
	for n := 2; ; n++ {
		if _, err := os.Lstat(to); err != nil {
			break
		}
		to = filepath.Join(root, fmt.Sprintf("%s.%d", filepath.Base(path), n))
	}
	if err == nil {
		err = os.Rename(path, to)
	}
	if err == nil {
		err = errors.Join(blob.Sync(filepath.Dir(path)), blob.Sync(root))
	}
	return Quarantined{path, to, why}, err
}
