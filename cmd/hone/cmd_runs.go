package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/run"
	"hone/internal/toolset"
)

func newRuns(a *app) *cobra.Command {
	c := &cobra.Command{Use: "runs", Short: "List runs and look into one"}
	dir := ""
	c.PersistentFlags().StringVar(&dir, "dir", "", "folder that holds the runs, instead of the configuration's runs_dir")
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
	a.serverFlags(resume.Flags(), &servers)
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
		newRunsReport(a, &dir),
		newRunsRescore(a, &dir),
	)
	return group(c)
}

// reopenFlags are those of verbs that go on with a run which may not be as it was left.
func (a *app) reopenFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&a.reopen.AcceptEdits, "accept-edits", false, "go on with the run's configuration and inputs although they were edited since it began")
	flags.BoolVar(&a.reopen.RebuildLedger, "rebuild-ledger", false, "make a damaged ledger again from what it still holds and from the files beside it")
}

func (a *app) runsDir(dir string) (string, error) {
	if dir != "" {
		return dir, nil
	}
	c, err := a.config()
	return c.RunsDir, err
}

// listedRun is a run's summary and what can be done with it, or its name and why it cannot be read.
type listedRun struct {
	run.Summary
	Episodes int    `json:"episodes"` // kept, of all stages
	Resume   string `json:"resume"`   // the command that goes on with it, "" without one
	Error    string `json:"error,omitempty"`
}

func runRunsLs(a *app, only string) error {
	dir, err := a.runsDir(only)
	if err != nil {
		return err
	}
	var elsewhere []string
	if only == "" {
		index, err := a.jobs(config.Config{}).Index()
		if err == nil {
			elsewhere, err = index.Paths()
		}
		if err != nil {
			a.Say("note: runs that are not in %s are not listed: %v", dir, err)
		}
	}
	runs, err := run.List(dir, elsewhere...)
	if err != nil {
		return err
	}
	list := []listedRun{}
	rows := [][]string{{"NAME", "CREATED", "STEPS", "EPISODES", "STATE"}}
	for _, r := range runs {
		l, steps, state := listedRun{Summary: r.Summary}, []string{}, ""
		for _, s := range r.Stages {
			if l.Episodes += s.NumTrajectories; s.NumSteps > 0 {
				steps = append(steps, fmt.Sprintf("%s %d", s.Name, s.NumSteps))
			}
		}
		if state, l.Resume = a.verbs().State(r.Summary); r.Err != nil {
			l.Error, l.Resume = r.Err.Error(), ""
			state, _, _ = strings.Cut(l.Error, "\n")
		}
		list = append(list, l)
		name := r.Name // as the other verbs take it
		if filepath.Dir(r.Path) != filepath.Clean(dir) {
			name = r.Path
		}
		rows = append(rows, []string{name, r.Created.Format(time.DateTime), strings.Join(steps, ", "), fmt.Sprint(l.Episodes), a.Invoked(state)})
	}
	if len(list) == 0 {
		a.Say("no runs in %s", dir)
	}
	return a.Print(list, rows)
}

// runPath is the folder of a run given by its name or its path.
func (a *app) runPath(dir, name string) (string, error) {
	if filepath.Base(name) != name || name == "." || name == ".." {
		return name, nil
	}
	root, err := a.runsDir(dir)
	path := filepath.Join(root, name)
	if _, statErr := os.Stat(path); statErr == nil || dir != "" || err != nil {
		return path, err
	}
	if _, hereErr := os.Stat(filepath.Join(name, "version.json")); hereErr == nil {
		return name, nil // begun with --output-dir, in this folder
	}
	index, err := a.jobs(config.Config{}).Index()
	if err != nil {
		return path, nil // without a list it is only where runs are
	}
	known, err := index.Paths()
	if err != nil {
		return path, err
	}
	known = slices.DeleteFunc(known, func(p string) bool { return filepath.Base(p) != name })
	if len(known) > 1 {
		return "", &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("there are %d runs of the name %s", len(known), name), Where: strings.Join(known, ", "),
			Next: "name one by its folder"}
	}
	return append(known, path)[0], nil
}

func runRunsResume(ctx context.Context, a *app, f toolset.Source, dir, name string) error {
	path, err := a.runPath(dir, name)
	if err != nil {
		return err
	}
	return a.resume(ctx, f, path)
}
