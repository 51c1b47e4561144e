package main

import (
	"fmt"
	"strings"
	"testing"
)

// Of many training scenarios hone collect --gold leaves some to hone train, and says so.
func TestCollectGoldLeavesSome(t *testing.T) {
	url, _ := shop(t)
	lines := ""
	for i := range 400 {
		lines += fmt.Sprintf(`{"id": "t-%d", "task": "Say %d.", "split": "train", "gold_answer": "%d", "provenance": {"by": "hone synth"}, `+
			`"checks": [{"type": "answer", "equals": "%d"}]}`+"\n", i, i, i, i)
	}
	workFolder(t, map[string]string{"hone.yaml": toyConfig + "scenarios: {file: tasks.jsonl}\n", "tasks.jsonl": lines})
	toyModel(t, "base/toy.gguf")
	code, _, said := hone(t, "", "collect", "--gold", "--yes", "--mcp", url, "--split", "all", "--output-dir", "shown")
	if code != 0 || !strings.Contains(said, "training scenarios are not shown: hone train learns from them") {
		t.Fatalf("exit code %d, %s", code, said)
	}
	if n := strings.Count(contents(t, "shown/trajectories.jsonl"), "\n"); n < 300 || n > 360 {
		t.Errorf("%d of 400 are shown", n)
	}
	if code, _, said := hone(t, "", "sft", "--data", "shown/trajectories.jsonl", "--base-model", "base/toy.gguf",
		"--output-dir", "learnt", "--steps", "1"); code != 0 {
		t.Fatalf("exit code %d, %s", code, said)
	}
	code, _, said = hone(t, "", "train", "--dry-run", "--yes", "--mcp", url, "--adapter", "learnt/final",
		"--output-dir", "better")
	if !strings.Contains(said, "whose solutions the adapter's SFT was shown are left out") {
		t.Errorf("exit code %d, %s", code, said)
	}
}
