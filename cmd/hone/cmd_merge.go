package main

import (
	"context"

	"github.com/spf13/cobra"

	"hone/internal/basemodel"
	"hone/internal/config"
)

func newMerge(a *app) *cobra.Command {
	var o basemodel.MergeOptions
	c := &cobra.Command{
		Use:   "merge --adapter DIR --output-dir DIR",
		Short: "Write base model and adapter as one model that transformers, vLLM and others load",
		Long: `merge adds an adapter to its base model's weights and writes a folder as transformers does: model.safetensors, in
shards of 5 GB with their index where it is larger, config.json, the tokenizer's files and the chat template.
The folder is there whole or not at all, and never written over.`,
		Example: "  hone merge --adapter out/final --output-dir merged --dtype bf16\n" +
			"  hone merge --adapter out/final --output-dir merged --dry-run",
		Args: arguments(0, 0, ""),
		RunE: a.withConfig(func(ctx context.Context, c config.Config) error {
			out, err := basemodel.Merge(ctx, a.Host, c, o)
			if err != nil || a.DryRun {
				return err
			}
			return a.PrintThen(out, [][]string{{out.Output}},
				"next: hone eval --base-model %s --dataset SCENARIOS", o.Output)
		}),
	}
	c.Flags().StringVar(&o.Adapter, "adapter", "", "adapter folder, as a run's final")
	c.Flags().StringVar(&o.Base, "base-model", "",
		"base model: a path, or an installed name (default the one the adapter names)")
	c.Flags().StringVar(&o.Output, "output-dir", "", "folder to make")
	c.Flags().StringVar(&o.DType, "dtype", "",
		"type of the weights: f32 or bf16 (default as the base model has them; f32 of a GGUF file)")
	return c
}
