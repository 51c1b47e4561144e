package main

import (
	"time"

	"github.com/spf13/cobra"

	"hone/internal/job/records"
)

func newRunsRate(a *app, dir *string) *cobra.Command {
	note := ""
	c := &cobra.Command{
		Use:   "rate RUN EPISODE SCORE",
		Short: "Keep what you think of an episode of a run, from 0 to 1",
		Long: "rate keeps your rating of an episode in ratings.jsonl in the run's folder; " +
			"it takes the place of an earlier one. runs show --episode and\n" +
			"the report show it, and runs rescore counts it as the term rating.",
		Example: "  hone runs rate demo grpo/add-2/0/3 0.5 --note \"right, but slow\"\n  hone runs rescore demo",
		Args:    arguments(3, 3, "the name or the folder of a run, an episode of it, and a score from 0 to 1"),
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := a.runPath(*dir, args[0])
			if err != nil {
				return err
			}
			r, err := records.Rate(path, args[1], args[2], note, time.Now())
			if err != nil {
				return err
			}
			return a.Print(r, [][]string{{"EPISODE", "RATING", "NOTE"}, {r.Episode, args[2], r.Note}})
		},
	}
	c.Flags().StringVar(&note, "note", "", "why, in your words")
	return c
}
