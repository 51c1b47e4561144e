package config

import (
	"reflect"
	"strings"
	"testing"
)

func TestLoRAIsRead(t *testing.T) {
	c, err := Parse("f", []byte(`lora: {dropout: 0.1, target_modules: ['regex:.*\.(q|v)_proj'], rank_pattern: ["q_proj=8", '(?=x)k=2=4'], alpha_pattern: ["v_proj = 0.5"]}
sft:
  optimizer: {schedule: cosine, warmup: 0, beta2: 0.999, weight_decay: 0.01}
engine: {moments: 8bit}
`))
	if err != nil {
		t.Fatal(err)
	}
	l := c.LoRA
	names, pattern := l.Targets()
	if names != nil || pattern != `.*\.(q|v)_proj` || l.Dropout != 0.1 || c.Engine.Moments != "8bit" ||
		c.SFT.Optimizer.Schedule != "cosine" {
		t.Errorf("%q %q %+v", names, pattern, c.SFT)
	}
	if got, want := Patterns(l.RankPattern), []Pattern{{"q_proj", 8}, {"(?=x)k=2", 4}}; !reflect.DeepEqual(got, want) {
		t.Errorf("ranks %v, want %v", got, want)
	}
	if got := Patterns(l.AlphaPattern); len(got) != 1 || got[0] != (Pattern{"v_proj", 0.5}) {
		t.Errorf("alphas %v", got)
	}
	if names, pattern := Default().LoRA.Targets(); names != nil || pattern != "" {
		t.Errorf("by default %q %q", names, pattern)
	}
	if names, pattern := (LoRA{TargetModules: []string{"q_proj", "up_proj"}}).Targets(); len(names) != 2 ||
		pattern != "" {
		t.Errorf("names are %q %q", names, pattern)
	}
}

func TestTrainableTokensAreRead(t *testing.T) {
	for src, want := range map[string]TrainableTokens{
		"{}": {AutoTokens}, "{trainable_tokens: auto}": {AutoTokens}, "{trainable_tokens: off}": {NoTokens},
		"{trainable_tokens: [off]}":                {NoTokens},
		"{trainable_tokens: [<tool_call>, 'a b']}": {"<tool_call>", "a b"},
	} {
		c, err := Parse("f", []byte("lora: "+src+"\n"))
		if err != nil || !reflect.DeepEqual(c.LoRA.TrainableTokens, want) {
			t.Errorf("%s: %q, %v", src, c.LoRA.TrainableTokens, err)
			continue
		}
		text, err := c.YAML()
		again, parseErr := Parse("f", text)
		if err != nil || parseErr != nil || !reflect.DeepEqual(again.LoRA, c.LoRA) {
			t.Errorf("%s: written and read again: %+v, %v, %v", src, again.LoRA, err, parseErr)
		}
	}
}

func TestLoRAIsRefused(t *testing.T) {
	for src, why := range map[string]string{
		"target_modules: []":                     "it is empty",
		`target_modules: [q_proj, ""]`:           "a name in it is empty",
		"target_modules: [all-linear, q_proj]":   "stands alone",
		"target_modules: ['regex:.*', q_proj]":   "stands alone",
		"rank_pattern: [q_proj]":                 "is not PATTERN=NUMBER",
		"rank_pattern: ['=4']":                   "is not PATTERN=NUMBER",
		"rank_pattern: [q_proj=0]":               "whole number from 1 to 1024",
		"rank_pattern: [q_proj=2.5]":             "whole number",
		"alpha_pattern: [q_proj=NaN]":            "does not end in a number",
		"alpha_pattern: [q_proj=-1]":             "does not end in a number",
		"dropout: 1":                             "above 0.99",
		"dropouts: 0.1":                          `did you mean "dropout"?`,
		"rank_pattern: {q_proj: 4}":              "",
		"trainable_tokens: []":                   "off is no token",
		"trainable_tokens: [auto, <s>]":          `"auto" stands alone`,
		"trainable_tokens: [<s>, <s>]":           "twice",
		`trainable_tokens: [""]`:                 "is empty",
		"trainable_tokens: {a: b}":               "takes auto, off or a list of texts, not a mapping",
		"target_modules: [q_proj], rank: 100000": "above 1024",
	} {
		_, err := Parse("f", []byte("lora: {"+src+"}\n"))
		if err == nil || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), "f:1:") {
			t.Errorf("%s: %v, want %q", src, err, why)
		}
	}
	for _, src := range []string{
		"schedule: cosin", "warmup: 1.5", "beta1: 1", "beta2: 0", "epsilon: 0", "weight_decay: -1",
	} {
		if _, err := Parse("f", []byte("grpo: {optimizer: {"+src+"}}\n")); err == nil {
			t.Errorf("%s is accepted", src)
		}
	}
}
