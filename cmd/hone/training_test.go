//go:build !race

// Left out of -race for the reason that resume_test.go gives.

package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"hone/internal/fault"
)

// Shapes that the model has no place for are refused before anything is loaded, with the nearest name.
func TestAdapterShapeFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	toyModel(t, "base/toy.gguf")
	toyAdapter(t, "base/toy.gguf", "adapter")
	for name, text := range map[string]string{"hone.yaml": "engine: {backend: go}\n",
		"say.jsonl": `{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}` + "\n"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	command := []string{"sft", "--data", "say.jsonl", "--output-dir", "out"}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--target-modules", "q_prj"}, 2, `did you mean "q_proj"?`},
		{[]string{"--target-modules", "regex:.*q_prj"}, 2, "fits no linear map"},
		{[]string{"--target-modules", "all-linear,q_proj"}, 2, "stands alone"},
		{[]string{"--rank-pattern", "q_proj=x"}, 2, "does not end in a number"},
		{[]string{"--rank-pattern", "q_proj=0.5"}, 2, "a rank is a whole number"},
		{[]string{"--alpha-pattern", "9"}, 2, "is not PATTERN=NUMBER"},
		{[]string{"--rank-pattern", "up_porj=4"}, 2, `did you mean "up_proj"?`},
		{[]string{"--lora-dropout", "1"}, 2, "sft.lora.dropout"},
		{[]string{"--adapter", "adapter", "--rslora"}, 2, "keeps its shape"},
	} {
		args := append(slices.Clone(command), c.args...)
		if !slices.Contains(c.args, "--adapter") {
			args = append(args, "--base-model", "base/toy.gguf")
		}
		code, _, said := hone(t, "", args...)
		if code != c.code || !strings.Contains(said, c.want) {
			t.Errorf("%q: exit code %d, %s", c.args, code, said)
		}
		if _, err := os.Stat("out"); err == nil {
			t.Fatalf("%q: a run was begun", c.args)
		}
	}
	code, _, said := hone(t, "", append(command, "--base-model", "base/toy.gguf", "--target-modules", "regex:.*(q|up)_proj", "--rank-pattern", "q_proj=3",
		"--alpha-pattern", "up_proj=5", "--lora-rank", "2", "--rslora", "--lora-dropout", "0.25")...)
	text, err := os.ReadFile("out/final/adapter_config.json")
	if code != 0 || err != nil {
		t.Fatalf("exit code %d, %v, %s", code, err, said)
	}
	for _, want := range []string{`"target_modules": ".*(q|up)_proj"`, `"q_proj": 3`, `"up_proj": 5`, `"r": 2`, `"use_rslora": true`, `"lora_dropout": 0.25`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("adapter_config.json has no %s: %s", want, text)
		}
	}
	if resolved, err := os.ReadFile("out/config.resolved.yaml"); err != nil || !strings.Contains(string(resolved), "dropout: 0.25") {
		t.Errorf("the run does not keep its flags: %v, %s", err, fmt.Sprintf("%.2000s", resolved))
	}
}

// A run that stops for the device's memory says which key helps, and how it goes on; one that stops for the disk's, does not.
func TestRunStoppedForMemorySaysWhatHelps(t *testing.T) {
	run := &tuning{a: &app{}, path: "out"}
	for next, want := range map[string]string{
		"set engine.micro_batch below 2": "set engine.micro_batch below 2 in out/config.resolved.yaml; then hone runs resume",
		"free space there":               "make room there; then hone runs resume",
	} {
		err := run.ended(context.Background(), "sft", &fault.Error{Code: fault.CodeExhausted, What: "full", Next: next})
		if fault.CodeOf(err) != fault.CodeExhausted || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", next, err)
		}
	}
}
