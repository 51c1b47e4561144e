package main

import (
	"strings"
	"testing"
)

// A run without a policy gradient learns the likelihood of what passed, and one with a teacher from its opinion, also
// where all episodes earn the same; each says of whom its steps learnt.
func TestOtherSourcesTrain(t *testing.T) {
	url, _ := shop(t)
	tasks := `[{"task": "Say a.", "split": "train", "gold": [{"name": "look", "arguments": {"name": "a"}}],
 "checks": [{"type": "answer", "regex": "[a-m]"}]}, {"task": "Say b.", "split": "train",
 "gold": [{"name": "look", "arguments": {"name": "b"}}], "checks": [{"type": "answer", "regex": "[a-m]"}]}]`
	for name, c := range map[string]struct{ set, wants, metric string }{
		"raft":    {"loss: raft", "raft/episodes", `"gradient_share/episodes":1,`},
		"teacher": {"distillation: {weight: 0.5, until: 1}", "distillation/gap", `"gradient_share/distillation":`},
	} {
		conf := strings.Replace(toyConfig, "grpo: {", "grpo: {"+c.set+", ", 1)
		workFolder(t, map[string]string{"hone.yaml": conf, "tasks.json": tasks})
		toyModel(t, "base/toy.gguf")
		if code, _, said := hone(t, "", "train", "--mcp", url, "--base-model", "base", "--dataset", "tasks.json",
			"--output-dir", "out"); code != 0 || strings.Contains(said, "nothing is learnt") {
			t.Fatalf("%s: exit code %d, %s", name, code, said)
		}
		learnt, shared, moved := 0, 0, 0
		for line := range strings.Lines(contents(t, "out/metrics.jsonl")) {
			if strings.Contains(line, `"stage":"grpo"`) && strings.Contains(line, c.wants) {
				learnt++
				if strings.Contains(line, c.metric) {
					shared++
				}
				if !strings.Contains(line, `"grad_norm":0,`) {
					moved++
				}
			}
		}
		if learnt != 4 || shared == 0 || moved == 0 {
			t.Errorf("%s: %d steps, %d with their share, %d that moved:\n%s",
				name, learnt, shared, moved, contents(t, "out/metrics.jsonl"))
		}
	}
}
