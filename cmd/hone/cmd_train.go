package main

import (
	"context"

	"github.com/spf13/cobra"

	"hone/internal/fault"
	"hone/internal/job/train"
	"hone/internal/toolset"
)

// Flags have the names that users of other trainers know.
func newTrain(a *app) *cobra.Command {
	var f train.Asked
	var servers toolset.Source
	resume := false
	c := &cobra.Command{
		Use:   "train",
		Short: "Train an adapter by GRPO on live rollouts, rewarded by the scenarios' checks",
		Example: "  MCP_URL=http://127.0.0.1:3000/mcp hone train --dataset scenarios.json --base-model " +
			"SmolLM2-135M-Instruct --output-dir out\n" +
			"  hone train --mcp-config .mcp.json --dataset scenarios.json --adapter out/final --output-dir out2",
		Args: arguments(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error { return runTrain(c.Context(), a, f, servers, resume) },
	}
	a.toolFlags(c.Flags(), &servers, &f.AllowFindings)
	c.Flags().StringVar(&f.Dataset, "dataset", "", "scenarios file (default the configuration's)")
	c.Flags().StringVar(&f.Base, "base-model", "", "base model: a .gguf file, its folder, or an installed name")
	c.Flags().StringVar(&f.Adapter, "adapter", "", "start from this adapter instead of a fresh one")
	c.Flags().StringVar(&f.Output, "output-dir", "", "run directory; the adapter ends up in its folder final")
	judgeFlags(c.Flags(), &f.Judge)
	c.Flags().IntVar(&f.NumGPUs, "num-gpus", 0, numGPUsUsage)
	c.Flags().BoolVar(&f.SkipBad, "skip-bad", false,
		"leave out scenarios that cannot be read, or whose checks cannot pass or cannot fail")
	c.Flags().BoolVar(&resume, "resume", false, "go on with the run in --output-dir, by what it was begun with")
	a.trainingFlags(c.Flags(), &f.LoRA)
	return c
}

const numGPUsUsage = "GPUs to use: n is engine.backend: cuda and engine.devices: n; 0 leaves both to the configuration"

func runTrain(ctx context.Context, a *app, f train.Asked, from toolset.Source, resume bool) error {
	if f.Output == "" {
		return noOutput()
	}
	if resume {
		return a.resume(ctx, from, f.Output)
	}
	c, err := a.config()
	if err != nil {
		return err
	}
	return train.RunGRPO(ctx, a.jobs(c), c, f, from)
}

func noOutput() error {
	return &fault.Error{Code: fault.CodeUsage, What: "no output folder", Next: "name one with --output-dir"}
}
