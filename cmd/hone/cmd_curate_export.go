package main

import (
	"strings"

	"github.com/spf13/cobra"

	"hone/internal/data"
	"hone/internal/data/dataset"
	"hone/internal/fault"
)

func newCurateExport(a *app, at atDesk) *cobra.Command {
	form, out, accepted, failed := "", "", false, false
	c := &cobra.Command{
		Use:     "export DATA",
		Short:   "Write the traces that are not rejected, as the operations left them",
		Example: "  hone curate export traces/trajectories.jsonl --out curated.jsonl",
		Args:    arguments(1, 1, "a file of traces"),
	}
	c.RunE = at(func(_ *cobra.Command, d *data.Desk, _ []string) error {
		if a.DryRun {
			a.Say("would write %s to %s", fault.Count(len(d.ToExport(accepted, nil)), "trace"), out)
			return nil
		}
		written, err := d.Export(form, out, accepted, failed)
		data.TellLeftOut(a.Say, written.LeftOut)
		if err != nil {
			return err
		}
		verb, what := "sft", "traces"
		if form == "pairs" {
			verb, what = "dpo", "pairs"
		}
		a.Say("%d %s written to %s; next: hone %s --data %s", written.Rows, what, written.Path, verb, written.Path)
		return a.Print(written, nil)
	})
	c.Flags().StringVar(&form, "to", "hone", "form to write: "+strings.Join(dataset.SinkForms(), ", "))
	c.Flags().StringVar(&out, "out", "", "file or folder to write, which must not be there yet")
	c.Flags().BoolVar(&accepted, "accepted", false, "those alone that are accepted")
	c.Flags().BoolVar(&failed, "failed", false, "write traces too that failed (forms hf, hf-jsonl, trl, axolotl)")
	return c
}
