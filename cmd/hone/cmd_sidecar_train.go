package main

import (
	"github.com/spf13/cobra"

	"hone/internal/proxy/revise"
	"hone/internal/proxy/sidecar"
	"hone/internal/toolset"
)

func newSidecarTrain(a *app) *cobra.Command {
	o := sidecar.TrainOptions{Weights: revise.DefaultWeights()}
	resume := false
	c := &cobra.Command{
		Use:   "train",
		Short: "Train a sidecar: SFT on revised pairs, then GRPO on its own revisions",
		Long: "train learns from what hone sidecar make-data wrote. --steps, or the keys of sft and grpo, " +
			"say how long. Rewards are of what is called, behind the\n" +
			"fixer; damage to a draft that was right costs more than it could earn. With --mcp-config, " +
			"calls that are not the gold calls are made\n" +
			"on the servers. How much of the drafts is copied is a metric of both stages, and an alarm.",
		Example: "  hone sidecar train --data revisions --output-dir reviser\n" +
			"  hone sidecar train --data revisions --method sft --output-dir baseline\n  hone sidecar train --data " +
			"revisions --mcp-config .mcp.json --judge-model openai/gpt-4o-mini --output-dir reviser",
		Args: arguments(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error {
			if o.Output == "" {
				return noOutput()
			}
			if resume {
				return a.resume(c.Context(), toolset.Source{}, o.Output)
			}
			given, err := a.config()
			if err != nil {
				return err
			}
			return sidecar.Train(c.Context(), a.jobs(given), given, o)
		},
	}
	f := c.Flags()
	a.toolFlags(f, &o.Servers, &o.AllowFindings)
	f.StringVar(&o.Data, "data", "", "folder that make-data wrote")
	f.StringVar(&o.Output, "output-dir", "",
		"run directory; the adapter ends up in its folder final, with sidecar.json")
	f.StringVar(&o.Method, "method", sidecar.MethodBoth, "both, sft or grpo")
	f.StringVar(&o.Base, "base-model", "", "base model: a .gguf file, its folder, or an installed name")
	f.StringVar(&o.Adapter, "adapter", "", "start from this adapter instead of a fresh one")
	f.StringSliceVar(&o.Sources, "sources", nil, "learn from drafts of these sources alone (default all)")
	f.IntVar(&o.Steps, "steps", 0,
		"steps of SFT in place of sft.epochs, and of GRPO (default sft.steps and grpo.steps)")
	f.IntVar(&o.ProbeEvery, "probe-every", 20, "steps of SFT between two looks for copies; 0: none")
	f.Float64Var(&o.Weights.Regression, "regression", o.Weights.Regression,
		"what damage to a right draft earns: a negative number")
	f.BoolVar(&resume, "resume", false, "go on with the run in --output-dir, by what it was begun with")
	judgeFlags(f, &o.Judge)
	a.trainingFlags(f, &o.LoRA)
	return c
}
