package main

import (
	"github.com/spf13/cobra"

	"hone/internal/config"
	"hone/internal/job/records"
)

func newRunsReport(a *app, dir *string) *cobra.Command {
	logs := ""
	c := &cobra.Command{
		Use:   "report RUN",
		Short: "Write a run's report.html again, from what the run holds now",
		Long: `Writes report.html into the run's folder: the page of hone view with the run's data, as one file that a browser opens without
network. It works while the run goes on, and on runs of any verb. All numbers of the evaluation are in results.json beside it. With
--inspect the evaluations are written as logs of Inspect too, one a system.`,
		Example: "  hone runs report demo-20260102-150405\n  hone runs report ./out --json\n" +
			"  hone runs report ./out --inspect logs && inspect view --log-dir logs",
		Args: arguments(1, 1, "the name or the folder of a run"),
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := a.runPath(*dir, args[0])
			if err != nil {
				return err
			}
			written, err := records.Report(a.jobs(config.Config{}), path, logs)
			if err == nil && a.DryRun {
				a.Say("would write %s", written.Report)
			} else if err == nil {
				err = a.Print(written, written.Rows())
			}
			return err
		},
	}
	c.Flags().StringVar(&logs, "inspect", "",
		"folder that gets a log of each evaluated system in Inspect's format, for inspect view --log-dir")
	return c
}
