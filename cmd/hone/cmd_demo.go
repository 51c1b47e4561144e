package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/demo"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/study"
	"hone/internal/toolset"
)

func newDemo(a *app) *cobra.Command {
	numGPUs, fit := 0, study.Fit{}
	c := &cobra.Command{
		Use:   "demo",
		Short: "Run the whole loop, small, on this machine: discover, scenarios, SFT, GRPO, evaluation, report",
		Long: "demo trains SmolLM2-135M-Instruct on tools of " + demo.Package + " and measures it on held-out tasks:\n" +
			"discover, scenarios executed on the live server, base evaluation, SFT on executed traces, GRPO on live rollouts,\n" +
			"evaluation on the test split, report.html, and one line of JSON (on a terminal: --json). Behind the set-up it\n" +
			"does as much as fits into --minutes, and says what it measured and chose. A stopped demo goes on with\nhone runs resume.",
		Example: "  hone demo\n  hone demo --json --seed 7",
		Args:    arguments(0, 0, ""),
		RunE: a.withConfig(func(ctx context.Context, c config.Config) error {
			if err := basemodel.OnGPUs(&c, numGPUs); err != nil {
				return err
			}
			return study.Demo(ctx, a.jobs(c), c, fit)
		}),
	}
	c.Flags().IntVar(&numGPUs, "num-gpus", 0, numGPUsUsage)
	c.Flags().Float64Var(&fit.Minutes, "minutes", 8, "how long it may take after set-up: tasks, rows and steps are chosen from what the first episodes and rows took")
	c.Flags().BoolVar(&fit.Full, "full", false, "all kinds of task, and the sizes that docs/LEARNING.md was measured with: half an hour on two quiet cores")
	a.sandboxFlag(c.PersistentFlags())
	c.AddCommand(newDemoLearn(a))
	return c
}

func newDemoLearn(a *app) *cobra.Command {
	var o study.Options
	numGPUs, arms, resume := 0, "", false
	c := &cobra.Command{
		Use:   "learn",
		Short: "Compare GRPO with SFT of equal size, from one start on few demonstrations; for a GPU, or hours of CPU",
		Long: "learn fine-tunes on few demonstrations of the demo's tasks, then goes on from that adapter in several ways that\n" +
			"are of about equal size: " + study.ArmGRPO + " (live rollouts, rule rewards), " + study.ArmRejection + " (SFT on the start's own rollouts\n" +
			"that passed), " + study.ArmRFT + " (SFT on these and the demonstrations), " + study.ArmContinued + " (SFT on the same demonstrations) and\n" +
			study.ArmGold + " (SFT on executed solutions of GRPO's tasks).\n" +
			"Each is evaluated on the same held-out scenarios, and the paired differences are printed.",
		Example: "  hone demo learn --backend cuda --seed 1\n  hone demo learn --arms grpo --split validation\n" +
			"  hone demo learn --dataset tasks.json --mcp-config .mcp.json --demonstrations 100",
		Args: arguments(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error {
			return runDemoLearn(c.Context(), a, o, arms, numGPUs, resume)
		},
	}
	c.Flags().StringVar(&o.Backend, "backend", "auto", "auto, cuda, cpu or go")
	c.Flags().IntVar(&numGPUs, "num-gpus", 0, numGPUsUsage)
	c.Flags().StringVar(&o.Split, "split", scenario.Test, "what to evaluate on: validation, to choose settings, or test")
	c.Flags().StringVar(&arms, "arms", strings.Join(study.Arms(), ","), "what to run, separated by commas; empty is the start alone")
	c.Flags().IntVar(&o.Demonstrations, "demonstrations", 150, "rows of the start")
	c.Flags().StringVar(&o.Dataset, "dataset", "", "scenarios of your own in the place of the demo's, with gold calls: the start is shown some of the split train")
	c.Flags().StringVar(&o.Servers, "mcp-config", "", "servers of the dataset (default mcp.config)")
	c.Flags().IntVar(&o.ShownKinds, "shown-kinds", 0, "kinds of task that the start's rows are of, drawn by the seed, of a dataset: tools; 0 is all")
	c.Flags().Float64Var(&o.RewardNoise, "reward-noise", 0, "share of "+study.ArmGRPO+"'s episodes whose reward is turned around, to see how much it bears")
	c.Flags().IntVar(&o.Epochs, "epochs", 2, "passes of the start over them")
	c.Flags().IntVar(&o.Steps, "steps", 100, "GRPO steps")
	c.Flags().IntVar(&o.Groups, "groups", 32, "scenarios of a step")
	c.Flags().IntVar(&o.GroupSize, "group-size", 4, "rollouts of a scenario in a step")
	c.Flags().Float64Var(&o.GRPORate, "grpo-rate", 3e-4, "peak learning rate of "+study.ArmGRPO)
	c.Flags().Float64Var(&o.SFTRate, "sft-rate", 3e-4, "peak learning rate of the arms that are SFT")
	c.Flags().StringVar(&o.Output, "output-dir", "", "run directory (default one under the configuration's runs_dir)")
	c.Flags().BoolVar(&resume, "resume", false, "go on with the run in --output-dir, by what it was begun with")
	return c
}

func runDemoLearn(ctx context.Context, a *app, o study.Options, arms string, numGPUs int, resume bool) error {
	if resume {
		if o.Output == "" {
			return &fault.Error{Code: fault.CodeUsage, What: "no run to go on with", Where: "--resume", Next: "name its folder with --output-dir; hone runs ls lists them"}
		}
		return a.resume(ctx, toolset.Source{}, o.Output)
	}
	c, err := a.config()
	if err != nil {
		return err
	}
	if err := basemodel.OnGPUs(&c, numGPUs); err != nil {
		return err
	}
	if numGPUs > 0 {
		o.Backend = c.Engine.Backend
	}
	if o.Arms = []string{}; arms != "" {
		o.Arms = strings.Split(arms, ",")
	}
	return study.Compare(ctx, a.jobs(c), c, o)
}
