package job

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hone/internal/data/overlap"
	"hone/internal/run/metrics"
)

// Without a catalog nobody knows the servers of a split, which is not to be read as none.
func TestServersThatAreNotKnown(t *testing.T) {
	for num, want := range map[int]string{0: "servers of the split: not known; --catalog says", 2: "servers of the split: 2;"} {
		var said strings.Builder
		Overlaps{NumTest: 3, Units: []overlap.Count{{Unit: "tool", Num: 4}, {Unit: "server", Num: num}}}.Tell(func(format string, args ...any) { fmt.Fprintf(&said, format+"\n", args...) })
		if !strings.Contains(said.String(), want) || !strings.Contains(said.String(), "tools of the split: 4;") {
			t.Errorf("%d servers: %s", num, &said)
		}
	}
}

// What took the time of the steps so far is said of steps, and not of the episodes of the next one.
func TestTheBottleneckIsOfSteps(t *testing.T) {
	now := time.Unix(0, 0)
	w := metrics.NewWatch(metrics.Options{Now: func() time.Time { return now }})
	end := w.Begin(metrics.Train)
	now = now.Add(time.Minute)
	end()
	w.Row("sft", 0, map[string]float64{})
	said := map[string]string{}
	progress := (&Track{watch: w}).Progress(func(stage string, _, _ int, note string) { said[stage] = note })
	progress("sft", 1, 2, "loss 1")
	progress("grpo/episodes", 1, 64, "of step 1")
	if said["sft"] != "loss 1  100% of the time so far: train" || said["grpo/episodes"] != "of step 1" {
		t.Errorf("%q", said)
	}
}
