package main

import (
	"strings"

	"github.com/spf13/cobra"

	"hone/internal/data"
	"hone/internal/data/curate"
)

func newCurateDo(a *app, at atDesk) *cobra.Command {
	var op curate.Op
	c := &cobra.Command{
		Use:   "do DATA OPERATION",
		Short: "Make one operation, or with - those that come as JSON lines",
		Long: "do makes one of: " + strings.Join(curate.Kinds(), ", ") + ".\n" +
			"Messages and calls are numbered from 0, turns from 1, as show has them. undo takes the number of an " +
			"operation.",
		Example: "  hone curate do traces.jsonl edit_arguments --trace t1 --message 2 --text '{\"city\": \"Bern\"}'\n" +
			"  hone curate do traces.jsonl reject --trace t7 --why 'it guesses'\n" +
			"  echo '{\"do\": \"rate\", \"trace\": \"t1\", \"rating\": 5}' | hone curate do traces.jsonl -",
		Args: arguments(2, 2, "a file of traces and an operation"),
	}
	c.RunE = at(func(c *cobra.Command, d *data.Desk, args []string) error {
		if args[0] == "-" {
			return d.DoLines(c.Context(), a.Stdin, a.Data)
		}
		op.Do = args[0]
		if err := curate.Missing(op.Do, c.Flags().Changed); err != nil {
			return err
		}
		done, findings, err := d.Do(op)
		if err != nil {
			return err
		}
		sayFindings(a, findings)
		a.Say("operation %d: %s %s; %s", done.Seq, done.Do, done.Trace, d.Next(done))
		return a.Print(done, nil)
	})
	c.Flags().StringVar(&op.Trace, "trace", "", "the trace")
	c.Flags().IntVar(&op.Turn, "turn", 0, "of delete_turn, merge_turns and split: the user turn, from 1")
	c.Flags().IntVar(&op.Message, "message", 0, "of edits and delete_step: the message, from 0")
	c.Flags().IntVar(&op.Call, "call", 0, "of edit_arguments: the call of the message, from 0")
	c.Flags().StringVar(&op.Text, "text", "", "of edits: what stands there then")
	c.Flags().IntVar(&op.Rating, "rating", 0, "of rate: 1 to 5")
	c.Flags().StringVar(&op.Why, "why", "", "the reason")
	c.Flags().IntVar(&op.Of, "of", 0, "of undo: the number of the operation")
	return c
}
