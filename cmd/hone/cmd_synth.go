package main

import (
	"slices"

	"github.com/spf13/cobra"

	"hone/internal/synth"
	"hone/internal/synth/generate"
	"hone/internal/toolset"
)

func newSynth(a *app) *cobra.Command {
	var servers toolset.Source
	var x synth.Options
	c := &cobra.Command{
		Use:   "synth",
		Short: "Make scenarios for MCP servers from nothing, each executed",
		Long: `synth looks at what the servers hold, drafts calls from their schemas and from values that it saw, and makes each call
on a copy of the server. What stays the same in a second session becomes the check. Templates word the tasks, or a
--teacher: a model that also thinks of tasks, named as for hone eval --compare: base, an adapter's folder,
PROVIDER/MODEL, or http://HOST/v1/MODEL. A stopped command goes on where it was, and pays for no answer twice.`,
		Example: `  hone synth --mcp-config .mcp.json --out scenarios.json -n 60
  hone synth --mcp-config .mcp.json --out scenarios.json -n 300 --teacher openai/gpt-4o-mini --budget-usd 2
  hone synth --mcp-config .mcp.json --out scenarios.jsonl -n 500 --split-by tool --kinds kinds.yaml`,
		Args: arguments(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error { return a.synth(c, servers, x) },
	}
	f := c.Flags()
	a.toolFlags(f, &servers, &x.AllowFindings)
	f.StringVar(&x.Out, "out", "", "write the scenarios to this file")
	f.StringVar(&x.Work, "work", "", "keep what the servers answer in this file (default beside --out)")
	f.StringVar(&x.Fallen, "rejected", "",
		"write the training tasks that fell at the execution or a gate to this file, to see what a filter is worth")
	f.StringVar(&x.Kinds, "kinds", "", "draw half of the tasks from the kinds of tasks in this file")
	f.IntVarP(&x.N, "number", "n", 60, "scenarios wanted")
	f.StringVar(&x.SplitBy, "split-by", generate.ByTask, "what training and test do not share: task, tool or server")
	f.IntVar(&x.Workers, "workers", 4, "sessions, or requests to a model, at once")
	f.BoolVar(&x.CallAll, "call-all", false,
		"also call tools whose changes no sandbox bounds and that do not say they change nothing")
	f.StringVar(&x.Teacher, "teacher", "", "a model that thinks of tasks and words them")
	f.StringVar(&x.Held, "held-teacher", "", "another one, which words the tasks that training does not see")
	f.StringVar(&x.Judge, "judge", "", "a model that picks tools and scores tasks (default the teacher)")
	f.StringVar(&x.Reference, "reference", "", "a model that tries each scenario; those it never solves are left out")
	f.IntVar(&x.ReferenceRuns, "reference-runs", 4, "its runs of each scenario")
	f.BoolVar(&x.KeepUnsolved, "keep-unsolved", false, "keep what the reference never solves")
	f.Float64Var(&x.BudgetUSD, "budget-usd", 0,
		"most US dollars for all models, by the prices of their providers; 0 is no limit")
	f.IntVar(&x.BudgetTokens, "token-budget", 0, "most tokens for all models, sent and received; 0 is no limit")
	c.AddCommand(newSynthReport(a))
	return c
}

func (a *app) synth(c *cobra.Command, servers toolset.Source, x synth.Options) error {
	given, err := a.config()
	if err != nil {
		return err
	}
	if err := x.Check(); err != nil {
		return err
	}
	if a.DryRun {
		if err := x.ReadKinds(); err != nil {
			return err
		}
		a.Say("would make %d scenarios and write them to %s", x.N, x.Out)
		return nil
	}
	made, err := synth.Run(c.Context(), a.Host, given, servers, x)
	if made != nil {
		if printErr := a.Print(made.Report, slices.Concat(made.Report.Tables()...)); printErr != nil {
			return printErr
		}
	}
	if err == nil {
		a.Say(
			"next: hone collect --gold --yes%s --dataset %s --output-dir shown%[3]s; "+
				"then hone sft --data shown/trajectories.jsonl --output-dir sft%[3]s",
			servers.Flag(), toolset.ShellWord(x.Out), toolset.AllowFlag(x.AllowFindings),
		)
	}
	return err
}
