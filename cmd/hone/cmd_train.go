package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/mcp/lint"
	"hone/internal/toolset"
)

// trainFlags are those of train; the names are the ones users of other trainers know.
type trainFlags struct {
	servers                               toolset.Source
	lora                                  loraFlags
	dataset, base, adapter, output, judge string
	numGPUs                               int
	resume                                bool
	allowFindings                         lint.Allowed
}

func newTrain(a *app) *cobra.Command {
	var f trainFlags
	c := &cobra.Command{
		Use:   "train",
		Short: "Train an adapter by GRPO on live rollouts, rewarded by the scenarios' checks",
		Example: "  MCP_URL=http://127.0.0.1:3000/mcp hone train --dataset scenarios.json --base-model SmolLM2-135M-Instruct --output-dir out\n" +
			"  hone train --mcp-config .mcp.json --dataset scenarios.json --adapter out/final --output-dir out2",
		Args: arguments(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error { return runTrain(c.Context(), a, f) },
	}
	a.serverFlags(c.Flags(), &f.servers)
	c.Flags().StringVar(&f.dataset, "dataset", "", "scenarios file (default the configuration's)")
	c.Flags().StringVar(&f.base, "base-model", "", "base model: a .gguf file, its folder, or an installed name")
	c.Flags().StringVar(&f.adapter, "adapter", "", "start from this adapter instead of a fresh one")
	c.Flags().StringVar(&f.output, "output-dir", "", "run directory; the adapter ends up in its folder final")
	c.Flags().StringVar(&f.judge, "judge-model", "", "model that scores scenarios without checks, as provider/name")
	c.Flags().IntVar(&f.numGPUs, "num-gpus", 0, numGPUsUsage)
	c.Flags().BoolVar(&f.resume, "resume", false, "go on with the run in --output-dir, by what it was begun with")
	f.lora.register(c.Flags())
	allowFindingsFlag(c.Flags(), &f.allowFindings)
	return c
}

const numGPUsUsage = "GPUs to use: n is engine.backend: cuda and engine.devices: n; 0 leaves both to the configuration"

// onGPUs sets what --num-gpus says, after which it is known how many devices are wanted.
func onGPUs(c *config.Config, n int) error {
	if n < 0 {
		return &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("cannot train on %d GPUs", n), Where: "--num-gpus",
			Next: "give how many there are, or leave it out to train on what engine.backend and engine.devices say"}
	}
	if n > 0 {
		c.Engine.Backend, c.Engine.Devices = "cuda", n
	}
	return basemodel.CheckShards(c.Engine)
}

func runTrain(ctx context.Context, a *app, f trainFlags) error {
	if f.output == "" {
		return &fault.Error{Code: fault.CodeUsage, What: "no output folder", Next: "name one with --output-dir"}
	}
	if f.resume {
		return a.resume(ctx, f.servers, f.output)
	}
	c, err := a.config()
	if err != nil {
		return err
	}
	if f.dataset != "" {
		c.Scenarios.File = f.dataset
	}
	if err := onGPUs(&c, f.numGPUs); err != nil {
		return err
	}
	if c.Rollout.Temperature == 0 {
		return &fault.Error{Code: fault.CodeUsage, What: "cannot train on greedy rollouts", Where: "rollout.temperature",
			Why:  "at 0 all episodes of a group are the same, so there is nothing to compare",
			Next: "set rollout.temperature above 0, such as 1; eval.temperature is that of evaluations"}
	}
	if err := a.jobs(c).Free(f.output); err != nil {
		return err
	}
	list, err := job.Scenarios(c.Scenarios.File, f.judge, len(c.Rewards.Program.Command) > 0)
	if err != nil {
		return err
	}
	tasks, err := job.OfSplit(list, scenario.Train, c.Scenarios.File)
	if err != nil {
		return err
	}
	if c.Model.Base, err = basemodel.BaseOf(f.adapter, f.base, c); err != nil {
		return err
	}
	if c, err = basemodel.SettleLengths(a.Host, c); err != nil {
		return err
	}
	if err := f.lora.apply(a, &c, f.adapter); err != nil {
		return err
	}
	j := &job.Job{Env: a.jobs(c), Verb: "train", Path: f.output, Config: c, Kept: job.Kept{Adapter: f.adapter, AllowFindings: f.allowFindings}}
	j.Kept.Keep(a.Host, c, f.servers)
	if a.DryRun {
		if err := j.RehearseTrain(ctx, list, f.servers); err != nil {
			return err
		}
		a.Say("would take %s of %d x %d rollouts on %s in %s", fault.Count(c.GRPO.Steps, "step"), c.GRPO.ScenariosPerStep,
			c.GRPO.GroupSize, fault.Count(len(tasks), "scenario"), f.output)
		return nil
	}
	defer j.Close()
	return j.Train(ctx, list, f.servers)
}
