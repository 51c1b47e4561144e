package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"hone/internal/blob"
	"hone/internal/fault"
)

// manifest lists all files of a checkpoint but itself, by slash path relative to it. The ledger holds its SHA-256.
type manifest struct {
	Files map[string]fileSum `json:"files"`
	Rows  counts             `json:"rows"` // of the ledger when the checkpoint was made: it never has fewer
}

type fileSum struct {
	Size   int64  `json:"size"` // bytes
	SHA256 string `json:"sha256"`
}

// counts is how many rows a ledger has.
type counts struct {
	Metrics      int `json:"metrics"`
	Trajectories int `json:"trajectories"`
}

// beyond says that a checkpoint was made of more rows than there are, or "".
func (n counts) beyond(c Checkpoint, have counts) string {
	if n.Metrics <= have.Metrics && n.Trajectories <= have.Trajectories {
		return ""
	}
	return fmt.Sprintf("checkpoint %s was made after %s and %s, the ledger has %d and %d",
		filepath.Base(c.Path), fault.Count(n.Metrics, "step"), fault.Count(n.Trajectories, "trajectory"), have.Metrics,
		have.Trajectories)
}

// text is the manifest as it stands in its file.
func (m manifest) text() []byte {
	text, _ := json.MarshalIndent(m, "", "  ") // strings and numbers always encode
	return append(text, '\n')
}

// sumAndSync fsyncs every file and folder below dir and returns the files' sums.
func sumAndSync(dir string) (map[string]fileSum, error) {
	sums := map[string]fileSum{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return blob.Sync(path)
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s is not a regular file", path)
		}
		sums[slashed(dir, path)], err = sum(path)
		return errors.Join(err, blob.Sync(path))
	})
	return sums, err
}

// slashed is the name of a file below dir, as a manifest has it.
func slashed(dir, path string) string {
	rel, _ := filepath.Rel(dir, path) // both come from one walk
	return filepath.ToSlash(rel)
}

func sum(path string) (fileSum, error) {
	f, err := os.Open(path)
	if err != nil {
		return fileSum{}, err
	}
	s, n, err := blob.SumFrom(f)
	return fileSum{n, s.String()}, errors.Join(err, f.Close())
}

// verify reports why a checkpoint is not whole: its manifest is missing or is not the one that the ledger knows; a file
// is missing or changed, or is there and the manifest does not name it.
func (d *Dir) verify(c Checkpoint) error {
	text, err := os.ReadFile(filepath.Join(c.Path, manifestFile))
	if err != nil {
		return err
	}
	want, err := d.Ledger.checkpoint(c.Stage, c.Step)
	if err != nil {
		return err
	}
	if got := blob.Of(text).String(); got != want {
		return fmt.Errorf("%s has SHA-256 %.12s, but the ledger says %.12s", manifestFile, got, want)
	}
	_, err = verifyFiles(c.Path, text)
	return err
}

// verifyFiles compares a checkpoint's files with its manifest's text.
func verifyFiles(path string, text []byte) (m manifest, err error) {
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("%s: %w", manifestFile, err)
	}
	if len(m.Files) == 0 {
		return m, fmt.Errorf("%s names no file", manifestFile)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return m, fmt.Errorf("%s names %q, which lies outside", manifestFile, name)
		}
		got, err := sum(filepath.Join(path, filepath.FromSlash(name)))
		if err != nil {
			return m, err
		}
		if want := m.Files[name]; got != want {
			return m, fmt.Errorf("%s: %d bytes with SHA-256 %.12s, but the manifest says %d with %.12s",
				name, got.Size, got.SHA256, want.Size, want.SHA256)
		}
	}
	return m, unnamedFile(path, m)
}

// unnamedFile is an error for a file that a manifest does not name.
func unnamedFile(path string, m manifest) error {
	return filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := slashed(path, file)
		if _, named := m.Files[name]; !named && name != manifestFile {
			return fmt.Errorf("%s does not name the file %s", manifestFile, name)
		}
		return nil
	})
}
