package main

import (
	"github.com/spf13/cobra"

	"hone/internal/job/collect"
)

func newJudge(a *app) *cobra.Command {
	c := group(&cobra.Command{Use: "judge", Short: "Measure a judge before it is believed",
		Example: "  hone judge calibrate --judge-model openai/gpt-4o-mini"})
	c.AddCommand(newJudgeCalibrate(a))
	return c
}

func newJudgeCalibrate(a *app) *cobra.Command {
	var k collect.Calibration
	c := &cobra.Command{
		Use:   "calibrate [RUN]",
		Short: "Measure how a judge agrees with rules, people and itself, what fools it, and what it costs",
		Long: `calibrate has the judge score episodes of which it is known whether they pass: those of RUN, by its checks and by --labels, or
those of a set. To each group it adds attempts that must not pass: one that only says what is known to fool judges, and one that
orders the judge. It prints each number with an interval.`,
		Example: "  hone judge calibrate --judge-model openai/gpt-4o-mini --budget-usd 1\n" +
			"  hone judge calibrate runs/out --labels labels.jsonl --judge-model " +
			"http://127.0.0.1:8000/v1/Qwen3-32B --json",
		Args: arguments(0, 1, "the name or the folder of a run"),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				var err error
				if k.Run, err = a.runPath("", args[0]); err != nil {
					return err
				}
			}
			settings, err := a.config()
			if err != nil {
				return err
			}
			report, err := k.Measure(c.Context(), a.Host, settings)
			if err != nil || a.DryRun {
				return err
			}
			return a.Print(report, report.Table())
		},
	}
	judgeFlags(c.Flags(), &k.Judge)
	c.Flags().StringVar(&k.Labels, "labels", "",
		`file of what people say of the run's episodes: a line {"episode": NAME, "passed": true} for each`)
	c.Flags().StringVar(&k.Set, "set", "", "file of a set of labelled attempts, in place of the built-in one")
	c.Flags().IntVar(&k.Groups, "groups", 50, "most groups of the run to judge, drawn by the seed; 0 takes all")
	return c
}
