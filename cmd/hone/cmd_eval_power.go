package main

import (
	"github.com/spf13/cobra"

	"hone/internal/eval"
	"hone/internal/job"
)

func newEvalPower(a *app) *cobra.Command {
	var p eval.Power
	c := &cobra.Command{
		Use:   "power [RUN]",
		Short: "Say how many scenarios find how small a difference",
		Long: `Prints how many scenarios, and how many repeats of each, find a difference of two systems with a probability of 80% and of 90%.
RUN is an evaluation whose rate, spread and families are taken; without it rate and correlation are 0.5, and there are no families.
Flags say them too. Nothing is run.`,
		Example: "  hone eval power --rate 0.6 --differences 0.05,0.1\n" +
			"  hone eval power evaluated --repeats 1,4 --scenarios 100,200\n" +
			"  hone eval power --family-size 8 --family-correlation 0.2\n  hone eval power evaluated --json",
		Args: arguments(0, 1, "the name or the folder of a run"),
	}
	given := map[string]*float64{ // what a run says too, so that 0 is not none
		"rate": c.Flags().Float64("rate", 0,
			"share of episodes that the old system does, above 0 and below 1"),
		"correlation": c.Flags().Float64("correlation", 0,
			"how alike two attempts at one scenario are, 0 to 1, of one system and of two"),
		"family-size": c.Flags().Float64("family-size", 0,
			"scenarios of a family, 1 or more (default the run's, else 1: no families)"),
		"family-correlation": c.Flags().Float64("family-correlation", 0,
			"how alike the differences of a family's scenarios are, 0 to 1 (default the run's, else 0.5)"),
	}
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		for name, to := range map[string]**float64{
			"rate":               &p.Rate,
			"correlation":        &p.Correlation,
			"family-size":        &p.FamilySize,
			"family-correlation": &p.Family,
		} {
			if c.Flags().Changed(name) {
				*to = given[name]
			}
		}
		path := ""
		if len(args) > 0 {
			if path, err = a.runPath("", args[0]); err != nil {
				return err
			}
		}
		cfg, err := a.config()
		if err != nil {
			return err
		}
		told, err := p.Tell(path, job.IntervalsOf(cfg).Level)
		if err != nil {
			return err
		}
		a.Say("%s", told)
		return a.Print(told, told.Table())
	}
	c.Flags().Float64SliceVar(&p.Differences, "differences", []float64{0.02, 0.05, 0.1, 0.2},
		"differences to find: new minus old share")
	c.Flags().IntSliceVar(&p.Repeats, "repeats", []int{1, 4}, "episodes of each scenario")
	c.Flags().Float64SliceVar(&p.Powers, "power", []float64{0.8, 0.9}, "probabilities to find them with")
	c.Flags().IntSliceVar(&p.Scenarios, "scenarios", nil,
		"numbers of scenarios, to say the smallest gain that they find")
	return c
}
