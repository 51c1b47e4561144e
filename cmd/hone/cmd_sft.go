package main

import (
	"context"

	"github.com/spf13/cobra"

	"hone/internal/basemodel"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/mcp/lint"
	"hone/internal/toolset"
)

type sftFlags struct {
	lora                                 loraFlags
	data, catalog, base, adapter, output string
	resume                               bool
	allowFindings                        lint.Allowed
}

func newSFT(a *app) *cobra.Command {
	var f sftFlags
	c := &cobra.Command{
		Use:   "sft",
		Short: "Train an adapter on conversations: those of hone collect, or your own",
		Long: "sft learns to say what the assistant says in each conversation of a JSON-lines file: {\"messages\": [...], \"tools\": [...]}\n" +
			"in OpenAI's form, or the trajectories.jsonl of a run. Trajectories that failed are left out. Rows without tools take\n" +
			"those of --catalog.",
		Example: "  hone sft --data traces/trajectories.jsonl --base-model SmolLM2-135M-Instruct --output-dir out\n" +
			"  hone sft --data conversations.jsonl --catalog catalog.json --adapter out/final --output-dir out2",
		Args: arguments(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error { return runSFT(c.Context(), a, f) },
	}
	c.Flags().StringVar(&f.data, "data", "", "conversations or trajectories, one JSON object a line")
	c.Flags().StringVar(&f.catalog, "catalog", "", "tools of rows that name none (default catalog.json beside the data, where there is one)")
	c.Flags().StringVar(&f.base, "base-model", "", "base model: a .gguf file, its folder, or an installed name")
	c.Flags().StringVar(&f.adapter, "adapter", "", "start from this adapter instead of a fresh one")
	c.Flags().StringVar(&f.output, "output-dir", "", "run directory; the adapter ends up in its folder final")
	c.Flags().BoolVar(&f.resume, "resume", false, "go on with the run in --output-dir, by what it was begun with")
	allowFindingsFlag(c.Flags(), &f.allowFindings)
	f.lora.register(c.Flags())
	return c
}

func runSFT(ctx context.Context, a *app, f sftFlags) error {
	if f.output == "" {
		return &fault.Error{Code: fault.CodeUsage, What: "no output folder", Next: "name one with --output-dir"}
	}
	if f.resume {
		return a.resume(ctx, toolset.Source{}, f.output)
	}
	c, err := a.config()
	if err != nil {
		return err
	}
	if f.data == "" {
		return &fault.Error{Code: fault.CodeUsage, What: "no conversations to learn from", Next: "name a file with --data; hone collect makes one"}
	}
	if err := a.jobs(c).Free(f.output); err != nil {
		return err
	}
	d, err := job.ReadConversations(f.data, f.catalog)
	if err != nil {
		return err
	}
	if c.Model.Base, err = basemodel.BaseOf(f.adapter, f.base, c); err != nil {
		return err
	}
	if c, err = basemodel.SettleLengths(a.Host, c); err != nil {
		return err
	}
	if err := f.lora.apply(a, &c, f.adapter); err != nil {
		return err
	}
	rows, err := d.Demonstrations(a.Host)
	if err == nil {
		err = toolset.RefuseFindings(a.Host, d.LintTools(rows), f.allowFindings)
	}
	if err != nil {
		return err
	}
	j := &job.Job{Env: a.jobs(c), Verb: "sft", Path: f.output, Config: c, Kept: job.Kept{Adapter: f.adapter, AllowFindings: f.allowFindings}}
	defer j.Close()
	if a.DryRun {
		return j.RehearseSFT(d, rows)
	}
	return j.SFT(ctx, d, rows)
}
