package run

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

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

// Quarantined is a checkpoint that did not verify, where it was moved, and why.
type Quarantined struct {
	From, To string
	Why      string
}

// manifest lists a checkpoint's files, by slash path relative to it.
type manifest struct {
	Files map[string]fileSum `json:"files"`
}

type fileSum struct {
	Size   int64  `json:"size"` // bytes
	SHA256 string `json:"sha256"`
}

// PublishCheckpoint makes checkpoints/<stage>_step_<step> in the run directory dir. write fills a temporary folder;
// then every file is fsynced, the manifest written, and the folder renamed, so a checkpoint is there whole or not at
// all. A step already published and intact is left alone and write is not called: resume is exact, so it would write
// the same again.
func PublishCheckpoint(dir, stage string, step int, write func(tmp string) error) (Checkpoint, error) {
	root := filepath.Join(dir, checkpointsDir)
	c := Checkpoint{stage, step, filepath.Join(root, fmt.Sprintf("%s_step_%d", stage, step))}
	if stage == "" || strings.ContainsAny(stage, `/\`) || step < 0 {
		return c, &fault.Error{Code: fault.CodeError, What: "cannot name a checkpoint", Why: fmt.Sprintf("stage %q, step %d", stage, step)}
	}
	if VerifyCheckpoint(c.Path) == nil {
		return c, nil
	}
	if _, err := os.Lstat(c.Path); err == nil {
		if _, err := quarantine(dir, c.Path, "replaced: it did not verify"); err != nil {
			return c, failed("cannot move a broken checkpoint away", c.Path, err)
		}
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return c, failed("cannot write the checkpoint", c.Path, err)
	}
	tmp := filepath.Join(root, unfinished+filepath.Base(c.Path))
	if err := publish(tmp, c.Path, write); err != nil {
		return c, failed("cannot write the checkpoint", c.Path, errors.Join(err, os.RemoveAll(tmp)))
	}
	return c, nil
}

func publish(tmp, final string, write func(string) error) error {
	if err := os.RemoveAll(tmp); err != nil { // left by a killed process
		return err
	}
	if err := os.Mkdir(tmp, 0o755); err != nil {
		return err
	}
	if err := write(tmp); err != nil {
		return err
	}
	sums, err := sumAndSync(tmp)
	if err != nil {
		return err
	}
	b, err := json.MarshalIndent(manifest{sums}, "", "  ")
	if err != nil {
		return err
	}
	if err := writeFileSync(filepath.Join(tmp, manifestFile), append(b, '\n')); err != nil {
		return err
	}
	if err := os.Rename(tmp, final); err != nil {
		return err
	}
	return syncDir(filepath.Dir(final))
}

// sumAndSync fsyncs every file and folder below dir and returns the files' sums.
func sumAndSync(dir string) (map[string]fileSum, error) {
	sums := map[string]fileSum{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return syncDir(path)
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s is not a regular file", path)
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := f.Sync(); err != nil {
			return err
		}
		sums[filepath.ToSlash(rel)], err = sum(f)
		return err
	})
	return sums, err
}

func sum(r io.Reader) (fileSum, error) {
	h := sha256.New()
	n, err := io.Copy(h, r)
	return fileSum{n, hex.EncodeToString(h.Sum(nil))}, err
}

// VerifyCheckpoint reports why a checkpoint folder is not whole: no manifest, or a file missing or changed.
func VerifyCheckpoint(path string) error {
	b, err := os.ReadFile(filepath.Join(path, manifestFile))
	if err != nil {
		return err
	}
	var m manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return fmt.Errorf("%s: %w", manifestFile, err)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return fmt.Errorf("%s names %q, which lies outside", manifestFile, name)
		}
		f, err := os.Open(filepath.Join(path, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		got, err := sum(f)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		if want := m.Files[name]; got != want {
			return fmt.Errorf("%s: %d bytes with SHA-256 %.12s, but the manifest says %d with %.12s", name, got.Size, got.SHA256, want.Size, want.SHA256)
		}
	}
	return nil
}

// LatestCheckpoint returns the newest checkpoint of a stage that verifies; ok is false where there is none. Newer
// ones that do not verify are moved to quarantine/ and returned, for the caller to tell the user.
func LatestCheckpoint(dir, stage string) (c Checkpoint, ok bool, moved []Quarantined, err error) {
	all, err := Checkpoints(dir, stage)
	if err != nil {
		return c, false, nil, err
	}
	for _, c := range slices.Backward(all) {
		broken := VerifyCheckpoint(c.Path)
		if broken == nil {
			return c, true, moved, nil
		}
		if exhausted(broken) { // too many open files says nothing about the checkpoint
			return c, false, moved, failed("cannot read the checkpoint", c.Path, broken)
		}
		q, err := quarantine(dir, c.Path, broken.Error())
		if err != nil {
			return c, false, moved, failed("cannot move a broken checkpoint away", c.Path, err)
		}
		moved = append(moved, q)
	}
	return Checkpoint{}, false, moved, nil
}

// Checkpoints lists a stage's published checkpoints by step, unverified. Every stage's where stage is "".
func Checkpoints(dir, stage string) ([]Checkpoint, error) {
	root := filepath.Join(dir, checkpointsDir)
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, failed("cannot list the checkpoints", root, err)
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
	slices.SortStableFunc(out, func(a, b Checkpoint) int { return a.Step - b.Step })
	return out, nil
}

// KeepLast deletes all but the newest n checkpoints of a stage. The newest is never deleted.
func KeepLast(dir, stage string, n int) error {
	all, err := Checkpoints(dir, stage)
	if err != nil {
		return err
	}
	for _, c := range all[:max(0, len(all)-max(1, n))] {
		// Renamed first: a kill half-way through the deletion must not leave a folder that looks published.
		tmp := filepath.Join(filepath.Dir(c.Path), unfinished+filepath.Base(c.Path))
		if err := os.RemoveAll(tmp); err != nil {
			return failed("cannot delete an old checkpoint", tmp, err)
		}
		if err := os.Rename(c.Path, tmp); err != nil {
			return failed("cannot delete an old checkpoint", c.Path, err)
		}
		if err := os.RemoveAll(tmp); err != nil {
			return failed("cannot delete an old checkpoint", tmp, err)
		}
	}
	return nil
}

func quarantine(dir, path, why string) (Quarantined, error) {
	root := filepath.Join(dir, quarantineDir)
	if err := os.MkdirAll(root, 0o755); err != nil {
		return Quarantined{}, err
	}
	to := filepath.Join(root, filepath.Base(path))
	for n := 2; ; n++ {
		if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			break
		}
		to = filepath.Join(root, fmt.Sprintf("%s.%d", filepath.Base(path), n))
	}
	if err := os.Rename(path, to); err != nil {
		return Quarantined{}, err
	}
	return Quarantined{path, to, why}, errors.Join(syncDir(filepath.Dir(path)), syncDir(root))
}
