package config

import (
	"errors"
	"strings"
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

		"overlap":             {func(c *Config) { c.GRPO.Staleness = 1 }, ""},
		"two policies behind": {func(c *Config) { c.GRPO.Staleness = 2 }, "grpo.staleness"},
		"overlap with pools":  {func(c *Config) { c.GRPO.Staleness, c.GRPO.Pools.SkipSolved = 1, 0.5 }, "grpo.staleness"},

		"overlap with GSPO": {func(c *Config) { c.GRPO.Staleness, c.GRPO.Loss = 1, "gspo" }, "grpo.staleness"},
		"overlap with GSPO, corrected": {func(c *Config) {
			c.GRPO.Staleness, c.GRPO.Loss, c.GRPO.Correction.Level = 1, "gspo", "sequence"
		}, ""},
		"GSPO": {func(c *Config) { c.GRPO.Loss = "gspo" }, ""},

		"RAFT":                  {func(c *Config) { c.GRPO.Loss, c.GRPO.Imitation.Rows = "raft", 16 }, ""},
		"RAFT with divergence":  {func(c *Config) { c.GRPO.Loss, c.GRPO.KL.Beta = "raft", 0.1 }, "grpo.kl.beta"},
		"RAFT with a teacher":   {func(c *Config) { c.GRPO.Loss, c.GRPO.Distillation.Weight = "raft", 1 }, "grpo.distillation.weight"},
		"RAFT with corrections": {func(c *Config) { c.GRPO.Loss, c.GRPO.Correction.Level = "raft", "token" }, "grpo.correction.level"},
		"RAFT with few tokens":  {func(c *Config) { c.GRPO.Loss, c.GRPO.TopEntropy = "raft", 0.5 }, "grpo.top_entropy"},
		"RAFT by turns":         {func(c *Config) { c.GRPO.Loss, c.GRPO.Credit.Level = "raft", "turn" }, "grpo.credit.level"},
		"RAFT with dropout":     {func(c *Config) { c.GRPO.Loss, c.LoRA.Dropout = "raft", 0.1 }, "lora.dropout"},
		"a teacher":             {func(c *Config) { c.GRPO.Distillation.Weight = 0.1 }, ""},
		"a teacher for no step": {func(c *Config) { c.GRPO.Distillation.Until = 0 }, "grpo.distillation.until"},

		"a sampler that must agree to the bit": {func(c *Config) { c.Sampler.URL, c.Sampler.MaxMismatch = "http://x", 0 }, "sampler.max_mismatch"},
		"a sampler":                            {func(c *Config) { c.Sampler.URL = "http://x" }, ""},
		"a bonus for entropy":                  {func(c *Config) { c.GRPO.Entropy.Coefficient = 0.01 }, ""},
		"one that cannot adapt":                {func(c *Config) { c.GRPO.Entropy = Entropy{Target: 0.1} }, "grpo.entropy.delta"},
		"a fifth of the tokens":                {func(c *Config) { c.GRPO.TopEntropy = 0.2 }, ""},
		"no token to be learnt from":           {func(c *Config) { c.GRPO.TopEntropy = 0 }, "grpo.top_entropy"},
		"more tokens than there can be":        {func(c *Config) { c.GRPO.TopEntropy = 1.1 }, "grpo.top_entropy"},

		"expressions": {expressions("mine", "(terms.checks ?? 0) / turns", -1), ""},
		"only expressions": {func(c *Config) {
			c.Rewards = Rewards{Economy: c.Rewards.Economy, Program: c.Rewards.Program,
				Expressions: ofOne("mine", "turns", 1)}
		}, ""},
		"an expression that earns nothing": {func(c *Config) {
			c.Rewards = Rewards{Economy: c.Rewards.Economy, Program: c.Rewards.Program,
				Expressions: ofOne("mine", "turns", 0)}
		}, "rewards.checks"},
		"a formula that is a text":            {expressions("mine", "answer", 1), "rewards.expressions.mine.formula"},
		"no formula":                          {expressions("mine", "", 1), "rewards.expressions.mine.formula"},
		"an expression like another term":     {expressions("judge", "1", 1), "rewards.expressions.judge"},
		"an expression with a strange name":   {expressions("My term", "1", 1), "rewards.expressions"},
		"an expression of too great a weight": {expressions("mine", "1", 1001), "rewards.expressions.mine.weight"},
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

func ofOne(name, formula string, weight float64) map[string]Expression {
	return map[string]Expression{name: {formula, weight}}
}

func expressions(name, formula string, weight float64) func(*Config) {
	return func(c *Config) { c.Rewards.Expressions = ofOne(name, formula, weight) }
}

// A formula that cannot be computed is shown with its place in the file.
func TestBadFormulasAreShown(t *testing.T) {
	_, err := Parse("hone.yaml",
		[]byte("rewards:\n  expressions:\n    mine: {formula: \"1 - terms.repeat\", weight: 0.5}\n"))
	if err == nil || !strings.Contains(err.Error(),
		"rewards.expressions.mine.formula: not every episode has the term repeat: write (terms.repeat ?? 0)") ||
		!strings.Contains(err.Error(), "hone.yaml:3:21") {
		t.Error(err)
	}
}
