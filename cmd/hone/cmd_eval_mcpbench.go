package main

import (
	"github.com/spf13/cobra"

	"hone/internal/eval"
	"hone/internal/eval/mcpbench"
)

func newEvalMCPBench(a *app) *cobra.Command {
	dir := ""
	c := &cobra.Command{
		Use:   "mcpbench RUN",
		Short: "MCP-Bench's rule metrics of a run's episodes, by its formulas and with their holes closed",
		Long: "mcpbench computes the rule metrics of MCP-Bench (arXiv 2508.20453) from the episodes of a run of eval, collect or train: each\n" +
			"number by its published formula, and beside it with that formula's hole closed. --definitions says what each counts, and\n" +
			"which hole that is. The judge's six axes are no part of it: docs/rubrics/mcp-bench.yaml has them.",
		Example: "  hone eval mcpbench runs/evaluated\n  hone eval mcpbench --definitions\n  hone eval mcpbench runs/evaluated --json",
	}
	define := false
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
		stages, err := eval.RuleMetricsOf(path)
		if err != nil {
			return err
		}
		for _, s := range stages {
			a.Say("%s", s)
		}
		a.Say("hone eval mcpbench --definitions says what each number counts")
		return a.Print(stages, eval.RuleMetricRows(stages))
	}
	c.Flags().BoolVar(&define, "definitions", false, "say what each number counts, and which hole is closed")
	c.Flags().StringVar(&dir, "dir", "", "folder of the runs (default runs)")
	return c
}
