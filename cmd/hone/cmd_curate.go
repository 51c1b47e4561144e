package main

import (
	"github.com/spf13/cobra"

	"hone/internal/data"
)

func newCurate(a *app) *cobra.Command {
	var x data.Curating
	c := &cobra.Command{
		Use:   "curate [DATA]",
		Short: "Tidy traces before they are learnt from: rules, edits, ratings, all of which can be undone",
		Long: `curate changes no file of traces. Each operation goes into a ledger beside it, with its author and what it changed, and a
trace is what its operations make of it. hone curate export writes what is left. hone curate DATA, on a terminal, is a page
with a list of the traces, their turns, and a key for each operation; ? shows the keys.`,
		Example: "  hone curate traces/trajectories.jsonl\n" +
			"  hone curate rules traces/trajectories.jsonl --checks-passed",
	}
	c.PersistentFlags().StringVar(&x.Ledger, "ledger", "",
		"where the operations are kept (default beside the data: DATA.curation.jsonl)")
	c.PersistentFlags().StringVar(&x.Catalog, "catalog", "",
		"tools of traces that name none (default catalog.json beside the data, where there is one)")
	c.PersistentFlags().StringVar(&x.Author, "author", "", "who makes the operations (default $USER)")
	at := func(run func(c *cobra.Command, d *data.Desk, args []string) error) func(*cobra.Command, []string) error {
		return func(c *cobra.Command, args []string) error {
			x.Look = c.Name() == "show" || c.Name() == "export"
			if x.Author == "" {
				x.Author = data.AuthorOf(a.LookupEnv)
			}
			x.Data = args[0]
			d, err := x.Open(a.Host)
			if err != nil {
				return err
			}
			defer d.Close()
			if a.DryRun {
				d.Rehearse()
			}
			return run(c, d, args[1:])
		}
	}
	c.AddCommand(newCurateShow(a, at), newCurateDo(a, at), newCurateRules(a, at), newCurateRedact(a, at),
		newCurateExport(a, at))
	return newCuratePage(a, group(c), at)
}

// atDesk opens the traces that the first argument names for a command.
type atDesk func(run func(c *cobra.Command, d *data.Desk, args []string) error) func(*cobra.Command, []string) error
