package main

import (
	"github.com/spf13/cobra"

	"hone/internal/config"
	"hone/internal/view"
	"hone/internal/view/terminal"
)

func newRunsWatch(a *app, dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "watch RUN",
		Short: "Show the overview of a run on the terminal while it goes on",
		Long: `watch shows what the overview of hone view does: rewards and held-out success with intervals, cost, what is left, where the
time goes, alerts, and curves. It reads alone, and works over ssh. Where stdout is no terminal it prints the overview once, then a
line for each change, and ends with the run; with --json each change is one line of JSON.`,
		Example: "  hone runs watch demo\n  hone runs watch demo --plain >> watch.log\n" +
			"  hone runs watch demo --json | jq -c .cards.held_out",
		Args: arguments(1, 1, "the name or the folder of a run"),
		RunE: func(c *cobra.Command, args []string) error {
			path, err := a.runPath(*dir, args[0])
			if err != nil {
				return err
			}
			return terminal.Watch(c.Context(), a.Host, view.NewReading(a.jobs(config.Config{}), path))
		},
	}
}
