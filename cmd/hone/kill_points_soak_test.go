//go:build soak && !race

// Left out of -race, as resume_test.go says.

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// point is a moment of a run, as what lies in its directory tells it.
type point struct {
	name    string
	reached func() bool
}

// points are named moments of a run of training in dir: while it begins, after each episode, metric and checkpoint, and
// at its end.
func points(dir string) []point {
	there := func(path string) func() bool {
		return func() bool { _, err := os.Lstat(filepath.Join(dir, path)); return err == nil }
	}
	lines := func(file string, n int) func() bool {
		return func() bool {
			text, _ := os.ReadFile(filepath.Join(dir, file))
			return bytes.Count(text, []byte("\n")) >= n
		}
	}
	var all []point
	for _, file := range []string{
		"lock", "config.resolved.yaml", "version.json", "logs/attempt_1", "ledger.db", "metrics.jsonl",
		"trajectories.jsonl", "checkpoints", "checkpoints/.unfinished-grpo_step_3", "checkpoints/grpo_step_3",
		"checkpoints/.unfinished-grpo_step_4", "checkpoints/grpo_step_4", "final", "final/adapter_model.safetensors",
		"final/hone.json", "results.json",
	} {
		all = append(all, point{file + " is there", there(file)})
	}
	for n := range 18 {
		all = append(all, point{fmt.Sprintf("%d episodes are scored", n+1), lines("trajectories.jsonl", n+1)})
	}
	for n := range 6 {
		all = append(all, point{fmt.Sprintf("%d metrics are kept", n+1), lines("metrics.jsonl", n+1)})
	}
	return all
}

// A process that is killed at any of 40 named points, and goes on as a new one, learns the same to the byte. So does
// one that forces calls and holds successes, whose episodes are of two stages.
func TestSoakKilledAtNamedPoints(t *testing.T) {
	for name, more := range map[string]string{
		"plain":          "",
		"explorations":   "explorations: 2, imitation: {rows: 2}, ",
		"demonstrations": "demonstrations: {rows: 2, file: shown.jsonl}, ",
	} {
		t.Run(name, func(t *testing.T) { killedAtPoints(t, more) })
	}
}

func killedAtPoints(t *testing.T, more string) {
	command, env, server := toyRun(t, "train")
	settings := strings.Replace(contents(t, "hone.yaml"), "grpo: {", "grpo: {"+more, 1)
	write(t, "hone.yaml", settings)
	write(t, "shown.jsonl", sayings)
	var said bytes.Buffer
	if code := toyApp(&said, env).main(t.Context(), append(command, "whole")); code != 0 {
		t.Fatalf("exit code %d, %s", code, &said)
	}
	want, reached := result(t, "whole"), 0
	if strings.Contains(more, "explorations") &&
		!strings.Contains(contents(t, "whole/trajectories.jsonl"), `"stage":"grpo_explorations"`) {
		t.Fatal("no call was forced")
	}
	all := points("broken")
	if len(all) < 40 {
		t.Fatalf("%d points", len(all))
	}
	for _, at := range all {
		t.Run(strings.ReplaceAll(at.name, "/", "."), func(t *testing.T) {
			if err := os.RemoveAll("broken"); err != nil {
				t.Fatal(err)
			}
			if killedAt(t, at, env, append(command, "broken")...) {
				reached++
			}
			args := append(command, "broken")
			if _, err := os.Stat("broken/version.json"); err == nil {
				args = []string{"runs", "resume", "./broken", "--mcp", server.url}
			}
			var said bytes.Buffer
			if code := toyApp(&said, env).main(t.Context(), args); code != 0 {
				t.Fatalf("exit code %d, %s", code, &said)
			}
			if got := result(t, "broken"); got != want {
				t.Errorf("it learnt something else; metrics\n%s\nwant\n%s", metricsOf(got), metricsOf(want))
			}
		})
	}
	if !t.Failed() && reached < 40 {
		t.Logf("%d of %d points were met before the process ended", reached, len(all))
	}
}

// killedAt runs hone in a process of its own and kills it at a point; false: it ended before that was seen.
func killedAt(t *testing.T, at point, env map[string]string, args ...string) bool {
	t.Helper()
	child := exec.CommandContext(t.Context(), honeCommand(t), args...)
	child.Env = os.Environ()
	for key, value := range env {
		child.Env = append(child.Env, key+"="+value)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = child.Wait() // "signal: killed" is the point
	}()
	for !at.reached() {
		select {
		case <-ended:
			return false
		case <-time.After(100 * time.Microsecond):
		}
	}
	_ = child.Process.Kill()
	<-ended
	return true
}
