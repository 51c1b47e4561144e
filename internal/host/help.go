package host

import (
	"fmt"
	"slices"
	"strings"

	"hone/internal/fault"
)

// Purpose is hone's purpose, and what holds of all verbs.
const Purpose = "hone takes an MCP server and a base model and gives back a model that is expert at those tools.\n\n" +
	"Data goes to stdout, talk to stderr. Exit codes: 0 ok, 1 error, 2 usage or configuration, 3 too many failures,\n" +
	"4 budget spent, 5 a server cannot be reached, 6 disk, memory or device exhausted, 7 stopped and resumable."

// FirstRun are the commands that lead from nothing to an adapter that is measured. README.md has the same, and each of
// these verbs says the next.
func FirstRun() []string {
	return []string{
		"hone engine install cpu SmolLM2-135M-Instruct --yes",
		"hone servers add npm:@wrtnlabs/calculator-mcp --name calculator",
		"hone synth --out scenarios.json -n 400",
		"hone collect --gold --yes --dataset scenarios.json --output-dir shown",
		"hone sft --data shown/trajectories.jsonl --output-dir sft",
		"hone train --adapter sft/final --dataset scenarios.json --output-dir out",
		"hone eval --model out/final --dataset scenarios.json --split test --compare-base --output-dir evaluated",
	}
}

// VerbGroup is a heading of the help, and the verbs under it in the order in which one needs them.
type VerbGroup struct{ Title, Verbs string }

// VerbGroups are all headings.
func VerbGroups() []VerbGroup {
	return []VerbGroup{
		{"Start", "demo doctor engine servers discover config"},
		{"Tasks and traces", "synth scenarios refresh collect curate data"},
		{"Train", "sft dpo train sidecar"},
		{"Measure", "eval judge replay"},
		{"Use", "chat serve env cluster proxy merge push pull"},
		{"Look", "view runs mcp inspect version help completion"},
	}
}

// VerbHelp is a verb with what it does.
type VerbHelp struct{ Name, Short string }

// RootHelp is the help of hone itself. about is its purpose, and in paragraphs of their own what holds of all verbs;
// flags are of all verbs too.
func RootHelp(about string, all []VerbHelp, flags string) string {
	purpose, rest, _ := strings.Cut(about, "\n\n")
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nA first run (hone doctor says what is missing for it; hone demo runs all of it, small):\n",
		purpose)
	for _, line := range FirstRun() {
		b.WriteString("  " + line + "\n")
	}
	width := 0
	for _, v := range all {
		width = max(width, len(v.Name))
	}
	for _, g := range VerbGroups() {
		fmt.Fprintf(&b, "\n%s:\n", g.Title)
		for _, name := range strings.Fields(g.Verbs) {
			if i := slices.IndexFunc(all, func(v VerbHelp) bool { return v.Name == name }); i >= 0 {
				fmt.Fprintf(&b, "  %-*s  %s\n", width, name, all[i].Short)
			}
		}
	}
	fmt.Fprintf(&b, "\nFlags of every verb:\n%s\n%s\n\nhone VERB --help says more about one.\n", flags, rest)
	return b.String()
}

// UnknownVerb is the error of a verb that path does not have. It names the one that is near.
func UnknownVerb(written, path string, all []VerbHelp) error {
	var names []string
	for _, v := range all {
		names = append(names, v.Name)
	}
	why := ""
	if near := fault.NearestVerb(written, names); near != "" {
		why = fmt.Sprintf("did you mean %q?", near)
	}
	return &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("unknown command %q for %q", written, path), Why: why,
		Next: path + " --help"}
}
