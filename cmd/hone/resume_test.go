package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const toyConfig = `rollout: {max_turns: 2, max_tokens: 8}
grpo: {steps: 4, scenarios_per_step: 2, group_size: 2, checkpoint_every: 3}
sft: {lora: {rank: 2}, batch_size: 2, epochs: 2, checkpoint_every: 3}
engine: {slots: 4, backend: go}
`

const sayings = `{"messages":[{"role":"user","content":"Say a."},{"role":"assistant","content":"a"}]}
{"messages":[{"role":"user","content":"Say b."},{"role":"assistant","content":"b"}]}
{"messages":[{"role":"user","content":"Say c."},{"role":"assistant","content":"c"}]}
{"messages":[{"role":"user","content":"Say d."},{"role":"assistant","content":"d"}]}
`

// toyRun is a folder with a toy model, and the commands of a run that --output-dir ends.
func toyRun(t *testing.T, verb string) (command []string, env map[string]string) {
	if verb == "sft" {
		workFolder(t, map[string]string{"hone.yaml": toyConfig, "say.jsonl": sayings})
		toyModel(t, "base/toy.gguf")
		return []string{"sft", "--data", "say.jsonl", "--base-model", "base", "--output-dir"}, nil
	}
	endpoint, _, _ := everything(t, "t")
	workFolder(t, map[string]string{"hone.yaml": toyConfig, "scenarios.json": sums})
	toyModel(t, "base/toy.gguf")
	return []string{"train", "--dataset", "scenarios.json", "--base-model", "base", "--output-dir"},
		map[string]string{"MCP_URL": endpoint, "MCP_BEARER_TOKEN": "t"}
}

func toyApp(stderr interface{ Write([]byte) (int, error) }, env map[string]string) *app {
	a := &app{stdin: strings.NewReader(""), stdout: &bytes.Buffer{}, stderr: stderr, lookupEnv: os.LookupEnv, environ: os.Environ()}
	a.withEnv(env)
	return a
}

// result is all that a run learnt: its adapter, and its metrics but for what depends on the clock.
func result(t *testing.T, dir string) string {
	t.Helper()
	weights, err := os.ReadFile(filepath.Join(dir, "final/adapter_model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return string(weights) + string(metrics)
}

// A run stopped by Ctrl-C after its first step, and one killed later on, go on by name alone to the result of an unbroken
// one; the user's files may be gone by then.
func TestResume(t *testing.T) {
	for _, verb := range []string{"sft", "train"} {
		t.Run(verb, func(t *testing.T) {
			command, env := toyRun(t, verb)
			var said bytes.Buffer
			if code := toyApp(&said, env).main(t.Context(), append(command, "whole")); code != 0 {
				t.Fatalf("exit code %d, %s", code, &said)
			}

			ctx, stop := context.WithCancel(t.Context())
			broken := &stopAfter{line: " 1/4", stop: stop}
			if code := toyApp(broken, env).main(ctx, append(command, "broken")); code != 7 || !strings.Contains(broken.String(), "next:  hone runs resume ./broken") {
				t.Fatalf("stopped: exit code %d, %s", code, broken)
			}
			if _, err := os.Stat("broken/checkpoints/" + stageOf(verb) + "_step_1/manifest.json"); err != nil {
				t.Errorf("the step at hand was not kept: %v", err)
			}
			said.Reset()
			if code := toyApp(&said, env).main(t.Context(), append(command, "broken")); code != 2 || !strings.Contains(said.String(), "already holds a run") {
				t.Errorf("a second run in the same directory: exit code %d, %s", code, &said)
			}
			for _, file := range []string{"say.jsonl", "scenarios.json", "hone.yaml"} {
				_ = os.Remove(file) // one of them is not there
			}
			killed(t, env, "runs", "resume", "./broken")
			delete(env, "MCP_URL") // the run directory keeps it, but not the token
			said.Reset()
			if code := toyApp(&said, env).main(t.Context(), []string{"runs", "resume", "./broken"}); code != 0 {
				t.Fatalf("resumed: exit code %d, %s", code, &said)
			}
			if got, want := result(t, "broken"), result(t, "whole"); got != want {
				t.Errorf("the resumed run learnt something else; metrics\n%s\nwant\n%s", metricsOf(got), metricsOf(want))
			}
		})
	}
}

func metricsOf(result string) string { return result[strings.Index(result, `{"stage"`):] }

func stageOf(verb string) string {
	if verb == "train" {
		return "grpo"
	}
	return verb
}

// killed runs hone in a process of its own and kills it a moment after it has written to the run's ledger.
func killed(t *testing.T, env map[string]string, args ...string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), filepath.Join(t.TempDir(), "hone"), args...)
	if err := os.Symlink(self, child.Path); err != nil {
		t.Fatal(err)
	}
	child.Env = os.Environ()
	for key, value := range env {
		child.Env = append(child.Env, key+"="+value)
	}
	var said bytes.Buffer
	child.Stderr = &said
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	before := numMetrics(t)
	for numMetrics(t) == before {
		time.Sleep(time.Millisecond)
	}
	_ = child.Process.Kill()
	if err := child.Wait(); err == nil {
		t.Errorf("it ended before it could be killed: %s", &said)
	}
}

func numMetrics(t *testing.T) int {
	text, err := os.ReadFile("broken/metrics.jsonl")
	if err != nil {
		return 0 // being made again
	}
	n := 0
	for line := range bytes.Lines(text) {
		if json.Valid(line) {
			n++
		}
	}
	return n
}
