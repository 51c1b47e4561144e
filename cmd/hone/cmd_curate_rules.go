package main

import (
	"sort"
	"strconv"

	"github.com/spf13/cobra"

	"hone/internal/data"
	"hone/internal/data/curate"
)

func newCurateRules(a *app, at atDesk) *cobra.Command {
	var r curate.Rules
	c := &cobra.Command{
		Use:   "rules DATA",
		Short: "Reject what rules refuse, near copies, and what is there too often",
		Example: "  hone curate rules traces/trajectories.jsonl --checks-passed --schema-valid --no-tool-error " +
			"--near 0.9 --per-tool 20",
		Args: arguments(1, 1, "a file of traces"),
	}
	c.RunE = at(func(_ *cobra.Command, d *data.Desk, _ []string) error {
		done, err := d.Rules(r)
		if err != nil {
			return err
		}
		rows := [][]string{{"rule", "rejected"}}
		for rule, n := range done.Rejected {
			rows = append(rows, []string{rule, strconv.Itoa(n)})
		}
		rejected := rows[1:]
		sort.Slice(rejected, func(i, j int) bool { return rejected[i][0] < rejected[j][0] })
		a.Say("%s", done.Text())
		return a.Print(done, rows)
	})
	c.Flags().BoolVar(&r.ChecksPassed, "checks-passed", false, "the checks of the scenario hold")
	c.Flags().BoolVar(&r.SchemaValid, "schema-valid", false, "each call fits the schema of its tool, and has a result")
	c.Flags().BoolVar(&r.NoToolError, "no-tool-error", false, "each call was answered without an error")
	c.Flags().IntVar(&r.MaxTurns, "max-turns", 0, "most assistant messages to learn from one trace; 0 has no bound")
	c.Flags().Float64Var(&r.MinJudge, "min-judge", 0, "least score that the judge gave; 0 asks for none")
	c.Flags().IntVar(&r.MinRating, "min-rating", 0, "least rating that a person gave; 0 asks for none")
	c.Flags().Float64Var(&r.Near, "near", 0,
		"from this similarity on two traces with the same values are near copies, and the better stays; 0 keeps both")
	c.Flags().IntVar(&r.PerTool, "per-tool", 0,
		"most traces of each tool: a trace stays while one of its tools has fewer; 0 has no bound")
	c.Flags().IntVar(&r.PerLength, "per-length", 0,
		"most traces of each number of calls: 0, 1, 2 to 3, 4 to 7, and so on; 0 has no bound")
	return c
}
