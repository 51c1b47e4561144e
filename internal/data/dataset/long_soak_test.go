//go:build soak

package dataset

import "testing"

// A line of 1 GiB is refused under the bound that there is by default. A buffer that grows by a quarter at a time up to
// the bound allocates five times the bound on its way.
func TestSoakLineOfOneGiB(t *testing.T) { longRow(t, 1<<30, mostBytes, 6*mostBytes) }
