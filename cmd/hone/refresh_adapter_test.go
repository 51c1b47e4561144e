//go:build !race

// Left out of -race for the reason that resume_test.go gives.

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// One command brings scenarios and an adapter up to date: it is measured on the scenarios that a change touches, and
// trained on from where it was.
func TestRefreshTrainsOn(t *testing.T) {
	rows := `[{"id": "a", "task": "Greet.", "split": "train", "gold": [{"name": "says", "arguments": {"language": "it"}}], "checks": [{"type": "call", "name": "says", "arguments": {"language": "it"}}], "provenance": {"by": "hone synth", "tools": {"says": "0"}, "servers": {"bank": "1"}}},
 {"id": "b", "task": "Greet in French.", "split": "train", "gold": [{"name": "says", "arguments": {"language": "fr"}}], "checks": [{"type": "call", "name": "says", "arguments": {"language": "fr"}}], "provenance": {"by": "hone synth", "tools": {"says": "0"}, "servers": {"bank": "1"}}}]`
	workFolder(t, map[string]string{
		"bank.py": strings.Replace(bankPython, "NEW = False", "NEW = True", 1), "old.json": rows,
		"hone.yaml": toyConfig + fewTools,
		"mcp.json":  `{"mcpServers": {"bank": {"command": "python3", "args": ["bank.py"], "isolation": "shared"}}}`,
	})
	toyModel(t, "base/toy.gguf")
	toyAdapter(t, "base/toy.gguf", "adapter")
	args := []string{"refresh", "--mcp-config", "mcp.json", "--dataset", "old.json", "--out", "new.json",
		"--adapter", "adapter"}
	if code, _, said := hone(t, "", args...); code != 2 || !strings.Contains(said, "--output-dir") {
		t.Errorf("%d\n%s", code, said)
	}
	code, stdout, said := hone(t, "", append(args, "--train", "--output-dir", "runs")...)
	// The toy never calls a tool, so training says that nothing was learnt, and what follows is left out.
	if code != 3 || !strings.Contains(stdout, "holds") || !strings.Contains(said, "nothing was learnt") {
		t.Fatalf("%d\n%s%s", code, stdout, said)
	}
	for _, name := range []string{"before/trajectories.jsonl", "trained/final/adapter_model.safetensors"} {
		if info, err := os.Stat(filepath.Join("runs", name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	before, err := os.ReadFile("adapter/adapter_model.safetensors")
	after, err2 := os.ReadFile("runs/trained/final/adapter_model.safetensors")
	if err != nil || err2 != nil || len(before) != len(after) {
		t.Errorf("the adapter has another shape: %v %v, %d bytes and %d", err, err2, len(before), len(after))
	}
}
