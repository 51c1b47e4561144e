package main

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"hone/internal/basemodel"
	"hone/internal/eval"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/job/train"
	"hone/internal/synth"
	"hone/internal/toolset"
)

type refreshFlags struct {
	synth.Refreshing
	servers         toolset.Source
	adapter, output string
	train           bool
}

func newRefresh(a *app) *cobra.Command {
	var f refreshFlags
	c := &cobra.Command{
		Use:   "refresh",
		Short: "Bring scenarios, and an adapter, up to date with servers that changed",
		Long: `refresh finds the scenarios whose tools are others than those that they were made with, and runs their gold calls again.
One whose values moved is mended, one that no longer works is replaced by one that templates make for the same tool, or
dropped with the reason. With --adapter that is evaluated on them, and with --train trained on from where it was.`,
		Example: "  hone refresh --mcp-config .mcp.json --dataset scenarios.json --out fresh.json\n" +
			"  hone refresh --mcp-config .mcp.json --dataset scenarios.json --out fresh.json --adapter out/final " +
			"--train --output-dir refreshed",
		Args: arguments(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error { return runRefresh(c.Context(), a, f) },
	}
	a.toolFlags(c.Flags(), &f.servers, &f.AllowFindings)
	c.Flags().StringVar(&f.Dataset, "dataset", "", "scenarios file (default the configuration's)")
	c.Flags().StringVar(&f.Out, "out", "", "write the scenarios that hold now to this file")
	c.Flags().StringVar(&f.Catalog, "catalog", "",
		"catalog of the servers as they were, for scenarios that do not say what they were made with")
	c.Flags().StringVar(&f.Work, "work", "",
		"what the servers answered hone synth when it made them (default beside --dataset)")
	c.Flags().IntVar(&f.Workers, "workers", 4, "sessions at once")
	c.Flags().BoolVar(&f.CallAll, "call-all", false,
		"for replacements, also call tools whose changes no sandbox bounds and that do not say they change nothing")
	c.Flags().StringVar(&f.adapter, "adapter", "", "evaluate this adapter on the affected test scenarios")
	c.Flags().BoolVar(&f.train, "train", false, "train that adapter on, on the scenarios that hold now")
	c.Flags().StringVar(&f.output, "output-dir", "", "folder of the runs of --adapter: before, trained and after in it")
	return c
}

func runRefresh(ctx context.Context, a *app, f refreshFlags) error {
	c, err := a.config()
	if err != nil {
		return err
	}
	if f.Dataset, err = job.Dataset(f.Dataset, c); err != nil {
		return err
	}
	switch {
	case f.Out == "" && !a.DryRun:
		return &fault.Error{Code: fault.CodeUsage, What: "refresh needs --out", Next: "hone refresh --help"}
	case f.train && f.adapter == "", f.adapter != "" && f.output == "":
		return &fault.Error{Code: fault.CodeUsage, What: "--train needs --adapter, and --adapter needs --output-dir",
			Next: "hone refresh --help"}
	}
	out, err := synth.Refresh(ctx, a.Host, c, f.servers, f.Refreshing)
	if out != nil {
		if printErr := a.Print(out, out.Table()); printErr != nil {
			return printErr
		}
	}
	if err != nil || a.DryRun || f.adapter == "" || out.Affected == "" {
		return err
	}
	measure := func(adapter, name string) error {
		return runEval(ctx, a, evalFlags{
			Asked: eval.Asked{Model: adapter, Dataset: out.Affected, Split: out.Split,
				Output: filepath.Join(f.output, name), AllowFindings: f.AllowFindings},
			servers: f.servers,
			show:    "none",
		})
	}
	if err := measure(f.adapter, "before"); err != nil || !f.train {
		return err
	}
	trained := filepath.Join(f.output, "trained")
	own := basemodel.GivenLoRA{Given: func(string) bool { return false }} // the adapter keeps its shape
	if err := runTrain(ctx, a, train.Asked{LoRA: own, Dataset: f.Out, Adapter: f.adapter, Output: trained,
		AllowFindings: f.AllowFindings}, f.servers, false); err != nil {
		return err
	}
	return measure(filepath.Join(trained, "final"), "after")
}
