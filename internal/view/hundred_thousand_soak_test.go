//go:build soak

package view

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"hone/internal/run"
)

var keep = flag.String("keep", "", "folder of the run of 100,000 trajectories; made where it is not there, and left")

// Of 100,000 trajectories the index has each, once, and says how long it took and what it holds; in a browser they are
// opened, filtered, scrolled, compared in groups and curated.
func TestSoakHundredThousand(t *testing.T) {
	chromium, tests := browser(t)
	dir := *keep
	if dir == "" {
		dir = filepath.Join(t.TempDir(), "run")
	}
	if _, err := os.Stat(filepath.Join(dir, "trajectories.jsonl")); err != nil { // a kept one serves again
		check(t, made(t, dir, 100_000).Close())
		d, err := run.Open(dir, run.OpenOptions{}) // makes trajectories.jsonl, which is curated
		check(t, err)
		check(t, d.Close())
	}
	check(t, os.RemoveAll(filepath.Join(dir, "trajectories.jsonl.curation.jsonl")))
	l, err := run.LedgerOf(dir)
	check(t, err)
	defer l.Close()
	x, begun := &Index{}, time.Now()
	_, err = x.read(l, func() {})
	check(t, err)
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	t.Logf("the index is read in %v, and the heap is %d MB then", time.Since(begun), memory.HeapAlloc>>20)
	if x.total != 100_000 || len(x.rows) != 100_000 || len(x.Since(0, 1_000_000, Known{}).N) != 100_000 {
		t.Errorf("%d rows of %d", len(x.rows), x.total)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "node", filepath.Join(tests, "many.mjs"), served(t, dir), chromium,
		served(t, dir))
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("%v: %s", err, &said)
	}
}
