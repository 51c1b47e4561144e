package main

import (
	"github.com/spf13/cobra"

	"hone/internal/evaluate"
	"hone/internal/job"
)

func newEvalPower(a *app) *cobra.Command {
	var p evaluate.Power
	rate, correlation := 0.0, 0.0
	c := &cobra.Command{
		Use:   "power [RUN]",
		Short: "Say how many scenarios find how small a difference",
		Long: "Prints how many scenarios, and how many repeats of each, find a difference of two systems with a probability of 80% and of 90%.\n" +
			"RUN is an evaluation whose rate and spread are taken; without it both are 0.5, or --rate and --correlation. Nothing is run.",
		Example: "  hone eval power --rate 0.6 --differences 0.05,0.1\n  hone eval power evaluated --repeats 1,4 --scenarios 100,200\n  hone eval power evaluated --json",
		Args:    arguments(0, 1, "the name or the folder of a run"),
	}
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if c.Flags().Changed("rate") {
			p.Rate = &rate
		}
		if c.Flags().Changed("correlation") {
			p.Correlation = &correlation
		}
		path := ""
		if len(args) > 0 {
			if path, err = a.runPath("", args[0]); err != nil {
				return err
			}
		}
		settings, err := a.config()
		if err != nil {
			return err
		}
		told, err := p.Tell(path, job.IntervalsOf(settings).Level)
		if err != nil {
			return err
		}
		a.Say("%s", told)
		return a.Print(told, told.Table())
	}
	c.Flags().Float64Var(&rate, "rate", 0, "share of episodes that the old system does, above 0 and below 1")
	c.Flags().Float64Var(&correlation, "correlation", 0, "how alike two attempts at one scenario are, 0 to 1, of one system and of two")
	c.Flags().Float64SliceVar(&p.Differences, "differences", []float64{0.02, 0.05, 0.1, 0.2}, "differences to find: new minus old share")
	c.Flags().IntSliceVar(&p.Repeats, "repeats", []int{1, 4}, "episodes of each scenario")
	c.Flags().Float64SliceVar(&p.Powers, "power", []float64{0.8, 0.9}, "probabilities to find them with")
	c.Flags().IntSliceVar(&p.Scenarios, "scenarios", nil, "numbers of scenarios, to say the smallest gain that they find")
	return c
}
