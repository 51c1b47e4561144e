package main

import (
	"github.com/spf13/cobra"

	"hone/benchmarks/bfcl"
)

func newCalls(a *app) *cobra.Command {
	var s bfcl.Stored
	c := &cobra.Command{
		Use:   "calls [FILE]",
		Short: `{"tools", "gold", "output"} -> {"valid", "tool", "param", "ast", "errors"}, by BFCL's rules`,
		Long: `calls grades stored tool calls offline. It reads JSON lines from FILE or stdin and writes one verdict a line on stdout, in
the same order. Totals with intervals go to stderr, with --json as JSON.

  {"tools": [...], "gold": [{NAME: {PARAMETER: [ACCEPTED, ...]}}], "output": [{"name": NAME, "arguments": JSON TEXT}]}

An accepted value of "" says that the argument may be left out; a gold of [] that no call is right. A line may also have
id, category (BFCL's name, else what follows from the numbers of gold calls and tools), language (python, java or
javascript), server, and underscore_to_dot. A line that fails becomes {"error": ...}, and the exit code is 3.`,
		Example: "  hone-bench calls < answers.jsonl > verdicts.jsonl\n" +
			"  hone-bench calls answers.jsonl --seen catalog.json --json > verdicts.jsonl 2> totals.json\n" +
			"  hone-bench calls --run evaluated --stage eval_model",
		Args: arguments(0, 1, "one file at most"),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				s.File = args[0]
			}
			return bfcl.Run(c.Context(), a.Host, s)
		},
	}
	f := c.Flags()
	f.StringVar(&s.Seen, "seen", "",
		"what training had: its catalog, scenarios, rows or trajectories; sets seen from unseen tools and servers")
	f.StringVar(&s.Run, "run", "",
		"folder of a run: grades the calls of an evaluation that it keeps, in place of lines")
	f.StringVar(&s.Stage, "stage", "", "with --run: which evaluation, where it keeps several, as eval_base")
	f.BoolVar(&s.Underscores, "underscore-to-dot", false,
		"tools with a dot in their name were shown, and are called, with underscores")
	return c
}
