package main

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hone/internal/config"
	"hone/internal/job"
	"hone/internal/toolset"
)

func newRuns(a *app) *cobra.Command {
	c := &cobra.Command{Use: "runs", Short: "List runs and look into one"}
	dir := ""
	c.PersistentFlags().StringVar(&dir, "dir", "",
		"folder that holds the runs, instead of the configuration's runs_dir")
	var servers toolset.Source
	resume := &cobra.Command{
		Use:     "resume RUN",
		Short:   "Go on with a stopped run where it was",
		Example: "  hone runs resume demo-20260102-150405\n  MCP_URL=http://127.0.0.1:3000/mcp hone runs resume ./out",
		Args:    arguments(1, 1, "the name or the folder of a run"),
		RunE: func(c *cobra.Command, args []string) error {
			return runRunsResume(c.Context(), a, servers, dir, args[0])
		},
	}
	a.toolFlags(resume.Flags(), &servers, &a.accept)
	a.reopenFlags(resume.Flags())
	c.AddCommand(
		resume,
		&cobra.Command{
			Use:     "ls",
			Short:   "List the runs, newest first",
			Example: "  hone runs ls\n  hone runs ls --json",
			Args:    arguments(0, 0, ""),
			RunE:    func(*cobra.Command, []string) error { return runRunsLs(a, dir) },
		},
		newRunsShow(a, &dir),
		newRunsRollouts(a, &dir),
		newRunsWatch(a, &dir),
		newRunsReport(a, &dir),
		newRunsRate(a, &dir),
		newRunsRescore(a, &dir),
	)
	return group(c)
}

// reopenFlags are those of verbs that go on with a run which may not be as it was left.
func (a *app) reopenFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&a.reopen.AcceptEdits, "accept-edits", false,
		"go on with the run's configuration and inputs although they were edited since it began")
	flags.BoolVar(&a.reopen.RebuildLedger, "rebuild-ledger", false,
		"make a damaged ledger again from what it still holds and from the files beside it")
}

func (a *app) runsDir(dir string) (string, error) {
	if dir != "" {
		return dir, nil
	}
	c, err := a.config()
	return c.RunsDir, err
}

func runRunsLs(a *app, only string) error {
	dir, err := a.runsDir(only)
	if err != nil {
		return err
	}
	list, err := a.jobs(config.Config{}).ListRuns(dir, only == "")
	if err != nil {
		return err
	}
	if len(list) == 0 {
		a.Say("no runs in %s", dir)
	}
	return a.Print(list, job.RunRows(list, dir, a.CommandText))
}

// runPath is the folder of a run given by its name or its path.
func (a *app) runPath(dir, name string) (string, error) {
	if filepath.Base(name) != name || name == "." || name == ".." {
		return name, nil
	}
	root, err := a.runsDir(dir)
	if err != nil {
		return "", err
	}
	return a.jobs(config.Config{}).RunOf(root, name, dir == "")
}

func runRunsResume(ctx context.Context, a *app, f toolset.Source, dir, name string) error {
	path, err := a.runPath(dir, name)
	if err != nil {
		return err
	}
	return a.resume(ctx, f, path)
}
