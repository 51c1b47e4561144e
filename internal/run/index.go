package run

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/blob"
)

// Index is a folder that knows where runs are, wherever their folders lie: a file for each, which holds its path.
// Processes may use it at the same time, since none writes another's file.
type Index string

// Add notes a run's directory.
func (i Index) Add(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(string(i), 0o700); err != nil {
		return err
	}
	text := []byte(path + "\n")
	if known, err := os.ReadFile(i.file(path)); err == nil && string(known) == string(text) {
		return nil
	}
	return blob.Write(i.file(path), text, 0o600)
}

func (i Index) file(path string) string {
	return filepath.Join(string(i), blob.Of(path).String()[:16])
}

// Paths are the directories of the runs that are still there, sorted. Those that are gone are forgotten.
func (i Index) Paths() ([]string, error) {
	entries, err := os.ReadDir(string(i))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, storageError("cannot read the list of runs", string(i), err)
	}
	var paths []string
	for _, e := range entries {
		name := filepath.Join(string(i), e.Name())
		text, err := os.ReadFile(name)
		path := strings.TrimSuffix(string(text), "\n")
		if err != nil || name != i.file(path) { // not ours
			continue
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(name) // it is looked for again the next time
			continue
		}
		if isRun(path) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths, nil
}
