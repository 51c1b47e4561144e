package main

import (
	"context"

	"github.com/spf13/cobra"

	"hone/internal/eval"
	"hone/internal/job"
	"hone/internal/toolset"
	"hone/internal/view/terminal"
)

type evalFlags struct {
	eval.Asked
	servers toolset.Source
	show    terminal.Which
}

func newEval(a *app) *cobra.Command {
	var f evalFlags
	c := &cobra.Command{
		Use:   "eval",
		Short: "Run held-out scenarios on live servers and report success with intervals",
		Long: `Runs each scenario of a split on its servers with the model, and reports how many succeed, with intervals. --compare names
others that do the same scenarios from the same seeds: base, adapter folders, PROVIDER/MODEL of the configuration's providers,
and http://HOST/v1/MODEL. With --output-dir the episodes are kept, scored, in trajectories.jsonl of a new run directory, each
system's as a stage eval_NAME. An evaluation that was stopped goes on with hone runs resume.`,
		Example: "  hone eval --model out/final --dataset scenarios.json --split validation\n" +
			"  hone eval --model out/final --dataset scenarios.json --split test --compare " +
			"base,other/final,openai/gpt-4o-mini --repeats 4 --output-dir evaluated\n" +
			"  hone eval --model out/final --split test --compare-base --reuse evaluated --json",
		Args: arguments(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error { return runEval(c.Context(), a, f) },
	}
	a.toolFlags(c.Flags(), &f.servers, &f.AllowFindings)
	c.Flags().StringVar(&f.Model, "model", "", "adapter folder, base for the base model, "+
		"PROVIDER/MODEL of the configuration's providers, or http://HOST/v1/MODEL (default base)")
	c.Flags().StringVar(&f.Base, "base-model", "", "base model, where it is not the one the adapter names")
	c.Flags().StringVar(&f.Dataset, "dataset", "", "scenarios file (default the configuration's)")
	c.Flags().StringVar(&f.Split, "split", "", "train, validation or test (default the configuration's)")
	judgeFlags(c.Flags(), &f.Judge)
	c.Flags().StringVar(&f.Output, "output-dir", "", "run directory for the trajectories; without it none are kept")
	c.Flags().StringVar((*string)(&f.show), "show", string(terminal.None),
		"episodes to print, with chat, calls, results and checks: none, failed or all")
	c.Flags().BoolVar(&f.SkipBad, "skip-bad", false, "leave out scenarios that cannot be read")
	c.Flags().BoolVar(&f.CompareBase, "compare-base", false,
		"evaluate the base model too and report the paired difference: --compare base")
	c.Flags().StringSliceVar(&f.Compare, "compare", nil,
		"systems to hold the model against, with commas: base, adapter folders, PROVIDER/MODEL, http://HOST/v1/MODEL")
	c.Flags().IntVar(&f.Repeats, "repeats", 0, "episodes of each scenario (default the configuration's eval.repeats)")
	c.Flags().IntVar(&f.Limit, "limit", 0,
		"most scenarios: so many of the split, drawn by the seed, are run by all systems; 0 runs all")
	c.Flags().StringSliceVar(&f.Reuse, "reuse", nil,
		"run directories of earlier evaluations, whose episodes of the same content are not run again; may be repeated")
	c.Flags().StringVar(&f.FailOnError, "fail-on-error", "", "give a system up at the first failed episode (true), "+
		"never (false), at a share (0.1) or a number (5) of them (default eval.fail_on_error)")
	c.Flags().Float64Var(&f.StopEarly, "stop-early", 0, "end where each difference is known: it leaves out 0, "+
		"or is known to so many percentage points (default eval.stop_early)")
	c.Flags().StringVar(&f.InitialCall, "initial-call", "", "adapter folder of a small model that makes the first "+
		"call where it is sure: measures --model, an endpoint, with it and without")
	c.Flags().Float64Var(&f.Calibrate, "calibrate", 0, "fit when the adapter of --model is sure enough to make first "+
		"calls for another model, so that this share of them is right; kept beside it")
	c.Flags().IntVar(&f.TokenBudget, "token-budget", 0,
		"stop before an endpoint is asked for more than this many tokens; 0 is no limit")
	return c
}

func runEval(ctx context.Context, a *app, f evalFlags) error {
	if err := f.show.Check(); err != nil {
		return err
	}
	c, err := a.config()
	if err != nil {
		return err
	}
	j, tasks, err := f.Job(a.jobs(c), c, f.servers)
	if err != nil {
		return err
	}
	defer j.Close()
	measured, err := eval.Run(ctx, j, tasks, f.servers)
	if err != nil || measured == nil {
		return err
	}
	if err := terminal.PrintEvaluation(a.Host, measured, f.show); err != nil {
		return err
	}
	return measured.Calibrate(a.Host, f.Asked)
}

// resumeEval goes on with a stopped evaluation.
func (a *app) resumeEval(ctx context.Context, e job.Env, path string, b job.Begun, from toolset.Source) error {
	measured, err := eval.Resume(ctx, e, path, b, from)
	if err != nil || measured == nil {
		return err
	}
	return terminal.PrintEvaluation(a.Host, measured, terminal.None)
}
