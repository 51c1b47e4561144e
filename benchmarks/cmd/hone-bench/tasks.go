package main

import (
	"strings"

	"github.com/spf13/cobra"

	"hone/benchmarks/tasks"
)

func newImport(a *app) *cobra.Command {
	var o tasks.Options
	out, dry := "", false
	c := &cobra.Command{
		Use:   "import PATH",
		Short: "Make scenarios of the task files of MCP-Bench, MCPMark, Toolathlon-GYM or Agent World Model",
		Long: `import reads task files that you have, and writes them as scenarios:

  mcpbench    a *_runner_format.json of MCP-Bench, or the folder of them
  mcpmark     the folder tasks of MCPMark, or one below it: description.md, meta.json, verify.py
  toolathlon  the folder tasks/finalpool of Toolathlon-GYM, or one task of it
  awm         the folder with Agent World Model's gen_tasks.jsonl, gen_db.jsonl, gen_sample.jsonl and
              gen_verifier.pure_code.jsonl

Checks that are programs become command checks, and databases start states; both go into a folder beside the scenarios.
No program is run by import. What cannot be run as a scenario is named with the reason, and so is each unknown field.`,
		Example: "  hone-bench import --from mcpbench mcp-bench/tasks --out bench.json\n" +
			"  hone-bench import --from mcpmark mcpmark/tasks/filesystem --states test_environments --out mark.json\n" +
			"  hone-bench import --from awm AgentWorldModel-1K --only 'e_commerce_33/*' --out shop.json",
		Args: arguments(1, 1, "a file or a folder of tasks"),
		RunE: func(_ *cobra.Command, args []string) error {
			o.From = args[0]
			if dry {
				a.Say("would read %s as %s, and write %s", o.From, o.Form, out)
				return nil
			}
			found, err := tasks.Import(o, out)
			found.Tell(a.Say)
			if err != nil {
				return err
			}
			return a.Print(found, found.Rows(out))
		},
	}
	c.Flags().StringVar(&o.Form, "from", "", "what form the tasks have: "+strings.Join(tasks.Forms(), ", "))
	c.Flags().StringVar(&out, "out", "scenarios.json", "write the scenarios to this file")
	c.Flags().StringVar(&o.Only, "only", "", "take the tasks alone whose id fits this pattern, as 'shop_*/0'")
	c.Flags().StringVar(&o.States, "states", "",
		"of mcpmark: the folder with its unpacked start states, one folder for each category")
	c.Flags().BoolVar(&o.Unchecked, "unchecked", false,
		"take tasks too whose own check cannot be made here, without checks")
	c.Flags().BoolVar(&dry, "dry-run", false, "say what would be done, and do nothing")
	return c
}
