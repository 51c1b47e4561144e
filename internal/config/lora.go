package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// LoRA is the shape of the adapter, in PEFT's words.
type LoRA struct {
	Rank          int      `yaml:"rank" min:"1" max:"1024" doc:"rank of the update"`
	Alpha         float64  `yaml:"alpha" min:"0" doc:"the update is scaled by alpha / rank, or alpha / sqrt(rank) with rslora"`
	RSLoRA        bool     `yaml:"rslora" doc:"scale by alpha / sqrt(rank)"`
	Dropout       float64  `yaml:"dropout" min:"0" max:"0.99" doc:"share of each adapter's inputs that a step of SFT leaves out; GRPO, scoring and sampling leave out nothing"`
	TargetModules []string `yaml:"target_modules" doc:"linear maps that get an adapter, by the ends of their paths, as q_proj or layers.0.mlp.up_proj; all-linear is all, and one regex:EXPRESSION those whose whole path it matches"`
	RankPattern   []string `yaml:"rank_pattern" doc:"targets with a rank of their own, as PATTERN=RANK; the first regular expression that fits the end of a path counts"`
	AlphaPattern  []string `yaml:"alpha_pattern" doc:"targets with an alpha of their own, as PATTERN=ALPHA"`
	// TrainableTokens are PEFT's trainable_token_indices, by their texts.
	TrainableTokens TrainableTokens `yaml:"trainable_tokens" doc:"tokens whose rows of the embedding and the head are trained with the adapter: a list, auto for those that the chat template writes and that the base model never learnt, or off"`
}

// TrainableTokens are tokens by their texts; in their place, alone, AutoTokens or NoTokens.
type TrainableTokens []string

// The words that stand alone in TrainableTokens.
const (
	AutoTokens = "auto" // those that the template writes and whose rows were never trained
	NoTokens   = "off"
)

// Is reports whether a word stands in the place of a list.
func (t TrainableTokens) Is(word string) bool { return len(t) == 1 && t[0] == word }

// UnmarshalYAML reads a list, or a word.
func (t *TrainableTokens) UnmarshalYAML(unmarshal func(any) error) error {
	var word string
	if unmarshal(&word) == nil {
		*t = TrainableTokens{word}
		return nil
	}
	var list []string
	err := unmarshal(&list)
	*t = list
	return err
}

// MarshalYAML writes a word as such.
func (t TrainableTokens) MarshalYAML() (any, error) {
	if t.Is(AutoTokens) || t.Is(NoTokens) {
		return t[0], nil
	}
	return []string(t), nil
}

func (t TrainableTokens) check(path string) error {
	if len(t) == 0 {
		return &ValueError{path, "it is empty; " + NoTokens + " is no token"}
	}
	for i, token := range t {
		switch {
		case token == "":
			return &ValueError{path, "a token in it is empty"}
		case len(t) > 1 && (token == AutoTokens || token == NoTokens):
			return &ValueError{path, fmt.Sprintf("%q stands alone, not beside others", token)}
		case slices.Contains(t[:i], token):
			return &ValueError{path, fmt.Sprintf("%q stands in it twice", token)}
		}
	}
	return nil
}

// AllLinear is PEFT's word for all linear maps of the layers.
const AllLinear = "all-linear"

// patternMark begins a regular expression among target modules.
const patternMark = "regex:"

// Targets returns the names of the target modules, or the regular expression; neither where all are targets.
func (l LoRA) Targets() (names []string, pattern string) {
	if len(l.TargetModules) == 1 {
		if l.TargetModules[0] == AllLinear {
			return nil, ""
		}
		if p, ok := strings.CutPrefix(l.TargetModules[0], patternMark); ok {
			return nil, p
		}
	}
	return l.TargetModules, ""
}

// Pattern is an entry of rank_pattern or alpha_pattern.
type Pattern struct {
	Pattern string
	Value   float64
}

// Patterns reads entries PATTERN=NUMBER that Validate has accepted.
func Patterns(entries []string) []Pattern {
	var out []Pattern
	for _, e := range entries {
		p, _ := parsePattern(e)
		out = append(out, p)
	}
	return out
}

// parsePattern cuts at the last "=": a regular expression may hold some.
func parsePattern(entry string) (Pattern, error) {
	i := strings.LastIndexByte(entry, '=')
	if i < 1 {
		return Pattern{}, fmt.Errorf("%q is not PATTERN=NUMBER", entry)
	}
	value, err := strconv.ParseFloat(strings.TrimSpace(entry[i+1:]), 64)
	if err != nil || math.IsNaN(value) || math.IsInf(value, 0) || value < 0 {
		return Pattern{}, fmt.Errorf("%q does not end in a number", entry)
	}
	return Pattern{strings.TrimSpace(entry[:i]), value}, nil
}

func (l LoRA) check(prefix string) error {
	if len(l.TargetModules) == 0 {
		return &ValueError{prefix + "target_modules", "it is empty; " + AllLinear + " is all linear maps"}
	}
	for _, name := range l.TargetModules {
		if name == "" {
			return &ValueError{prefix + "target_modules", "a name in it is empty"}
		}
		if alone := name == AllLinear || strings.HasPrefix(name, patternMark); alone && len(l.TargetModules) > 1 {
			return &ValueError{prefix + "target_modules", fmt.Sprintf("%q stands alone, not beside others", name)}
		}
	}
	for _, e := range l.RankPattern {
		p, err := parsePattern(e)
		if err != nil {
			return &ValueError{prefix + "rank_pattern", err.Error()}
		}
		if p.Value != math.Trunc(p.Value) || p.Value < 1 || p.Value > 1024 {
			return &ValueError{prefix + "rank_pattern", fmt.Sprintf("%q: a rank is a whole number from 1 to 1024", e)}
		}
	}
	for _, e := range l.AlphaPattern {
		if _, err := parsePattern(e); err != nil {
			return &ValueError{prefix + "alpha_pattern", err.Error()}
		}
	}
	return l.TrainableTokens.check(prefix + "trainable_tokens")
}
