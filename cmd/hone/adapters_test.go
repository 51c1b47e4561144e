package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hone/internal/testing/fakes"
)

// All verbs that take an adapter take the same: its folder, the checkpoint that it is of, and the run whose final
// adapter it is.
func TestVerbsTakeARunForItsAdapter(t *testing.T) {
	workFolder(t, map[string]string{
		"hone.yaml": toyConfig, "say.jsonl": oneRow,
		"pairs.jsonl": `{"prompt":"Say a.","chosen":"a","rejected":"z"}` + "\n",
		"tasks.json":  `[{"task":"Count.","split":"train","checks":[{"type":"answer","equals":"42"}]},{"task":"Count on.","split":"test","checks":[{"type":"answer","equals":"42"}]}]`,
	})
	toyModel(t, "toy.gguf")
	revisions(t)
	for file, text := range map[string]string{
		"run/version.json": "{}", "run/final/adapter_config.json": "{",
		"run/checkpoints/grpo_step_1/adapter/adapter_config.json": "{", "run/final/initial_call.json": "{",
		"run/checkpoints/grpo_step_1/adapter/initial_call.json": "{",
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, file, text) // no JSON, which whoever opens the folder says of it
	}
	far := buyer(t)
	for _, verb := range []string{
		"train --dataset tasks.json --output-dir out --adapter ADAPTER",
		"train --dataset tasks.json --output-dir out --base-model toy.gguf --mcp " + flatterer(t) +
			" --allow-findings poll --judge-model ADAPTER",
		"sft --data say.jsonl --output-dir out --adapter ADAPTER",
		"dpo --data pairs.jsonl --output-dir out --adapter ADAPTER",
		"eval --dataset tasks.json --split test --model ADAPTER",
		"eval --dataset tasks.json --split test --mcp " + flatterer(t) +
			" --allow-findings poll --base-model toy.gguf --compare ADAPTER",
		"eval --dataset tasks.json --split test --repeats 20 --calibrate 0.9 --model ADAPTER",
		"eval --dataset tasks.json --split test --mcp " + flatterer(t) + " --allow-findings poll --model " + far +
			"/m --initial-call ADAPTER",
		"chat --model ADAPTER",
		"serve --listen 127.0.0.1:0 --model ADAPTER",
		"serve --listen 127.0.0.1:0 --model mine=ADAPTER",
		"proxy --listen 127.0.0.1:0 --upstream " + far + " --mode initial-call --model ADAPTER",
		"proxy --listen 127.0.0.1:0 --upstream " + far + " --mode sidecar --model ADAPTER",
		"sidecar train --data revisions --output-dir out --adapter ADAPTER",
		"sidecar eval --data revisions --split train --model ADAPTER",
		"sidecar eval --data revisions --split train --hints x=ADAPTER",
		"merge --output-dir out --adapter ADAPTER",
		"inspect logprobs --model toy.gguf --adapter ADAPTER",
		"inspect memory --model toy.gguf --adapter ADAPTER",
	} {
		for given, want := range map[string]string{
			"run":                         "run/final",
			"run/final":                   "run/final",
			"run/checkpoints/grpo_step_1": "run/checkpoints/grpo_step_1/adapter",
		} {
			code, _, said := hone(t, "", strings.Fields(strings.ReplaceAll(verb, "ADAPTER", given))...)
			if code == 0 || !strings.Contains(said, want) || strings.Contains(said, "there is no such") ||
				strings.Contains(said, "has no such") {
				t.Errorf("%s of %s: exit code %d, not of %s: %s", verb, given, code, want, said)
			}
		}
	}
	s := fakes.NewHub(t.TempDir())
	defer s.Close()
	for given, want := range map[string]string{
		"run":                         "run/final",
		"run/checkpoints/grpo_step_1": "run/checkpoints/grpo_step_1/adapter",
	} {
		write(t, want+"/README.md", "A card.")
		var said bytes.Buffer
		a := toyApp(&said, map[string]string{"HF_ENDPOINT": s.URL, "HF_HOME": "home", "HF_TOKEN": "secret",
			"HF_HUB_CACHE": "", "HF_HUB_OFFLINE": ""})
		if code := a.main(t.Context(), []string{"push", given, "--to", "a/b", "--dry-run"}); code != 0 ||
			!strings.Contains(said.String(), "would push "+want+" to the model a/b") {
			t.Errorf("push of %s: exit code %d, %s", given, code, &said)
		}
	}
}

// Verbs that serve an adapter take it by its name on the Hub, with what lies beside its weights.
func TestVerbsTakeAnAdapterOfTheHub(t *testing.T) {
	workFolder(t, map[string]string{"hone.yaml": toyConfig})
	s := fakes.NewHub(t.TempDir())
	defer s.Close()
	// no JSON, which whoever opens it says
	s.Put("model", "ada/shop", map[string]string{"adapter_config.json": "{", "adapter_model.safetensors": "x",
		"initial_call.json": "{", "sidecar.json": "{"})
	for verb, file := range map[string]string{
		"serve --listen 127.0.0.1:0 --model ada/shop": "adapter_config.json",
		"chat --model ada/shop":                       "adapter_config.json",
		"proxy --listen 127.0.0.1:0 --upstream http://127.0.0.1:1/v1 --mode initial-call --deadline 1s --model ada/shop": "initial_call.json",
		"proxy --listen 127.0.0.1:0 --upstream http://127.0.0.1:1/v1 --mode sidecar --model ada/shop":                    "sidecar.json",
	} {
		var said bytes.Buffer
		a := toyApp(&said, map[string]string{"HF_ENDPOINT": s.URL, "HF_HOME": t.TempDir(), "HF_TOKEN": "secret",
			"HF_HUB_CACHE": "", "HF_HUB_OFFLINE": ""})
		code := a.main(t.Context(), strings.Fields(verb))
		if code == 0 || !strings.Contains(said.String(), "models--ada--shop/snapshots/") ||
			!strings.Contains(said.String(), file) {
			t.Errorf("%s: exit code %d, not of %s of what was downloaded: %s", verb, code, file, &said)
		}
	}
}
