package main

import (
	"context"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"hone/internal/assets"
	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/demo"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/report"
	"hone/internal/run"
	"hone/internal/toolset"
)

func newDemo(a *app) *cobra.Command {
	numGPUs := 0
	c := &cobra.Command{
		Use:   "demo",
		Short: "Run the whole loop, small, on this machine: discover, scenarios, SFT, GRPO, evaluation, report",
		Long: "demo trains SmolLM2-135M-Instruct on tools of " + demo.Package + " and measures it on held-out tasks:\n" +
			"discover, scenarios executed on the live server, base evaluation, SFT on executed traces, GRPO on live rollouts,\n" +
			"evaluation on the test split, report.html, and one line of JSON. A stopped demo goes on with hone runs resume.",
		Example: "  hone demo\n  hone demo --json --seed 7",
		Args:    arguments(0, 0, ""),
		RunE:    func(c *cobra.Command, _ []string) error { return runDemo(c.Context(), a, "", numGPUs) },
	}
	c.Flags().IntVar(&numGPUs, "num-gpus", 0, numGPUsUsage)
	a.sandboxFlag(c.PersistentFlags())
	c.AddCommand(newDemoLearn(a))
	return c
}

// demoConfig is the demo's own choice of settings, made on its train and validation splits (docs/LOG.md).
func demoConfig(c config.Config, pureGo bool) config.Config {
	c.MCP.Config, c.Model.Context = filepath.Join("demo", "mcp.json"), 2048
	c.Model.Base, c.Rollout.System = assets.Model().Name, demo.System
	c.Engine.Slots = 32                                                        // episodes end at different times, and a step costs little less where slots are idle (docs/LOG.md)
	c.Rollout.MaxTurns, c.Rollout.MaxTokens, c.Rollout.MaxToolCalls = 4, 64, 6 // no turn of a demonstration is longer than 60
	c.Rollout.MaxResult = 128                                                  // no answer of the demo's tools has more than 90 bytes, and caches are made for this many tokens a turn
	c.Eval.Split = scenario.Test
	c.SFT.Epochs, c.SFT.BatchSize, c.SFT.Optimizer.LearningRate = 2, 16, 1e-3
	c.GRPO.Steps, c.GRPO.ScenariosPerStep, c.GRPO.GroupSize = 6, 16, 4
	c.GRPO.Optimizer.LearningRate, c.GRPO.CheckpointEvery = 2e-5, 1
	if pureGo {
		c.Engine.Slots = 8
		c.GRPO.Steps, c.GRPO.ScenariosPerStep = 1, 2
		c.SFT.Epochs = 1
	}
	return c
}

// runDemo starts a demo, or goes on with the one in the run directory resumed.
func runDemo(ctx context.Context, a *app, resumed string, numGPUs int) error {
	began := time.Now()
	c, err := a.config()
	if err != nil {
		return err
	}
	if err := onGPUs(&c, numGPUs); err != nil {
		return err
	}
	plugin, err := basemodel.TakePlugin(a.Host, c.Engine)
	if err != nil {
		return err
	}
	pureGo := plugin.Path == ""
	path := resumed
	if path == "" {
		if c.Seed == 0 {
			c.Seed = 1
		}
		name := c.Name
		if name == "" {
			name = "demo-" + began.Format("20060102-150405")
		}
		path = filepath.Join(c.RunsDir, name)
		c = demoConfig(c, pureGo)
	}
	if a.DryRun {
		size := demo.SizeOf(pureGo)
		a.Say("would make %s, then train and evaluate in %s", size, path)
		return nil
	}
	var dir *run.Dir
	if resumed != "" {
		dir, err = a.jobs(c).Open(path, &c)
	} else {
		dir, err = a.jobs(c).Create(path, c, job.Begun{Build: host.ReadBuild(), Verb: "demo"})
	}
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }() // the ledger is durable row by row
	a.Say("run %s", path)
	err = demoRun{a: a, c: c, dir: dir, size: demo.SizeOf(pureGo), began: began}.run(ctx)
	if ctx.Err() != nil {
		return &fault.Error{Code: fault.CodeStopped, What: "stopped; nothing finished is lost", Where: path, Next: "hone runs resume " + path}
	}
	return err
}

// resumeDemo goes on with a stopped demo.
func (a *app) resumeDemo(ctx context.Context, _ job.Env, path string, _ job.Begun, _ toolset.Source) error {
	return runDemo(ctx, a, path, 0)
}

// demoEnded reports whether a demo has ended.
func demoEnded(s run.Summary, b job.Begun) bool {
	return job.HasAdapter(s, b) && job.Ended(s, report.EvalStage+armGRPO)
}
