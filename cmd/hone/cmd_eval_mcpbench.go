package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"hone/internal/eval/mcpbench"
	"hone/internal/fault"
	"hone/internal/job"
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
			rows := [][]string{{"METRIC", "", ""}}
			for _, d := range mcpbench.Definitions() {
				rows = append(rows, []string{d.Name, "published", d.Published}, []string{"", "closed", d.Closed}, []string{"", "hole", d.Hole})
			}
			return a.Print(mcpbench.Definitions(), rows)
		}
		path, err := a.runPath(dir, args[0])
		if err != nil {
			return err
		}
		return printRuleMetrics(a, path)
	}
	c.Flags().BoolVar(&define, "definitions", false, "say what each number counts, and which hole is closed")
	c.Flags().StringVar(&dir, "dir", "", "folder of the runs (default runs)")
	return c
}

func printRuleMetrics(a *app, path string) error {
	stages, err := job.RuleMetricsOf(path)
	if err != nil {
		return err
	}
	rows := [][]string{{"STAGE", "METRIC", "PUBLISHED", "CLOSED"}}
	for _, s := range stages {
		for i, d := range mcpbench.Definitions() {
			name := s.Stage
			if i > 0 {
				name = ""
			}
			rows = append(rows, []string{name, d.Name, fmt.Sprintf("%.3f", d.Of(s.Published)), fmt.Sprintf("%.3f", d.Of(s.Closed))})
		}
		a.Say("%s: %s, %d without calls, which the published means leave out; %.1f calls and %.1f servers a task; %s excluded", s.Stage,
			fault.Count(s.NumTasks, "task"), s.NumWithoutCalls, s.Calls, s.Servers, fault.Count(s.NumExcluded, "episode"))
	}
	a.Say("hone eval mcpbench --definitions says what each number counts")
	return a.Print(stages, rows)
}
