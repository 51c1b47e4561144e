package mcp

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hone/internal/episode/trajectory"
)

// dirOf opens an episode, and returns where its folder is and what Wrap was told.
func dirOf(t *testing.T, p *Pool, id string) (dir string, e *Episode) {
	t.Helper()
	opened, err := p.Open(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	e = opened.(*Episode)
	return e.Dir("s"), e
}

// With Folder, the path of an episode's folder depends on the server and the episode alone, also when it is run again
// or what a killed run left is in its place; the same episode twice at once has two.
func TestEpisodePaths(t *testing.T) {
	folder := t.TempDir()
	stale := filepath.Join(folder, "s", sanitize("a/0/1"))
	if err := os.MkdirAll(filepath.Join(stale, "work"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(stale, "work", "note"), []byte("stale"), 0o600); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	told := map[string]bool{}
	wrap := func(server, folder string, _ *exec.Cmd) error {
		mu.Lock()
		defer mu.Unlock()
		told[folder] = true
		return nil
	}
	p := newPool(t, configOf(t, map[string]Server{"s": self(t, "tools", EpisodeDir)}),
		Options{Folder: folder, Wrap: wrap})
	first, e := dirOf(t, p, "a/0/1")
	if want := filepath.Join(stale, "work"); first != want {
		t.Errorf("the folder is %s, want %s", first, want)
	}
	if r := ask(e, "read", "{}"); r.Status == trajectory.CallOK && r.Text == "stale" {
		t.Error("an episode reads what a killed run left")
	}
	second, other := dirOf(t, p, "a/0/1")
	if second == first || !strings.HasPrefix(second, stale) {
		t.Errorf("the same episode at the same time is in %s", second)
	}
	e.Close()
	other.Close()
	if again, e := dirOf(t, p, "a/0/1"); again != first {
		t.Errorf("run again it is in %s, not %s", again, first)
	} else {
		e.Close()
	}
	if next, e := dirOf(t, p, "a/0/2"); next == first {
		t.Error("two episodes have one path")
	} else {
		e.Close()
	}
	mu.Lock()
	defer mu.Unlock()
	if !told[stale] {
		t.Errorf("Wrap was told %v, not %s", told, stale)
	}
	if left, err := os.ReadDir(filepath.Join(folder, "s")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A server that is not told the path keeps its warm processes, at numbered paths.
func TestNumberedPaths(t *testing.T) {
	p := newPool(t, configOf(t, map[string]Server{
		"s": {Command: self(t, "tools").Command, Args: self(t, "tools").Args, Isolation: PerProcess},
	}),
		Options{Folder: t.TempDir(), Warm: 1})
	for i := range 3 {
		dir, e := dirOf(t, p, fmt.Sprint(i))
		if name := filepath.Base(filepath.Dir(dir)); !strings.HasPrefix(name, "any-") {
			t.Errorf("the folder of a warm process is %s", dir)
		}
		e.Close()
	}
}
