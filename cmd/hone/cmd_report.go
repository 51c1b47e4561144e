package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"hone/internal/job"
	"hone/internal/report"
)

func newRunsReport(a *app, dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "report RUN",
		Short: "Write a run's report.html again, from what the run holds now",
		Long: "Writes report.html into the run's folder: rates with intervals, what got worse, learning curves, the worst and best groups, and\n" +
			"the episodes. It works while the run goes on, and on runs of any verb. A browser opens the page without network.",
		Example: "  hone runs report demo-20260102-150405\n  hone runs report ./out --json",
		Args:    arguments(1, 1, "the name or the folder of a run"),
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := a.runPath(*dir, args[0])
			if err != nil {
				return err
			}
			return runRunsReport(a, path)
		},
	}
}

func runRunsReport(a *app, path string) error {
	p, err := job.PageOf(path)
	if err != nil {
		return err
	}
	if a.DryRun {
		a.Say("would write %s", filepath.Join(path, report.HTMLFile))
		return nil
	}
	if err := p.Write(path); err != nil {
		return err
	}
	file := filepath.Join(path, report.HTMLFile)
	return a.Print(map[string]string{"report": file}, [][]string{{file}})
}
