package config

import (
	"errors"
	"testing"
)

// Settings of GRPO that contradict each other, or would act nowhere, are refused by their key.
func TestObjectivesThatCannotBe(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		key    string // "": none is refused
	}{
		"the defaults":                    {func(*Config) {}, ""},
		"a dual clip":                     {func(c *Config) { c.GRPO.ClipDual = 3 }, ""},
		"a dual clip inside of the clip":  {func(c *Config) { c.GRPO.ClipDual = 1.28 }, "grpo.clip_dual"},
		"a dual clip of CISPO":            {func(c *Config) { c.GRPO.ClipDual, c.GRPO.Loss = 3, "cispo" }, "grpo.clip_dual"},
		"a lower bound above the upper":   {func(c *Config) { c.GRPO.Correction.Low = 3 }, "grpo.correction.low"},
		"no weight at all":                {func(c *Config) { c.GRPO.Correction.High = 0 }, "grpo.correction.high"},
		"a loss there is not":             {func(c *Config) { c.GRPO.Loss = "ppo" }, "grpo.loss"},
		"IcePop":                          {func(c *Config) { c.GRPO.Correction = Correction{"token", "mask", 0.5, 5} }, ""},
		"overlong shaping":                {func(c *Config) { c.Rewards.Overlong = Overlong{-1, 512, 100} }, ""},
		"overlong shaping without limit":  {func(c *Config) { c.Rewards.Overlong = Overlong{-1, 0, 100} }, "rewards.overlong.limit"},
		"overlong shaping without buffer": {func(c *Config) { c.Rewards.Overlong = Overlong{-1, 512, 0} }, "rewards.overlong.buffer"},
		"a buffer above the limit":        {func(c *Config) { c.Rewards.Overlong = Overlong{-1, 512, 513} }, "rewards.overlong.buffer"},
		"a reward for length":             {func(c *Config) { c.Rewards.Overlong = Overlong{1, 512, 100} }, "rewards.overlong.weight"},
	} {
		x := Default()
		c.change(&x)
		err := x.Validate()
		var v *ValueError
		if errors.As(err, &v); (v == nil) != (c.key == "") || v != nil && v.Path != c.key {
			t.Errorf("%s: %v, want %q refused", name, err, c.key)
		}
	}
}
