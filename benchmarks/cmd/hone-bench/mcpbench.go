package main

import (
	"os"

	"github.com/spf13/cobra"

	"hone/benchmarks/mcpbench"
	"hone/internal/fault"
	"hone/internal/mcp"
)

func newMCPBench(a *app) *cobra.Command {
	dir, define := "", false
	c := &cobra.Command{
		Use:   "mcpbench RUN",
		Short: "MCP-Bench's rule metrics of a run's episodes, by its formulas and with their holes closed",
		Long: `mcpbench computes the rule metrics of MCP-Bench (arXiv 2508.20453) from the episodes of a run of eval, collect or train: each
number by its published formula, and beside it with that formula's hole closed. --definitions says what each counts, and
which hole that is. The judge's six axes are no part of it: docs/rubrics/mcp-bench.yaml has them.`,
		Example: "  hone-bench mcpbench runs/evaluated\n  hone-bench mcpbench --definitions\n" +
			"  hone-bench mcpbench runs/evaluated --json",
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if define {
			return arguments(0, 0, "no run")(c, args)
		}
		return arguments(1, 1, "the name or the folder of a run")(c, args)
	}
	c.RunE = func(_ *cobra.Command, args []string) error {
		if define {
			return a.Print(mcpbench.Definitions(), mcpbench.DefinitionRows())
		}
		path, err := a.runPath(dir, args[0])
		if err != nil {
			return err
		}
		stages, err := mcpbench.RuleMetricsOf(path)
		if err != nil {
			return err
		}
		for _, s := range stages {
			a.Say("%s", s)
		}
		a.Say("hone-bench mcpbench --definitions says what each number counts")
		return a.Print(stages, mcpbench.RuleMetricRows(stages))
	}
	c.Flags().BoolVar(&define, "definitions", false, "say what each number counts, and which hole is closed")
	c.Flags().StringVar(&dir, "dir", "", "folder of the runs (default runs_dir of hone.yaml)")
	return c
}

// toolsOf are the tools of a catalog's file.
func toolsOf(catalog string) (mcpbench.Tools, error) {
	c, err := mcp.Load(catalog)
	if err != nil {
		return nil, err
	}
	return mcpbench.ToolsOf(c), nil
}

func newPlaces(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "sidecar CATALOG CALLS",
		Short: "MCP-Bench's rates of what hone sidecar eval measured, before and behind the sidecar",
		Long: "sidecar reads the calls that hone sidecar eval wrote beside its report, and the catalog of the data " +
			"folder. Each place is a\n" +
			"task of one turn. The rate of executions is there where the evaluation had servers.",
		Example: "  hone-bench sidecar revisions/catalog.json revisions/eval_test.calls.jsonl",
		Args:    arguments(2, 2, "a catalog and a file of calls"),
		RunE: func(_ *cobra.Command, args []string) error {
			tools, err := toolsOf(args[0])
			if err != nil {
				return err
			}
			in, err := os.Open(args[1])
			if err != nil {
				return &fault.Error{Code: fault.CodeUsage, What: "cannot read the calls", Where: args[1], Err: err,
					Next: "hone sidecar eval writes them, beside its report"}
			}
			defer in.Close()
			rates, err := tools.Places(in, mcp.RefusalPattern)
			if err != nil {
				return &fault.Error{Code: fault.CodeUsage, What: "the calls cannot be read", Where: args[1], Err: err,
					Next: "name the file REPORT.calls.jsonl that hone sidecar eval wrote"}
			}
			return a.Print(rates, mcpbench.PlaceRows(rates))
		},
	}
}

func newReward(a *app) *cobra.Command {
	var w mcpbench.Weights
	c := &cobra.Command{
		Use:   "reward CATALOG",
		Short: "Score episodes by MCP-Bench's closed rates, as the program of hone's rewards",
		Long: "reward is a program for the configuration's rewards.program, as a worker or not: " +
			"it reads groups of episodes on stdin and\n" +
			"writes their scores. A score is the mean of the rates by these weights. CATALOG has the tools that can " +
			"be called.",
		Example: "  rewards: {program: {command: [hone-bench, reward, catalog.json], worker: true, weight: " +
			"0.3}} # hone.yaml",
		Args: arguments(1, 1, "a catalog"),
		RunE: func(_ *cobra.Command, args []string) error {
			if w.ValidToolName < 0 || w.SchemaCompliance < 0 || w.ExecutionSuccess < 0 || w == (mcpbench.Weights{}) {
				return &fault.Error{Code: fault.CodeUsage, What: "the weights give no mean",
					Where: "--names, --schemas, --executions", Next: "give numbers from 0 on, one of them above 0"}
			}
			tools, err := toolsOf(args[0])
			if err != nil {
				return err
			}
			return tools.Reward(a.Stdin, a.Data, w, mcp.RefusalPattern)
		},
	}
	c.Flags().Float64Var(&w.ValidToolName, "names", 1, "weight of valid_tool_name_rate")
	c.Flags().Float64Var(&w.SchemaCompliance, "schemas", 1, "weight of input_schema_compliance")
	c.Flags().Float64Var(&w.ExecutionSuccess, "executions", 1, "weight of execution_success_rate")
	return c
}
