package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// firstRun are the commands that lead from nothing to an adapter.
func firstRun() []string {
	return []string{
		"hone servers add npm:@wrtnlabs/calculator-mcp --name calculator",
		"hone synth --out scenarios.json -n 400",
		"hone train --base-model SmolLM2-135M-Instruct --dataset scenarios.json --output-dir out",
	}
}

// verbGroup is a heading of the help, and the verbs under it in the order in which one needs them.
type verbGroup struct{ title, verbs string }

func verbGroups() []verbGroup {
	return []verbGroup{
		{"Start", "demo doctor engine servers discover config"},
		{"Tasks and traces", "synth scenarios refresh collect curate data"},
		{"Train", "sft dpo train sidecar"},
		{"Measure", "eval judge replay"},
		{"Use", "chat serve proxy merge push pull"},
		{"Look", "runs inspect version help completion"},
	}
}

// helpByGroup has root's own help lead: a first run, then the verbs by what they are for. That of the others stays cobra's.
func helpByGroup(root *cobra.Command) {
	ready := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if c.HasParent() {
			ready(c, args)
			return
		}
		writeHelp(c.OutOrStdout(), c)
	})
}

func writeHelp(w io.Writer, root *cobra.Command) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nA first run (hone doctor says what is missing for it; hone demo runs all of it, small):\n", strings.SplitN(root.Long, "\n\n", 2)[0])
	for _, line := range firstRun() {
		b.WriteString("  " + line + "\n")
	}
	all := root.Commands()
	width := 0
	for _, c := range all {
		width = max(width, len(c.Name()))
	}
	for _, g := range verbGroups() {
		fmt.Fprintf(&b, "\n%s:\n", g.title)
		for _, name := range strings.Fields(g.verbs) {
			if i := slices.IndexFunc(all, func(c *cobra.Command) bool { return c.Name() == name }); i >= 0 {
				fmt.Fprintf(&b, "  %-*s  %s\n", width, name, all[i].Short)
			}
		}
	}
	_, rest, _ := strings.Cut(root.Long, "\n\n")
	fmt.Fprintf(&b, "\nFlags of every verb:\n%s\n%s\n\nhone VERB --help says more about one.\n", root.LocalFlags().FlagUsages(), rest)
	_, _ = io.WriteString(w, b.String()) // stdout that is closed: nobody reads it
}
