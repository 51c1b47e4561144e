package main

import (
	"github.com/spf13/cobra"

	"hone/internal/fault"
	"hone/internal/job/records"
	"hone/internal/view/terminal"
)

func newRunsRollouts(a *app, dir *string) *cobra.Command {
	var pick records.Pick
	step := 0
	c := &cobra.Command{
		Use:   "rollouts RUN",
		Short: "List the episodes of a run, or the worst of a step, with the checks that each failed",
		Example: "  hone runs rollouts demo\n  hone runs rollouts demo --step 12 --worst 5\n" +
			"  hone runs rollouts demo --stage eval_base --json",
		Args: arguments(1, 1, "the name or the folder of a run"),
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("step") {
				pick.Step = &step
			}
			if pick.Worst < 0 {
				return &fault.Error{Code: fault.CodeUsage, What: "--worst is a count", Next: "give 1 or more"}
			}
			path, err := a.runPath(*dir, args[0])
			if err != nil {
				return err
			}
			return terminal.Episodes(a.Host, path, pick)
		},
	}
	c.Flags().IntVar(&step, "step", 0, "those of one step: of GRPO where the run has it, else of each stage")
	c.Flags().StringVar(&pick.Stage, "stage", "", "those of one stage, such as grpo, validation or eval_base")
	c.Flags().IntVar(&pick.Worst, "worst", 0,
		"so many of those that earned least, the least first; lost and unscored ones are left out")
	return c
}
