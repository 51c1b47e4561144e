package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"hone/internal/data/synth"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/toolset"
)

func newSynth(a *app) *cobra.Command {
	var servers toolset.Source
	var x job.Synthesis
	c := &cobra.Command{
		Use:   "synth",
		Short: "Make scenarios for MCP servers from nothing, each executed",
		Long: "synth looks at what the servers hold, drafts calls from their schemas and from values that it saw, and makes each call\n" +
			"on a copy of the server. What stays the same in a second session becomes the check. No model is asked: templates\n" +
			"word the tasks. Each scenario passes hone scenarios validate. A stopped command goes on where it was.",
		Example: "  hone synth --mcp-config .mcp.json --out scenarios.json -n 60\n" +
			"  hone synth --mcp-config .mcp.json --out scenarios.jsonl -n 500 --split-by tool --json > report.json",
		Args: arguments(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error { return runSynth(c.Context(), a, servers, x) },
	}
	a.serverFlags(c.Flags(), &servers)
	c.Flags().StringVar(&x.Out, "out", "", "write the scenarios to this file")
	c.Flags().StringVar(&x.Work, "work", "", "keep what the servers answer in this file (default beside --out)")
	c.Flags().IntVarP(&x.N, "number", "n", 60, "scenarios wanted")
	c.Flags().StringVar(&x.SplitBy, "split-by", synth.ByTask, "what training and test do not share: task, tool or server")
	c.Flags().IntVar(&x.Workers, "workers", 4, "sessions at once")
	c.Flags().BoolVar(&x.CallAll, "call-all", false, "also call tools whose changes no sandbox bounds and that do not say they change nothing")
	allowFindingsFlag(c.Flags(), &x.AllowFindings)
	return c
}

func runSynth(ctx context.Context, a *app, f toolset.Source, x job.Synthesis) error {
	c, err := a.config()
	if err != nil {
		return err
	}
	usage := func(what, where string) error {
		return &fault.Error{Code: fault.CodeUsage, What: what, Where: where, Next: "hone synth --help"}
	}
	switch {
	case x.Out == "":
		return usage("synth needs --out", "--out")
	case x.N < 1 || x.N > 100_000:
		return usage("the number of scenarios must be 1 to 100000", fmt.Sprintf("--number %d", x.N))
	case x.Workers < 1 || x.Workers > 64:
		return usage("the number of sessions at once must be 1 to 64", fmt.Sprintf("--workers %d", x.Workers))
	case !slices.Contains([]string{synth.ByTask, synth.ByTool, synth.ByServer}, x.SplitBy):
		return usage(fmt.Sprintf("there is no split by %q", x.SplitBy), "--split-by")
	case a.DryRun:
		a.Say("would make %s and write them to %s", fault.Count(x.N, "scenario"), x.Out)
		return nil
	}
	made, err := job.Synth(ctx, a.Host, c, f, x)
	if made != nil {
		if printErr := a.Print(made.Report, slices.Concat(made.Report.Rows(), [][]string{{}}, made.Report.ToolRows())); printErr != nil {
			return printErr
		}
	}
	if err == nil {
		a.Say("next: hone collect --gold --yes --dataset %s --output-dir shown; then hone sft --data shown/trajectories.jsonl", x.Out)
	}
	return err
}
