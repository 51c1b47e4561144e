package main

import (
	"github.com/spf13/cobra"

	"hone/internal/synth"
)

func newSynthReport(a *app) *cobra.Command {
	var x synth.Comparison
	c := &cobra.Command{
		Use:   "report FILE",
		Short: "Say how far made scenarios are from others, and held-out wordings from training's",
		Long: "report prints two tables: what the held-out tasks of FILE share with its training tasks, " +
			"and how lengths, tools, chains\n" +
			"and words of other files compare with FILE. It reads files alone.",
		Example: "  hone synth report scenarios.json\n" +
			"  hone synth report scenarios.json --scenarios hand.jsonl --data shown/trajectories.jsonl",
		Args: arguments(1, 1, "FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			x.File = args[0]
			compared, err := x.Run()
			if err != nil {
				return err
			}
			return a.Print(compared, compared.Rows())
		},
	}
	c.Flags().StringArrayVar(&x.Scenarios, "scenarios", nil, "compare with the scenarios of this file; may be repeated")
	c.Flags().StringArrayVar(&x.Data, "data", nil,
		"compare with the conversations of this file, as hone sft takes them; may be repeated")
	return c
}
