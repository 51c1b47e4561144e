//go:build !race

package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/engine"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/testing/tinkertest"
)

// tinker is a server of the Tinker API with the toy, whose losses are means over rows of means over tokens.
func tinker(t *testing.T, base string) (*tinkertest.Server, model.Spec) {
	t.Helper()
	file, err := modelfile.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Open(engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close(); _ = file.Close() })
	spec, weights, err := basemodel.Loader(config.Engine{})(e, file)
	if err != nil {
		t.Fatal(err)
	}
	return tinkertest.New(t, tinkertest.Options{Engine: e, Spec: spec, Weights: weights, Context: 1024,
		Scale: func(tokens, rows, _ int) float64 { return float64(tokens * rows) }}), spec
}

// sft and dpo learn at a server what they learn on the engine.
func TestTinkerLearnsWhatTheEngineLearns(t *testing.T) {
	for verb, data := range map[string]string{"sft": sayings, "dpo": preferences} {
		t.Run(verb, func(t *testing.T) {
			workFolder(t, map[string]string{"data.jsonl": data, "hone.yaml": toyConfig + `dpo: {batch_size: 2, epochs: 2}
seed: 6
`})
			toyModel(t, "base/toy.gguf")
			server, spec := tinker(t, "base/toy.gguf")
			var adapters [][]float32
			for _, out := range []string{"here", "there"} {
				args := []string{verb, "--data", "data.jsonl", "--base-model", "base", "--output-dir", out}
				if out == "there" {
					args = append(args, "--trainer", "tinker", "--url", server.URL)
				}
				var said bytes.Buffer
				if code := toyApp(&said, nil).main(t.Context(), args); code != 0 {
					t.Fatalf("%s: exit code %d, %s", out, code, &said)
				}
				_, flat, err := model.LoadPEFT(out+"/final", spec)
				if err != nil {
					t.Fatal(err)
				}
				adapters = append(adapters, flat)
			}
			moved, apart := 0., 0.
			for i, x := range adapters[0] {
				apart = max(apart, math.Abs(float64(x)-float64(adapters[1][i])))
				moved = max(moved, math.Abs(float64(x)))
			}
			if apart > 1e-4 || moved < 1e-3 {
				t.Errorf("the adapters are %v apart, and have numbers up to %v", apart, moved)
			}
			if n := server.Models(); n != 0 {
				t.Errorf("%d adapters are left at the server", n)
			}
			if said := server.Asked["asample"]; verb == "sft" && said != 4 {
				t.Errorf("the server said %d first turns of the 4 rows", said)
			}
		})
	}
}

// A run at a server that is stopped, and killed, goes on to the result of an unbroken one, though the server has lost
// its sessions meanwhile.
func TestTinkerResume(t *testing.T) {
	for _, verb := range []string{"sft", "train"} {
		t.Run(verb, func(t *testing.T) {
			command, env, mcp := toyRun(t, verb)
			server, _ := tinker(t, "base/toy.gguf")
			settings := strings.Replace(contents(t, "hone.yaml"), "checkpoint_every: 3}", "checkpoint_every: 1}", 2)
			if verb == "train" {
				settings = strings.Replace(settings, "steps: 4", "steps: 3", 1)
			}
			write(t, "hone.yaml", settings+fmt.Sprintf("trainer: {api: tinker, url: %q, slots: 2}\n", server.URL))
			var said bytes.Buffer
			if code := toyApp(&said, env).main(t.Context(), append(command, "whole")); code != 0 {
				t.Fatalf("exit code %d, %s", code, &said)
			}
			if want := "mean over rows of the mean over their tokens"; !strings.Contains(said.String(), want) {
				t.Errorf("it does not say %q: %s", want, &said)
			}
			ctx, stop := context.WithCancel(t.Context())
			line := map[string]string{"sft": " 1/4", "train": " 1/3"}[verb]
			broken := &once{line: line, do: stop}
			if code := toyApp(broken, env).main(ctx, append(command, "broken")); code != 7 {
				t.Fatalf("stopped: exit code %d, %s", code, broken)
			}
			if n := server.Models(); n != 0 {
				t.Errorf("%d adapters are left at the server", n)
			}
			resume := []string{"runs", "resume", "./broken"}
			killed(t, env, resume...)
			server.Forget()
			if verb == "train" {
				resume = append(resume, "--mcp", mcp.url)
			}
			said.Reset()
			if code := toyApp(&said, env).main(t.Context(), resume); code != 0 {
				t.Fatalf("resumed: exit code %d, %s", code, &said)
			}
			if verb == "train" {
				adaptersOfSteps(t, "broken")
			}
			if got, want := result(t, "broken"), result(t, "whole"); got != want {
				t.Errorf("the resumed run learnt something else; metrics\n%s\nwant\n%s",
					metricsOf(got), metricsOf(want))
			}
			if n := server.Models(); n != 0 {
				t.Errorf("%d adapters are left at the server", n)
			}
		})
	}
}

