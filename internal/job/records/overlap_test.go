package records

import (
	"fmt"
	"strings"
	"testing"

	"hone/internal/data/overlap"
)

// Without a catalog nobody knows the servers of a split, which is not to be read as none.
func TestServersThatAreNotKnown(t *testing.T) {
	for num, want := range map[int]string{
		0: "servers of the split: not known; --catalog says",
		2: "servers of the split: 2;",
	} {
		var said strings.Builder
		Overlaps{NumTest: 3, Units: []overlap.Count{
			{Unit: "tool", Num: 4},
			{Unit: "server", Num: num},
		}}.Tell(func(format string, args ...any) { fmt.Fprintf(&said, format+"\n", args...) })
		if !strings.Contains(said.String(), want) || !strings.Contains(said.String(), "tools of the split: 4;") {
			t.Errorf("%d servers: %s", num, &said)
		}
	}
}
