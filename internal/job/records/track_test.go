package records

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/run"
	"hone/internal/run/metrics"
)

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

// A run says what it is at before its first step ends, which may take minutes also where it is resumed, and nothing
// when it is over.
func TestARunIsHeardOf(t *testing.T) {
	dir, err := run.Create(t.TempDir()+"/run", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	var said bytes.Buffer
	synctest.Test(t, func(*testing.T) {
		e := job.Env{Host: &host.Host{Talk: sanitize.New(&said), Still: &host.Still{}}}
		track := StartTracking(e, config.Metrics{}, dir, Tracked{Main: "sft"})
		time.Sleep(31 * time.Second)
		track.Close(nil)
		time.Sleep(time.Hour)
	})
	if strings.Count(said.String(), "still running sft, for 30s\n") != 1 || strings.Count(said.String(), "\n") != 1 {
		t.Errorf("it says %s", &said)
	}
}
