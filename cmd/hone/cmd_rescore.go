package main

import (
	"context"

	"github.com/spf13/cobra"

	"hone/internal/job/collect"
	"hone/internal/job/episodes"
)

func newRunsRescore(a *app, dir *string) *cobra.Command {
	var given episodes.GivenJudge
	c := &cobra.Command{
		Use:   "rescore RUN",
		Short: "Score the episodes of a run by the rewards of this configuration, and show what changes",
		Long: `rescore scores the episodes that a run keeps by the rewards of --config, else of hone.yaml, and shows for each stage what that
changes. With --judge-model a judge scores them too. The run keeps its own scores: the others go to a new file in its folder,
rescored-1.jsonl.`,
		Example: "  hone runs rescore demo --config other.yaml\n" +
			"  hone runs rescore ./out --judge-model openai/gpt-4o-mini --budget-usd 2 --dry-run",
		Args: arguments(1, 1, "the name or the folder of a run"),
		RunE: func(c *cobra.Command, args []string) error {
			path, err := a.runPath(*dir, args[0])
			if err != nil {
				return err
			}
			return runRescore(c.Context(), a, path, given)
		},
	}
	judgeFlags(c.Flags(), &given)
	return c
}

func runRescore(ctx context.Context, a *app, path string, given episodes.GivenJudge) error {
	c, err := a.config()
	if err != nil {
		return err
	}
	changes, failed := collect.Rescore(ctx, a.Host, path, c, given)
	if changes == nil {
		return failed
	}
	if err := a.Print(changes, collect.ChangeRows(changes)); err != nil {
		return err
	}
	return failed
}
