package main

import (
	"strings"
	"testing"
)

// A flag that a verb does not have leads to the key that says it; a flag that was nearly written, to that.
func TestUnknownFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	for flag, want := range map[string]string{
		"train --steps": "set grpo.steps in hone.yaml; hone train --help",
		"train --lr":    "set grpo.optimizer.learning_rate in hone.yaml", "sft --epochs": "set sft.epochs in hone.yaml",
		"train --lora-r": "did you mean --lora-rank?", "train --base-modl": "did you mean --base-model?",
		"train --foo":         "next:  hone train --help",
		"sidecar train --foo": "next:  hone sidecar train --help",
	} {
		if code, _, said := hone(t, "", append(strings.Fields(flag), "2")...); code != 2 ||
			!strings.Contains(said, want) {
			t.Errorf("%s: exit code %d, no %q in %s", flag, code, want, said)
		}
	}
}
