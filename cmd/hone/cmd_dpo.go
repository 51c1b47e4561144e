package main

import (
	"github.com/spf13/cobra"

	"hone/internal/job/train"
)

func newDPO(a *app) *cobra.Command {
	var f train.DataAsked
	resume := false
	c := &cobra.Command{
		Use:   "dpo",
		Short: "Train an adapter on pairs of answers, of which one is better",
		Long: `dpo learns to prefer one of two ways to go on from a prompt: direct preference optimisation. Pairs are JSON lines in TRL's form,
{"prompt": [...], "chosen": [...], "rejected": [...], "tools": [...]}; hone curate export makes them of traces of one
scenario that passed and that failed. The reference is the adapter that it starts from, or the base model.`,
		Example: "  hone curate export traces/trajectories.jsonl --to pairs --out pairs.jsonl\n" +
			"  hone dpo --data pairs.jsonl --adapter out/final --output-dir out2",
		Args: arguments(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error { return runOnData(c.Context(), a, f, resume, train.RunDPO) },
	}
	c.Flags().StringVar(&f.Data, "data", "", "a file or folder of pairs")
	dataFlags(a, c.Flags(), &f, &resume)
	c.Flags().Lookup("adapter").Usage += "; it is the reference too"
	return c
}
