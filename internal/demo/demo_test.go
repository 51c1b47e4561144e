package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"hone/internal/config"
	"hone/internal/console/sanitize"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/run"
)

// The stages of a demo are those of other verbs with the same configuration, but for SFT's checkpoints.
func TestPipeline(t *testing.T) {
	c := config.Default()
	c.Seed, c.SFT.Epochs, c.GRPO.Steps, c.GRPO.ClipHigh, c.GRPO.Optimizer.Epsilon, c.Rollout.Temperature =
		7, 5, 11, 0.31, 0.0017, 0.71
	got := PipelineOf(c, 0.5)
	sft := job.SFTOf(c)
	if sft.CheckpointEvery = got.SFT.CheckpointEvery; !reflect.DeepEqual(got.SFT, sft) || got.SFT.CheckpointEvery != 5 {
		t.Errorf("%+v, want %+v", got.SFT, sft)
	}
	if want := job.GRPOOf(c, 0.5); !reflect.DeepEqual(got.GRPO, want) || got.GRPO.MaxMismatch != 0.5 {
		t.Errorf("%+v, want %+v", got.GRPO, want)
	}
}

// A demo says where it is and how it goes on as it begins, and once more where it is stopped.
func TestDemoSaysHowItGoesOn(t *testing.T) {
	t.Chdir(t.TempDir())
	dir, err := run.Create("out", nil, job.Begun{Verb: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	h := &host.Host{Talk: sanitize.New(&said), LookupEnv: func(string) (string, bool) { return "", false }}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	err = demo{Env: job.Env{Host: h}, c: config.Default(), dir: dir}.finish(stopped)
	if fault.CodeOf(err) != fault.CodeStopped || !strings.Contains(err.Error(), "hone runs resume ./out") ||
		!strings.Contains(said.String(), "hone runs resume ./out then goes on with it") {
		t.Errorf("%v; it said %s", err, &said)
	}
}

// The tasks of a demo are among the sums of its run, also where a kill came between the two: one that was edited does
// not go on.
func TestTasksAreSummed(t *testing.T) {
	dir, err := run.Create(filepath.Join(t.TempDir(), "out"), nil, job.Begun{Verb: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	made := Tasks{Size: Size{Demonstrations: 1, Train: 2, Test: 3}}
	text, err := json.Marshal(made)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir.Path, "tasks.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, ok, err := LoadTasks(dir, made.Size); err != nil || !ok || got.Size != made.Size {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Open(dir.Path, run.OpenOptions{}); fault.CodeOf(err) != fault.CodeUsage ||
		!strings.Contains(fmt.Sprint(err), "tasks.json had SHA-256 ") {
		t.Errorf("edited: %v", err)
	}
}
