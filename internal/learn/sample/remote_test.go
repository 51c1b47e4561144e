package sample_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hone/internal/learn/sample"
)

// forgetful is a server that notes what it is to load and to forget.
type forgetful struct{ loaded, unloaded []string }

func (s *forgetful) SetFolder(name, _ string, _ int) error {
	s.loaded = append(s.loaded, name)
	return nil
}
func (s *forgetful) Serves(name string) (bool, error) { return slices.Contains(s.loaded, name), nil }
func (s *forgetful) Unload(name string) error {
	s.unloaded = append(s.unloaded, name)
	return nil
}

// saved is a source that writes a file for an adapter.
type saved struct{ fake }

func (saved) PolicyVersion() int { return 3 }
func (saved) SaveAdapter(dir string) error {
	return os.MkdirAll(dir, 0o700)
}

// Runs may share the folder of adapters: one that begins takes away what a killed process of its own left there, and
// nothing of another, which may be sampled from.
func TestRunsShareAFolderOfAdapters(t *testing.T) {
	root, server := filepath.Join(t.TempDir(), "of [two"), &forgetful{} // a name that is no pattern
	begin := func(run string) *sample.Remote {
		x, err := sample.NewRemote(server, root, "", run)
		if err == nil {
			err = x.Take(saved{fake{sums: []uint64{7}}})
		}
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	begin("1234")
	begin("12")
	first := server.loaded[0]
	if _, err := os.Stat(filepath.Join(root, first)); err != nil || len(server.unloaded) > 0 {
		t.Errorf("another run: %v, unloaded %q", err, server.unloaded)
	}
	begin("1234") // again
	if _, err := os.Stat(filepath.Join(root, first)); !os.IsNotExist(err) ||
		!slices.Equal(server.unloaded, []string{first}) {
		t.Errorf("the same run: %v, unloaded %q", err, server.unloaded)
	}
	if left, err := os.ReadDir(root); err != nil || len(left) != 2 ||
		slices.Contains(server.loaded[:2], server.loaded[2]) {
		t.Errorf("%v left, %v; loaded %q", left, err, server.loaded)
	}
}
