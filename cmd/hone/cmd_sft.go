package main

import (
	"github.com/spf13/cobra"

	"hone/internal/job/train"
)

func newSFT(a *app) *cobra.Command {
	var f train.DataAsked
	resume := false
	c := &cobra.Command{
		Use:   "sft",
		Short: "Train an adapter on conversations: those of hone collect, or your own",
		Long: `sft learns to say what the assistant says in each conversation of a JSON-lines file: {"messages": [...], "tools": [...]}
in OpenAI's form, the trajectories.jsonl of a run, or any file or folder that hone data reads. Trajectories that failed
are left out. Rows without tools take those of --catalog: of more than mcp.max_tools, those that an episode of theirs shows.`,
		Example: "  hone sft --data traces/trajectories.jsonl --base-model SmolLM2-135M-Instruct --output-dir out\n" +
			"  hone sft --data conversations.jsonl --catalog catalog.json --adapter out/final --output-dir out2",
		Args: arguments(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error { return runOnData(c.Context(), a, f, resume, train.RunSFT) },
	}
	c.Flags().StringVar(&f.Data, "data", "",
		"a file or folder of conversations or trajectories, in any format that hone data reads")
	c.Flags().StringVar(&f.Catalog, "catalog", "",
		"tools of rows that name none (default catalog.json beside the data, where there is one)")
	c.Flags().IntVar(&f.Steps, "steps", 0, "steps, in place of sft.epochs (default sft.steps)")
	dataFlags(a, c.Flags(), &f, &resume)
	return c
}
