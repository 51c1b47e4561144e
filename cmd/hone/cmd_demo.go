package main

import (
	"context"

	"github.com/spf13/cobra"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/demo"
)

func newDemo(a *app) *cobra.Command {
	numGPUs, fit := 0, demo.Fit{}
	c := &cobra.Command{
		Use:   "demo",
		Short: "Run the whole loop, small, on this machine: discover, scenarios, SFT, GRPO, evaluation, report",
		Long: "demo trains SmolLM2-135M-Instruct on tools of " + demo.Package + ` and measures it on held-out tasks:
discover, scenarios executed on the live server, base evaluation, SFT on executed traces, GRPO on live rollouts,
evaluation on the test split, report.html, and one line of JSON (on a terminal: --json). Behind the set-up it
does as much as fits into --minutes, and says what it measured and chose. A stopped demo goes on with
hone runs resume.`,
		Example: "  hone demo\n  hone demo --json --seed 7",
		Args:    arguments(0, 0, ""),
		RunE: a.withConfig(func(ctx context.Context, c config.Config) error {
			if err := basemodel.OnGPUs(&c, numGPUs); err != nil {
				return err
			}
			return demo.Run(ctx, a.jobs(c), c, fit)
		}),
	}
	c.Flags().IntVar(&numGPUs, "num-gpus", 0, numGPUsUsage)
	c.Flags().Float64Var(&fit.Minutes, "minutes", 8, "how long it may take after set-up: tasks, "+
		"rows and steps are chosen from what the first episodes and rows took")
	c.Flags().BoolVar(&fit.Full, "full", false,
		"all kinds of task, and the sizes that docs/LEARNING.md was measured with: half an hour on two quiet cores")
	a.sandboxFlag(c.PersistentFlags())
	c.AddCommand(movedCommand("learn", "hone-learn", "make extras builds it"))
	return c
}
