package main

import (
	"context"

	"github.com/spf13/cobra"

	"hone/internal/job"
	"hone/internal/toolset"
)

func newSFT(a *app) *cobra.Command {
	var f job.SFTAsked
	resume := false
	c := &cobra.Command{
		Use:   "sft",
		Short: "Train an adapter on conversations: those of hone collect, or your own",
		Long: "sft learns to say what the assistant says in each conversation of a JSON-lines file: {\"messages\": [...], \"tools\": [...]}\n" +
			"in OpenAI's form, the trajectories.jsonl of a run, or any file or folder that hone data reads. Trajectories that failed\n" +
			"are left out. Rows without tools take those of --catalog.",
		Example: "  hone sft --data traces/trajectories.jsonl --base-model SmolLM2-135M-Instruct --output-dir out\n" +
			"  hone sft --data conversations.jsonl --catalog catalog.json --adapter out/final --output-dir out2",
		Args: arguments(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error { return runSFT(c.Context(), a, f, resume) },
	}
	c.Flags().StringVar(&f.Data, "data", "", "a file or folder of conversations or trajectories, in any format that hone data reads")
	c.Flags().StringVar(&f.Catalog, "catalog", "", "tools of rows that name none (default catalog.json beside the data, where there is one)")
	c.Flags().StringVar(&f.Base, "base-model", "", "base model: a .gguf file, its folder, or an installed name")
	c.Flags().StringVar(&f.Adapter, "adapter", "", "start from this adapter instead of a fresh one")
	c.Flags().StringVar(&f.Output, "output-dir", "", "run directory; the adapter ends up in its folder final")
	c.Flags().BoolVar(&resume, "resume", false, "go on with the run in --output-dir, by what it was begun with")
	allowFindingsFlag(c.Flags(), &f.AllowFindings)
	loraFlags(c.Flags(), &f.LoRA)
	c.Flags().StringVar(&a.shownAt, "metrics-address", "", job.AddressUsage)
	return c
}

func runSFT(ctx context.Context, a *app, f job.SFTAsked, resume bool) error {
	if f.Output == "" {
		return noOutput()
	}
	if resume {
		return a.resume(ctx, toolset.Source{}, f.Output)
	}
	c, err := a.config()
	if err != nil {
		return err
	}
	return a.jobs(c).SFT(ctx, c, f)
}
