//go:build soak

package view

import (
	"bytes"
	"context"
	"flag"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"hone/internal/run"
)

var keep = flag.String("keep", "", "folder in which the run of 100,000 trajectories is made and left")

// Of 100,000 trajectories the index has each, once, and says how long it took; in a browser they are filtered, sorted
// and scrolled.
func TestSoakHundredThousand(t *testing.T) {
	chromium, tests := browser(t)
	dir := *keep
	if dir == "" {
		dir = filepath.Join(t.TempDir(), "run")
	}
	check(t, made(t, dir, 100_000).Close())
	l, err := run.LedgerOf(dir)
	check(t, err)
	defer l.Close()
	x, begun := &Index{}, time.Now()
	_, err = x.read(l, func() {})
	check(t, err)
	t.Logf("the index is read in %v", time.Since(begun))
	if x.total != 100_000 || len(x.rows) != 100_000 || len(x.Since(0, 1_000_000, Known{}).N) != 100_000 {
		t.Errorf("%d rows of %d", len(x.rows), x.total)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "node", filepath.Join(tests, "many.mjs"), served(t, dir), chromium)
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("%v: %s", err, &said)
	}
}
