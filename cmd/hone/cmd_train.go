package main

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/learn/batch"
	"hone/internal/recipe"
)

// trainFlags are those of train; the names are the ones users of other trainers know.
type trainFlags struct {
	serverFlags
	dataset, base, adapter, output, judge string
	numGPUs                               int
	resume                                bool
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
	f.register(c.Flags())
	c.Flags().StringVar(&f.dataset, "dataset", "", "scenarios file (default the configuration's)")
	c.Flags().StringVar(&f.base, "base-model", "", "base model: a .gguf file, its folder, or an installed name")
	c.Flags().StringVar(&f.adapter, "adapter", "", "start from this adapter instead of a fresh one")
	c.Flags().StringVar(&f.output, "output-dir", "", "run directory; the adapter ends up in its folder final")
	c.Flags().StringVar(&f.judge, "judge-model", "", "model that scores scenarios without checks, as provider/name")
	c.Flags().IntVar(&f.numGPUs, "num-gpus", 0, "GPUs to use; 0 is the CPU")
	c.Flags().BoolVar(&f.resume, "resume", false, "go on with the run in --output-dir")
	return c
}

func runTrain(ctx context.Context, a *app, f trainFlags) error {
	c, err := a.config()
	if err != nil {
		return err
	}
	if f.dataset == "" {
		f.dataset = c.Scenarios.File
	}
	if f.output == "" {
		return &fault.Error{Code: fault.CodeUsage, What: "no output folder", Next: "name one with --output-dir"}
	}
	if f.numGPUs != 0 {
		return &fault.Error{Code: fault.CodeUsage, What: "this build trains on the CPU only", Where: "--num-gpus", Next: "give --num-gpus 0"}
	}
	list, err := scenarios(f.dataset, f.judge)
	if err != nil {
		return err
	}
	tasks, err := ofSplit(list, scenario.Train, f.dataset)
	if err != nil {
		return err
	}
	servers, err := a.servers(c, f.serverFlags)
	if err != nil {
		return err
	}
	if c.Model.Base, err = baseOf(f.adapter, f.base, c); err != nil {
		return err
	}
	if a.dryRun {
		a.say("would take %d steps of %d x %d rollouts on %d scenarios in %s", c.GRPO.Steps, c.GRPO.ScenariosPerStep,
			c.GRPO.GroupSize, len(tasks), f.output)
		return nil
	}
	l, err := a.openServers(ctx, c, servers)
	if err != nil {
		return err
	}
	defer l.close()
	dir, err := openRun(f.output, f.resume, "train", &c)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }() // the ledger is durable row by row
	if err := l.catalog.Save(filepath.Join(f.output, "catalog.json")); err != nil {
		return err
	}
	if err := l.openModel(a, c, f.adapter, list); err != nil {
		return err
	}
	grpo := recipe.GRPO{Stage: "grpo", Steps: c.GRPO.Steps, GroupsPerStep: c.GRPO.ScenariosPerStep, GroupSize: c.GRPO.GroupSize,
		Rate: c.GRPO.Optimizer.LearningRate, Clip: batch.Clip{Low: c.GRPO.ClipLow, High: c.GRPO.ClipHigh},
		CheckpointEvery: c.GRPO.CheckpointEvery, MaxMismatch: maxMismatch, Seed: c.Seed}
	err = grpo.Run(ctx, tasks, l.at(c.Rollout.Temperature), l.scorer, l.learner, runLog{dir, a.say}, a.progress().report())
	if ctx.Err() != nil {
		return &fault.Error{Code: fault.CodeStopped, What: "stopped; nothing finished is lost", Where: f.output,
			Next: "the same command with --resume"}
	}
	if err != nil {
		return err
	}
	final := filepath.Join(f.output, "final")
	if err := l.saveFinal(final); err != nil {
		return err
	}
	a.say("adapter: %s\nnext: hone eval --model %s --dataset %s --split validation", final, final, f.dataset)
	return nil
}
