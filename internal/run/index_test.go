package run

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// Runs are known wherever they are, once each, for as long as they are there.
func TestIndex(t *testing.T) {
	index := Index(filepath.Join(t.TempDir(), "state", "runs"))
	if paths, err := index.Paths(); paths != nil || err != nil {
		t.Fatalf("before it is there: %q, %v", paths, err)
	}
	a, b := create(t), create(t)
	var together sync.WaitGroup
	for range 8 {
		for _, d := range []*Dir{a, b} {
			together.Go(func() {
				if err := index.Add(d.Path); err != nil {
					t.Error(err)
				}
			})
		}
	}
	together.Wait()
	must(t, os.WriteFile(filepath.Join(string(index), "README"), []byte("not a path"), 0o600))
	want := []string{a.Path, b.Path}
	slices.Sort(want)
	paths, err := index.Paths()
	must(t, err)
	if !slices.Equal(paths, want) {
		t.Errorf("%q, want %q", paths, want)
	}
	must(t, a.Close())
	must(t, os.RemoveAll(a.Path))
	for range 2 {
		if paths, err = index.Paths(); err != nil || !slices.Equal(paths, []string{b.Path}) {
			t.Errorf("after one was removed: %q, %v", paths, err)
		}
	}
	left, err := os.ReadDir(string(index))
	must(t, err)
	if len(left) != 2 { // the other run, and what is not ours
		t.Errorf("left %v", left)
	}
}
