package main

import (
	"context"

	"github.com/spf13/cobra"

	"hone/internal/config"
	"hone/internal/data"
)

func newCurateShow(a *app, at atDesk) *cobra.Command {
	preview, base := false, ""
	c := &cobra.Command{
		Use: "show DATA [TRACE]",
		Short: "List the traces, or show one: its messages by number, what does not hold, what was done, " +
			"what would be trained",
		Example: "  hone curate show traces/trajectories.jsonl\n" +
			"  hone curate show traces/trajectories.jsonl t1 --preview --model SmolLM2-135M-Instruct",
		Args: arguments(1, 2, "a file of traces, and perhaps a trace"),
	}
	c.RunE = at(func(c *cobra.Command, d *data.Desk, args []string) error {
		if len(args) == 0 {
			list, rows := d.List()
			return a.Print(list, rows)
		}
		if preview {
			return a.withConfig(func(_ context.Context,
				cfg config.Config) error {
				return d.Preview(a.Host, cfg, base, args[0])
			})(c, args)
		}
		shown, rows, err := d.Show(args[0])
		if err != nil {
			return err
		}
		sayFindings(a, shown.Findings)
		for _, op := range shown.Log {
			a.Say("%s", op)
		}
		return a.Print(shown, rows)
	})
	c.Flags().BoolVar(&preview, "preview", false,
		"show the exact text of the rows that sft would learn, and what of it is trained")
	modelFlag(c, &base)
	return c
}

func sayFindings(a *app, findings []string) {
	for _, finding := range findings {
		a.Say("does not hold: %s", finding)
	}
}
