//go:build !race

// Left out of -race, as resume_test.go says.

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/blob"
	"hone/internal/job"
)

// A run that begins with another run's checkpoint is a run of its own: its steps count from 0, the other one stays as
// it is, and version.json says where the adapter comes from. It does not go on once that adapter is another.
func TestForkACheckpoint(t *testing.T) {
	command, env, _ := toyRun(t, "train")
	short := strings.NewReplacer("grpo: {steps: 4", "grpo: {steps: 1", "eval: {every: 3}\n",
		"").Replace(contents(t, "hone.yaml"))
	write(t, "hone.yaml", short+differing(t))
	run := func(want int, args ...string) string {
		t.Helper()
		var said bytes.Buffer
		if code := toyApp(&said, env).main(t.Context(), args); code != want {
			t.Fatalf("%v: exit code %d, %s", args, code, &said)
		}
		return said.String()
	}
	run(0, append(command, "first")...)
	before := contents(t, "first/metrics.jsonl")
	fork := "first/checkpoints/grpo_step_1"
	run(0, "train", "--dataset", "scenarios.json", "--adapter", fork, "--output-dir", "second")

	var b job.Begun
	if err := json.Unmarshal([]byte(contents(t, "second/version.json")), &b); err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs("first")
	if err != nil {
		t.Fatal(err)
	}
	want := job.Origin{Run: here, Identity: blob.Of([]byte(contents(t, "first/version.json"))).String(),
		Checkpoint: "grpo_step_1",
		Weights:    blob.Of([]byte(contents(t, fork+"/adapter/adapter_model.safetensors"))).String()}
	if b.Flags.Origin == nil || *b.Flags.Origin != want || b.Flags.Adapter != filepath.Join(fork, "adapter") {
		t.Errorf("%+v of %s, want %+v", b.Flags.Origin, b.Flags.Adapter, want)
	}
	if n := strings.Count(contents(t, "second/metrics.jsonl"), `"stage":"grpo","step":0`); n != 1 ||
		strings.Contains(contents(t, "second/metrics.jsonl"), `"stage":"grpo","step":1`) {
		t.Errorf("its steps do not count from 0: %s", contents(t, "second/metrics.jsonl"))
	}
	if contents(t, "first/metrics.jsonl") != before {
		t.Error("the first run changed")
	}

	if err := os.Remove("second/results.json"); err != nil { // as if it had been killed before its end
		t.Fatal(err)
	}
	weights := []byte(contents(t, fork+"/adapter/adapter_model.safetensors"))
	weights[len(weights)-1] ^= 1
	if err := os.WriteFile(fork+"/adapter/adapter_model.safetensors", weights, 0o600); err != nil {
		t.Fatal(err)
	}
	if said := run(2, "runs", "resume", "./second"); !strings.Contains(said,
		"the adapter that the run began with is not there as it was") {
		t.Error(said)
	}
	if err := os.RemoveAll(fork); err != nil {
		t.Fatal(err)
	}
	if said := run(2, "runs", "resume", "./second"); !strings.Contains(said, "it is gone") {
		t.Error(said)
	}
}
