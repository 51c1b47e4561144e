package main

import (
	"github.com/spf13/pflag"

	"hone/internal/basemodel"
	"hone/internal/job/records"
)

// trainingFlags registers lora's flags of the verbs that begin an adapter, and where their metrics are asked for.
func (a *app) trainingFlags(flags *pflag.FlagSet, l *basemodel.GivenLoRA) {
	flags.StringVar(&a.shownAt, "metrics-address", "", records.AddressUsage)
	flags.StringVar(&a.trainer, "trainer", "",
		"what takes the steps: engine, or tinker for a server of the Tinker API (default trainer.api)")
	flags.StringVar(&a.trainerURL, "url", "", "URL of that server (default trainer.url)")
	l.Given = flags.Changed
	flags.IntVar(&l.Rank, "lora-rank", 0, "rank of the adapter (default the configuration's lora.rank)")
	flags.Float64Var(&l.Alpha, "lora-alpha", 0, "alpha of the adapter (default lora.alpha)")
	flags.BoolVar(&l.RSLoRA, "rslora", false, "scale by alpha / sqrt(rank) (default lora.rslora)")
	flags.Float64Var(&l.Dropout, "lora-dropout", 0,
		"share of the adapter's inputs that SFT leaves out (default lora.dropout)")
	flags.StringSliceVar(&l.TargetModules, "target-modules", nil,
		"linear maps to adapt: names with commas, all-linear, or regex:EXPRESSION (default lora.target_modules)")
	flags.StringArrayVar(&l.RankPattern, "rank-pattern", nil,
		"PATTERN=RANK for some targets, may be repeated (default lora.rank_pattern)")
	flags.StringArrayVar(&l.AlphaPattern, "alpha-pattern", nil,
		"PATTERN=ALPHA for some targets, may be repeated (default lora.alpha_pattern)")
}
