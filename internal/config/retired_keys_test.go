package config

import (
	"strings"
	"testing"
)

// A key that there was is refused with the reason why it is gone. Where it was switched off it is passed over, as runs
// keep it.
func TestRetiredKeysOfGRPO(t *testing.T) {
	for text, want := range map[string]string{
		"grpo: {recoveries: 0}": "",
		"grpo:\n  steps: 3\n  recoveries: 0\n  mask_truncated: false\n  seed: 1\n": `unknown key "grpo.seed"`,
		"grpo: {steps: 3, mask_truncated: false, recoveries: 0}":                   "",
		"grpo:\n  recoveries: 4\n":                                                 "hone has no key grpo.recoveries any more",
		"grpo: {mask_truncated: true}":                                             "no measurement said",
		"sft: {recoveries: 0}":                                                     `unknown key "sft.recoveries"`,
	} {
		c, err := Parse("hone.yaml", []byte(text))
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %q", text, err, want)
		case want == "" && strings.Contains(text, "steps: 3") && c.GRPO.Steps != 3:
			t.Errorf("%q: %d steps", text, c.GRPO.Steps)
		}
	}
}
