package main

import (
	"github.com/spf13/cobra"

	"hone/internal/data/overlap"
	"hone/internal/episode/scenario"
	"hone/internal/job/records"
)

func newScenariosCheck(a *app) *cobra.Command {
	var c records.OverlapCheck
	cmd := &cobra.Command{
		Use: "check FILE",
		Short: "Say what of the test split stands in what is learnt from: tasks, calls, tools, servers, " +
			"and near copies",
		Long: `check holds the scenarios of one split against what is learnt from: the split train of the file and of each --train, the
conversations of each --data, and what the record of the adapter --model names. It counts how many of the split's tasks,
calls, tools and servers stand there too, and lists scenarios whose task is a near copy. --by says by which of these the
splits are meant to be apart: where they are not, and where there are near copies with the same values, the exit code is 2.`,
		Example: "  hone scenarios check scenarios.json\n" +
			"  hone scenarios check bench.json --data traces/trajectories.jsonl --model out/final\n" +
			"  hone scenarios check scenarios.json --by tool --json",
		Args: arguments(1, 1, "a scenarios file"),
		RunE: func(_ *cobra.Command, args []string) error {
			c.File = args[0]
			return runScenariosCheck(a, c)
		},
	}
	cmd.Flags().StringVar(&c.Split, "split", scenario.Test, "the split that is measured on")
	cmd.Flags().StringArrayVar(&c.Train, "train", nil, "another file of scenarios, whose split train is learnt from")
	cmd.Flags().StringArrayVar(&c.Data, "data", nil, "a file of conversations that hone sft learns from")
	cmd.Flags().StringVar(&c.Model, "model", "", "an adapter, whose runs say what it learnt from")
	cmd.Flags().StringVar(&c.By, "by", overlap.Call, "by what the splits are to be apart: task, call, tool or server")
	cmd.Flags().StringVar(&c.Catalog, "catalog", "", "a catalog of hone discover, which says whose each tool is")
	cmd.Flags().Float64Var(&c.Threshold, "threshold", overlap.Threshold,
		"from which similarity on two tasks are near copies, above 0 and at most 1")
	return cmd
}

func runScenariosCheck(a *app, c records.OverlapCheck) error {
	found, err := c.Overlap(a.Host)
	if err != nil {
		return err
	}
	found.Tell(a.Say)
	if err := a.Print(found, found.Rows()); err != nil {
		return err
	}
	return found.Err(c.File)
}
