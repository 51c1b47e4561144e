package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hone/internal/episode/scenario"
	"hone/internal/episode/vet"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/toolset"
)

func newScenarios(a *app) *cobra.Command {
	c := &cobra.Command{Use: "scenarios", Short: "Check, show, split and import scenario files"}
	var servers toolset.Source
	offline := false
	validate := &cobra.Command{
		Use:   "validate FILE",
		Short: "Execute the gold calls of each scenario on the servers, and say which rows do not hold",
		Long: "validate reads each row, makes its setup and gold calls in a session of its own, and checks that they are answered\n" +
			"without error and meet the row's checks. It tries each check on silence, on the task repeated and on wrong values too,\n" +
			"and says which cannot fail or cannot pass. Exit code 2 names the rows.",
		Example: "  hone scenarios validate scenarios.json --mcp-config .mcp.json\n  hone scenarios validate scenarios.jsonl --offline",
		Args:    arguments(1, 1, "a scenarios file"),
		RunE: func(c *cobra.Command, args []string) error {
			return runScenariosValidate(c.Context(), a, servers, args[0], offline)
		},
	}
	a.serverFlags(validate.Flags(), &servers)
	validate.Flags().BoolVar(&offline, "offline", false, "check the rows alone and make no call")
	out, reassign := "", false
	split := &cobra.Command{
		Use:   "split FILE",
		Short: "Assign train, validation and test by a hash of each row's first call",
		Long: "split gives each row that has no split one of train (80%), validation and test (10% each), by a hash of its first gold\n" +
			"call: one call worded in many ways stays in one split, and the same file gives the same splits.",
		Example: "  hone scenarios split scenarios.json --out scenarios.json\n  hone scenarios split all.jsonl --reassign > split.json",
		Args:    arguments(1, 1, "a scenarios file"),
		RunE:    func(_ *cobra.Command, args []string) error { return runScenariosSplit(a, args[0], out, reassign) },
	}
	split.Flags().StringVar(&out, "out", "", "write the scenarios to this file (default stdout)")
	split.Flags().BoolVar(&reassign, "reassign", false, "forget the splits that the rows have")
	show := &cobra.Command{
		Use:     "show FILE [ID]...",
		Short:   "Show the scenarios of a file as hone reads them: openings, users, gold calls and checks",
		Example: "  hone scenarios show scenarios.json\n  hone scenarios show scenarios.jsonl cancel-1 --json",
		Args:    arguments(1, -1, "a scenarios file, and perhaps the ids of some"),
		RunE:    func(_ *cobra.Command, args []string) error { return runScenariosShow(a, args[0], args[1:]) },
	}
	c.AddCommand(validate, split, show, newScenariosCheck(a), newScenariosImport(a))
	return group(c)
}

func runScenariosSplit(a *app, path, out string, reassign bool) error {
	list, err := scenario.LoadRows(path)
	if err != nil {
		return err
	}
	if reassign {
		for i := range list {
			list[i].Split = ""
		}
	}
	scenario.AssignSplits(list)
	sizes, torn := scenario.SplitSizes(list)
	if torn > 0 {
		a.Say("warning: sets of rows that share calls and are in more than one split: %d; --reassign keeps each in one", torn)
	}
	a.Say("train %d, validation %d, test %d", sizes[scenario.Train], sizes[scenario.Validation], sizes[scenario.Test])
	if a.DryRun {
		return nil
	}
	if out != "" {
		return scenario.Save(out, list)
	}
	text, err := scenario.Encode(list, strings.HasSuffix(path, ".jsonl"))
	if err == nil {
		_, err = a.Data.Write(text)
	}
	return err
}

// runScenariosShow shows scenarios; ids are those to show, none for all.
func runScenariosShow(a *app, path string, ids []string) error {
	list, err := scenario.Load(path)
	if err == nil {
		list, err = scenario.WithIDs(list, ids, path)
	}
	if err != nil {
		return err
	}
	if a.JSON {
		return a.Print(list, nil)
	}
	for _, s := range list {
		if err := s.WriteText(a.Data); err != nil {
			return err
		}
	}
	return nil
}

// rowFinding is one reason why a row does not hold.
type rowFinding struct {
	File string `json:"file"`
	Line int    `json:"line"`
	ID   string `json:"id"`
	Why  string `json:"why"`

	Stderr map[string]string `json:"stderr,omitempty"` // what servers wrote meanwhile, by server
}

func runScenariosValidate(ctx context.Context, a *app, f toolset.Source, path string, offline bool) error {
	list, lines, err := scenario.LoadLines(path)
	if err != nil {
		return err
	}
	findings := []rowFinding{}
	find := func(i int, why string, said map[string]string) {
		findings = append(findings, rowFinding{path, lines[i], list[i].ID, why, said})
	}
	numCalls, unscored, looks := 0, 0, false
	for i := range list {
		numCalls += len(list[i].Setup) + len(list[i].Gold)
		looks = looks || vet.Looks(&list[i])
		if len(list[i].Checks) == 0 {
			unscored++
		}
		for _, why := range vet.Alone(&list[i]) {
			find(i, why, nil)
		}
	}
	if unscored > 0 {
		a.Say("note: %s without checks: only a judge could score what has none", fault.Count(unscored, "scenario"))
	}
	if a.DryRun {
		a.Say("would make %s for %s", fault.Count(numCalls, "call"), fault.Count(len(list), "scenario"))
		return nil
	}
	if !offline && looks {
		c, err := a.config()
		if err != nil {
			return err
		}
		if err := job.TryScenarios(ctx, a.Host, c, f, list, find); err != nil {
			return err
		}
	}
	rows := [][]string{}
	for _, x := range findings {
		rows = append(rows, []string{fmt.Sprintf("%s:%d", x.File, x.Line), x.ID, host.OneLine(x.Why)})
	}
	if err := a.Print(findings, rows); err != nil {
		return err
	}
	for _, x := range findings {
		for _, server := range slices.Sorted(maps.Keys(x.Stderr)) {
			a.Say("%s:%d: server %s wrote to stderr:\n  %s", x.File, x.Line, server, fault.Indented(strings.TrimSpace(x.Stderr[server]), "  "))
		}
	}
	if len(findings) > 0 {
		return &fault.Error{Code: fault.CodeUsage, What: fault.Count(len(findings), "finding") + " in " + fault.Count(len(list), "scenario"),
			Where: rows[0][0], Why: findings[0].Why, Next: "correct these rows, or leave them out"}
	}
	a.Say("nothing is wrong with %s", fault.Count(len(list), "scenario"))
	return nil
}
