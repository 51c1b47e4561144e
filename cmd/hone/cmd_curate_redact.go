package main

import (
	"strings"

	"github.com/spf13/cobra"

	"hone/internal/data"
	"hone/internal/data/curate"
)

func newCurateRedact(a *app, at atDesk) *cobra.Command {
	var kinds []string
	c := &cobra.Command{
		Use:   "redact DATA",
		Short: "Put placeholders in place of secrets and personal data",
		Long: "redact looks for " + strings.Join(curate.RedactKinds(), ", ") + `, and puts placeholders such as [EMAIL_1] in their place. A value has one placeholder
in all of its trace. Names of persons and postal addresses are not found. Each trace's redaction can be undone.
DATA and its ledger still hold all values: only what hone curate export writes is clean.`,
		Example: "  hone curate redact traces/trajectories.jsonl --dry-run\n" +
			"  hone curate redact traces/trajectories.jsonl --kind secret --kind email",
		Args: arguments(1, 1, "a file of traces"),
	}
	c.RunE = at(func(_ *cobra.Command, d *data.Desk, _ []string) error {
		done, rows, findings, err := d.Redact(kinds)
		if err != nil {
			return err
		}
		d.TellRedaction(a.Say, done, findings, a.DryRun)
		return a.Print(done, rows)
	})
	c.Flags().StringSliceVar(&kinds, "kind", nil,
		"what to look for: "+strings.Join(curate.RedactKinds(), ", ")+" (default all; may be repeated)")
	return c
}
