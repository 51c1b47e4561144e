package config

import (
	"reflect"
	"strings"
	"testing"
)

// A flag that a verb does not have leads to the key that says it, whoever calls it so, and each such key is one of the
// configuration.
func TestFlagKey(t *testing.T) {
	for asked, want := range map[string]string{
		"train steps": "grpo.steps", "train max-steps": "grpo.steps", "train epochs": "grpo.steps",
		"train num-train-epochs": "grpo.steps", "train learning-rate": "grpo.optimizer.learning_rate",
		"train lr": "grpo.optimizer.learning_rate", "train batch-size": "grpo.scenarios_per_step",
		"train group-size": "grpo.group_size", "train num-generations": "grpo.group_size",
		"train max_completion_length": "rollout.max_tokens", "train temperature": "rollout.temperature",
		"train max-turns": "rollout.max_turns", "train kl-coef": "grpo.kl.beta", "train level": "",
		"train nonsense": "", "sft epochs": "sft.epochs", "sft steps": "sft.steps",
		"sft lr": "sft.optimizer.learning_rate", "sft batch-size": "sft.batch_size",
		"sft per-device-train-batch-size": "sft.batch_size", "sft group-size": "", "dpo epochs": "dpo.epochs",
		"dpo beta": "dpo.beta", "dpo learning-rate": "dpo.optimizer.learning_rate",
		"eval temperature": "eval.temperature", "collect max-turns": "rollout.max_turns", "merge steps": "",
	} {
		verb, flag, _ := strings.Cut(asked, " ")
		if got := flagKey(verb, flag); got != want {
			t.Errorf("hone %s --%s: %q, want %q", verb, flag, got, want)
		}
	}
	for verb, sections := range sectionsOf() {
		for _, section := range sections {
			if !isKey(section) {
				t.Errorf("%s: no section %q", verb, section)
			}
		}
	}
	for verb, keys := range insteadOf() {
		for _, key := range keys {
			if !isKey(key) {
				t.Errorf("%s: no key %q", verb, key)
			}
		}
	}
	if isKey("grpo.step") {
		t.Error("a key that is none is taken for one")
	}
}

func TestMeantFlag(t *testing.T) {
	for flag, want := range map[string][2]string{
		"steps":  {"it is a key of the configuration: grpo.steps", "set grpo.steps in hone.yaml; HELP lists the flags"},
		"lora-r": {"did you mean --lora-rank?", "HELP"}, "base-modl": {"did you mean --base-model?", "HELP"},
		"nonsense": {"", "HELP"},
	} {
		if why, next := NearestFlag("train", flag, []string{"base-model", "lora-rank"}, "HELP"); why != want[0] ||
			next != want[1] {
			t.Errorf("--%s: %q, %q; want %q", flag, why, next, want)
		}
	}
}

// isKey reports whether the configuration has a key, or a section, of a path.
func isKey(path string) bool {
	in := reflect.TypeFor[Config]()
next:
	for part := range strings.SplitSeq(path, ".") {
		if in.Kind() != reflect.Struct {
			return false
		}
		for _, f := range fieldsOf(in) {
			if f.key == part {
				in = f.typ
				continue next
			}
		}
		return false
	}
	return true
}
