package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"hone/internal/config"
	"hone/internal/view"
)

func newView(a *app) *cobra.Command {
	dir, listen, bundle := "", "", ""
	c := &cobra.Command{
		Use:   "view [RUN|TASKS...]",
		Short: "Look at runs in a browser: groups by turn, tokens, tasks, evaluations, curation",
		Long: `view is a page on runs, on this machine alone: open the address that it prints, which holds a token. Without a RUN it shows
all runs. It follows a run that goes on, and changes nothing but what a person curates. Its playground lets you talk with a model
that calls the tools of a run's servers, which asks you about each call. TASKS is a file of scenarios, as hone synth makes it, to
be accepted, edited and rejected by keys.`,
		Example: "  hone view\n  hone view demo-20260102-150405\n  hone view ./out ./out-2 --listen 127.0.0.1:8090\n" +
			"  hone view ./out --bundle page\n  hone view tasks.json",
		Args: arguments(0, -1, "the names or the folders of runs, or files of scenarios"),
		RunE: func(c *cobra.Command, args []string) error {
			runs, err := a.runsToView(dir, args)
			if err != nil {
				return err
			}
			s := &view.Server{Env: a.jobs(config.Config{}), Runs: runs, Today: a.config}
			if bundle != "" {
				if err := s.Bundle(c.Context(), bundle); err != nil {
					return err
				}
				a.Say("open %s in a browser", filepath.Join(bundle, "index.html"))
				return nil
			}
			l, err := view.Listen(listen)
			if err != nil {
				return err
			}
			return s.Serve(c.Context(), l, func(address string) { a.Say("open %s", address) })
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "folder that holds the runs, instead of the configuration's runs_dir")
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "address of this machine; port 0 takes a free one")
	c.Flags().StringVar(&bundle, "bundle", "",
		"write the page with all of its data into this folder, to be opened from a file, in place of serving it")
	c.MarkFlagsMutuallyExclusive("bundle", "listen")
	return c
}

// runsToView are the folders of the runs that are named, or of all.
func (a *app) runsToView(dir string, names []string) (paths []string, err error) {
	if len(names) == 0 {
		root, err := a.runsDir(dir)
		if err != nil {
			return nil, err
		}
		list, err := a.jobs(config.Config{}).ListRuns(root, dir == "")
		for _, r := range list {
			paths = append(paths, r.Path)
		}
		return paths, err
	}
	for _, name := range names {
		path, err := a.runPath(dir, name)
		if err == nil {
			err = view.IsRun(path)
		}
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}
