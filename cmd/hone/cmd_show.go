package main

import (
	"github.com/spf13/cobra"

	"hone/internal/config"
	"hone/internal/view/terminal"
)

func newRunsShow(a *app, dir *string) *cobra.Command {
	episode := ""
	c := &cobra.Command{
		Use:   "show RUN",
		Short: "Show the stages, checkpoints and metrics of a run, or one of its episodes",
		Example: "  hone runs show demo\n  hone runs show ./elsewhere/demo --json\n" +
			"  hone runs show demo --episode grpo/add-2/0/3",
		Args: arguments(1, 1, "the name or the folder of a run"),
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := a.runPath(*dir, args[0])
			switch {
			case err != nil:
				return err
			case episode != "":
				return terminal.Episode(a.Host, path, episode)
			}
			return terminal.Show(a.jobs(config.Config{}), path)
		},
	}
	c.Flags().StringVar(&episode, "episode", "",
		"show this episode: chat, calls, results, checks, and what servers wrote to stderr")
	return c
}