// What the API cannot do is refused by its key, before the server is asked and a run begins.
func TestTinkerRefusals(t *testing.T) {
	command, env, _ := toyRun(t, "train")
	server, _ := tinker(t, "base/toy.gguf")
	settings := contents(t, "hone.yaml") + fmt.Sprintf("trainer: {api: tinker, url: %q}\n", server.URL)
	for key, change := range map[string][2]string{
		"lora.alpha":          {"lora: {", "lora: {alpha: 16, "},
		"lora.rslora":         {"lora: {", "lora: {rslora: true, "},
		"lora.dropout":        {"lora: {", "lora: {dropout: 0.1, "},
		"lora.target_modules": {"lora: {", "lora: {target_modules: [q_proj], "},
		"lora.rank_pattern":   {"lora: {", "lora: {rank_pattern: [q_proj=4], "},
		"lora.alpha_pattern":  {"lora: {", "lora: {alpha_pattern: [q_proj=4], "},
		"engine.moments":      {"engine: {", "engine: {moments: 8bit, "},
		"sampler.url":         {"seed: 0", "sampler: {url: \"http://127.0.0.1:1/v1\"}"},
		"rollout.temperature": {"rollout: {", "rollout: {temperature: 0.8, "},
		"grpo.entropy":        {"grpo: {", "grpo: {entropy: {coefficient: 0.1}, "},
		"grpo.top_entropy":    {"grpo: {", "grpo: {top_entropy: 0.5, "},
		"grpo.keep_tokens":    {"grpo: {", "grpo: {keep_tokens: 1, "},
		"grpo.staleness":      {"grpo: {", "grpo: {staleness: 1, "},
		"grpo.explorations":   {"grpo: {", "grpo: {explorations: 1, imitation: {rows: 1}, "},
		"eval.min_p":          {"eval: {", "eval: {min_p: 0.1, temperature: 1, "},
		"--adapter":           {}, "--num-gpus": {},
	} {
		args := append(slices.Clone(command), "out")
		write(t, "hone.yaml", settings)
		switch {
		case key == "--num-gpus":
			args = append(args, key, "1")
		case key == "--adapter":
			toyAdapter(t, "base/toy.gguf", "adapter")
			args = append(args, key, "adapter")
		default:
			write(t, "hone.yaml", strings.Replace("seed: 0\n"+settings, change[0], change[1], 1))
		}
		server.Asked = map[string]int{}
		var said bytes.Buffer
		code := toyApp(&said, env).main(t.Context(), args)
		if code != 2 || !strings.Contains(said.String(), "where: "+key+"\n") || exists("out") || len(server.Asked) > 0 {
			t.Errorf("%s: exit code %d, the server was asked %v, %s", key, code, server.Asked, &said)
		}
	}
	var said bytes.Buffer
	write(t, "hone.yaml", settings)
	server.Tell(func(path string) int { // a server whose steps do nothing
		return map[string]int{"training_runs/model-2/checkpoints/probe/archive": 404}[path]
	})
	if code := toyApp(&said, env).main(t.Context(), append(command, "out")); code != 1 || exists("out") ||
		!strings.Contains(said.String(), "gives no archive") {
		t.Errorf("without archives: exit code %d, %s", code, &said)
	}
	for args, want := range map[string]string{"--trainer tinker": "trainer.url", "--url http://x": "trainer.api",
		"--trainer other": "trainer.api"} {
		if err := os.WriteFile("hone.yaml", []byte(toyConfig), 0o644); err != nil {
			t.Fatal(err)
		}
		said.Reset()
		all := append(append(slices.Clone(command), "out"), strings.Fields(args)...)
		if code := toyApp(&said, env).main(t.Context(), all); code != 2 || !strings.Contains(said.String(), want) {
			t.Errorf("%s: exit code %d, %s", args, code, &said)
		}
	}
}

// A server that does not bound gradients is refused by the key that asks for it, and trained at without it.
func TestTinkerWithoutABound(t *testing.T) {
	workFolder(t, map[string]string{"hone.yaml": toyConfig, "say.jsonl": sayings})
	toyModel(t, "base/toy.gguf")
	server, _ := tinker(t, "base/toy.gguf")
	server.IgnoresBound = true
	command := []string{"sft", "--data", "say.jsonl", "--base-model", "base", "--trainer", "tinker",
		"--url", server.URL, "--output-dir"}
	var said bytes.Buffer
	if code := toyApp(&said, nil).main(t.Context(), append(command, "out")); code != 2 || exists("out") ||
		!strings.Contains(said.String(), "set sft.optimizer.max_grad_norm: 0") {
		t.Errorf("exit code %d, %s", code, &said)
	}
	write(t, "hone.yaml", strings.Replace(toyConfig, "sft: {", "sft: {optimizer: {max_grad_norm: 0}, ", 1))
	said.Reset()
	if code := toyApp(&said, nil).main(t.Context(), append(command, "out")); code != 0 {
		t.Errorf("exit code %d, %s", code, &said)
	}
	said.Reset()
	if code := toyApp(&said, nil).main(t.Context(), append(command, "dry", "--dry-run")); code != 0 || exists("dry") ||
		!strings.Contains(said.String(), "would take 4 steps") {
		t.Errorf("a dry run: exit code %d, %s", code, &said)
	}
}
