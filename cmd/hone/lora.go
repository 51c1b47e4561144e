package main

import (
	"github.com/spf13/pflag"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/fault"
)

// loraFlags are lora's on the command line of the verbs that begin an adapter.
type loraFlags struct {
	rank    int
	alpha   float64
	rslora  bool
	dropout float64
	targets []string
	ranks   []string
	alphas  []string
	flags   *pflag.FlagSet
}

func (f *loraFlags) register(flags *pflag.FlagSet) {
	f.flags = flags
	flags.IntVar(&f.rank, "lora-rank", 0, "rank of the adapter (default the configuration's lora.rank)")
	flags.Float64Var(&f.alpha, "lora-alpha", 0, "alpha of the adapter (default lora.alpha)")
	flags.BoolVar(&f.rslora, "rslora", false, "scale by alpha / sqrt(rank) (default lora.rslora)")
	flags.Float64Var(&f.dropout, "lora-dropout", 0, "share of the adapter's inputs that SFT leaves out (default lora.dropout)")
	flags.StringSliceVar(&f.targets, "target-modules", nil, "linear maps to adapt: names with commas, all-linear, or regex:EXPRESSION (default lora.target_modules)")
	flags.StringArrayVar(&f.ranks, "rank-pattern", nil, "PATTERN=RANK for some targets, may be repeated (default lora.rank_pattern)")
	flags.StringArrayVar(&f.alphas, "alpha-pattern", nil, "PATTERN=ALPHA for some targets, may be repeated (default lora.alpha_pattern)")
}

// apply puts the flags that were given over the configuration. The shape of an adapter to start from is its own; that of
// a fresh one must fit the base model.
func (f *loraFlags) apply(a *app, c *config.Config, adapter string) error {
	l := &c.LoRA
	given := ""
	for name, set := range map[string]func(){
		"lora-rank": func() { l.Rank = f.rank }, "lora-alpha": func() { l.Alpha = f.alpha }, "rslora": func() { l.RSLoRA = f.rslora },
		"target-modules": func() { l.TargetModules = f.targets }, "rank-pattern": func() { l.RankPattern = f.ranks },
		"alpha-pattern": func() { l.AlphaPattern = f.alphas },
	} {
		if f.flags.Changed(name) {
			given = "--" + name
			set()
		}
	}
	if given != "" && adapter != "" {
		return &fault.Error{Code: fault.CodeUsage, What: "an adapter to start from keeps its shape", Where: given + " with --adapter " + adapter,
			Next: "leave out one of the two"}
	}
	if f.flags.Changed("lora-dropout") {
		l.Dropout = f.dropout
	}
	if err := c.Validate(); err != nil {
		return &fault.Error{Code: fault.CodeUsage, What: "the adapter's shape is not valid", Err: err, Next: "hone config schema describes each key under lora"}
	}
	if adapter != "" {
		return nil
	}
	return basemodel.CheckLoRA(a.Host, *c)
}
