package main

import (
	"context"

	"github.com/spf13/cobra"

	"hone/internal/synth"
)

func newScenarios(a *app) *cobra.Command {
	c := &cobra.Command{Use: "scenarios", Short: "Check, show and split scenario files"}
	var asked synth.Trying
	validate := &cobra.Command{
		Use:   "validate FILE",
		Short: "Execute the gold calls of each scenario on the servers, and say which rows do not hold",
		Long: `validate reads each row, makes its setup and gold calls in a session of its own, and checks that they are answered
without error and meet the row's checks. It tries each check on silence, on the task repeated and on wrong values too,
and says which cannot fail or cannot pass. Exit code 2 names the rows.`,
		Example: "  hone scenarios validate scenarios.json --mcp-config .mcp.json\n" +
			"  hone scenarios validate scenarios.jsonl --offline",
		Args: arguments(1, 1, "a scenarios file"),
		RunE: func(c *cobra.Command, args []string) error {
			return runScenariosValidate(c.Context(), a, asked, args[0])
		},
	}
	a.toolFlags(validate.Flags(), &asked.Servers, &asked.AllowFindings)
	validate.Flags().BoolVar(&asked.Offline, "offline", false, "check the rows alone and make no call")
	out, reassign := "", false
	split := &cobra.Command{
		Use:   "split FILE",
		Short: "Assign train, validation and test by a hash of each row's first call",
		Long: "split gives each row that has no split one of train (80%), validation and test (10% each), " +
			"by a hash of its first gold\n" +
			"call: one call worded in many ways stays in one split, and the same file gives the same splits.",
		Example: "  hone scenarios split scenarios.json --out scenarios.json\n" +
			"  hone scenarios split all.jsonl --reassign > split.json",
		Args: arguments(1, 1, "a scenarios file"),
		RunE: func(_ *cobra.Command, args []string) error { return synth.Split(a.Host, args[0], out, reassign) },
	}
	split.Flags().StringVar(&out, "out", "", "write the scenarios to this file (default stdout)")
	split.Flags().BoolVar(&reassign, "reassign", false, "forget the splits that the rows have")
	show := &cobra.Command{
		Use:     "show FILE [ID]...",
		Short:   "Show the scenarios of a file as hone reads them: openings, users, gold calls and checks",
		Long:    "show gives the beginning of a setup call or check that is long; --json gives all of it.",
		Example: "  hone scenarios show scenarios.json\n  hone scenarios show scenarios.jsonl cancel-1 --json",
		Args:    arguments(1, -1, "a scenarios file, and perhaps the ids of some"),
		RunE:    func(_ *cobra.Command, args []string) error { return synth.Show(a.Host, args[0], args[1:]) },
	}
	c.AddCommand(validate, split, show, newScenariosCheck(a), movedCommand("import", "hone-bench import", releases))
	return group(c)
}

func runScenariosValidate(ctx context.Context, a *app, x synth.Trying, path string) error {
	rows, err := synth.Read(path)
	if err != nil {
		return err
	}
	rows.SayPlan(a.Host)
	if a.DryRun {
		return nil
	}
	if !x.Offline && rows.Looks() {
		c, err := a.config()
		if err != nil {
			return err
		}
		if err := rows.Try(ctx, a.Host, c, x); err != nil {
			return err
		}
	}
	return rows.Print(a.Host)
}
