package main

import (
	"github.com/spf13/cobra"

	"hone/internal/job"
	"hone/internal/toolset"
)

func newDPO(a *app) *cobra.Command {
	var f job.SFTAsked
	resume := false
	c := &cobra.Command{
		Use:   "dpo",
		Short: "Train an adapter on pairs of answers, of which one is better",
		Long: "dpo learns to prefer one of two ways to go on from a prompt: direct preference optimisation. Pairs are JSON lines in TRL's form,\n" +
			"{\"prompt\": [...], \"chosen\": [...], \"rejected\": [...], \"tools\": [...]}; hone curate export makes them of traces of one\n" +
			"scenario that passed and that failed. The reference is the adapter that it starts from, or the base model.",
		Example: "  hone curate export traces/trajectories.jsonl --to pairs --out pairs.jsonl\n" +
			"  hone dpo --data pairs.jsonl --adapter out/final --output-dir out2",
		Args: arguments(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case f.Output == "":
				return noOutput()
			case resume:
				return a.resume(c.Context(), toolset.Source{}, f.Output)
			}
			today, err := a.config()
			if err != nil {
				return err
			}
			return a.jobs(today).DPO(c.Context(), today, f)
		},
	}
	c.Flags().StringVar(&f.Data, "data", "", "a file or folder of pairs")
	c.Flags().StringVar(&f.Base, "base-model", "", "base model: a .gguf file, its folder, or an installed name")
	c.Flags().StringVar(&f.Adapter, "adapter", "", "start from this adapter instead of a fresh one; it is the reference too")
	c.Flags().StringVar(&f.Output, "output-dir", "", "run directory; the adapter ends up in its folder final")
	c.Flags().BoolVar(&resume, "resume", false, "go on with the run in --output-dir, by what it was begun with")
	allowFindingsFlag(c.Flags(), &f.AllowFindings)
	loraFlags(c.Flags(), &f.LoRA)
	c.Flags().StringVar(&a.shownAt, "metrics-address", "", job.AddressUsage)
	return c
}
