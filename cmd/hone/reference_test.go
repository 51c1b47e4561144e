package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hone/internal/host"
)

const referenceFile = "../../docs/reference.md"

// docs/reference.md is made from the verbs and their flags, and is never behind them.
func TestReference(t *testing.T) {
	got := reference(newRoot(&app{Host: &host.Host{}}))
	if *update {
		if err := os.WriteFile(referenceFile, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Error("docs/reference.md is not what the flags say; go test ./cmd/hone -run Reference -update rewrites it")
	}
}

func TestReferenceSeesANewFlag(t *testing.T) {
	root := newRoot(&app{Host: &host.Host{}})
	before := reference(root)
	root.Commands()[0].Flags().Bool("planted", false, "what was planted")
	if after := reference(root); after == before || !strings.Contains(after, "what was planted") {
		t.Error("a planted flag does not show")
	}
}

// reference describes every verb that does something.
func reference(root *cobra.Command) string {
	var list, pages strings.Builder
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden {
			return
		}
		if c.HasParent() && c.Example != "" { // a group shows none: it only names its verbs
			list.WriteString(
				wrapped(fmt.Sprintf("- [%s](#%s): %s", strings.TrimPrefix(c.CommandPath(), "hone "),
					strings.ReplaceAll(c.CommandPath(), " ", "-"), c.Short), "  ") + "\n",
			)
			writePage(&pages, c)
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	var b strings.Builder
	b.WriteString("# Reference\n\nEvery verb with its flags, as `--help` shows them. " +
		"`go test ./cmd/hone -run Reference -update` makes this page.\n" +
		"[guide.md](guide.md) says how the verbs work together.\n\n## Flags of every verb\n\n")
	writeFlags(&b, root.PersistentFlags())
	fmt.Fprintf(&b, "\n## Verbs\n\n%s%s", &list, &pages)
	return b.String()
}

func writePage(b *strings.Builder, c *cobra.Command) {
	fmt.Fprintf(b, "\n## %s\n\n%s.\n", c.CommandPath(), c.Short)
	if c.Long != "" {
		fmt.Fprintf(b, "\n%s\n", strings.TrimSpace(c.Long))
	}
	fmt.Fprintf(b, "\n```\n%s\n", c.UseLine())
	if c.Example != "" {
		fmt.Fprintf(b, "\n%s\n", strings.TrimRight(c.Example, "\n"))
	}
	b.WriteString("```\n")
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.AddFlagSet(c.LocalFlags())
	for p := c.Parent(); p != nil && p.HasParent(); p = p.Parent() {
		flags.AddFlagSet(p.PersistentFlags())
	}
	if flags.HasAvailableFlags() {
		b.WriteString("\n")
		writeFlags(b, flags)
	}
}

// writeFlags lists flags one under the other: a table's cells would be too long.
func writeFlags(b *strings.Builder, flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if value != "" {
			name += " " + value
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0" {
			usage += " (default `" + f.DefValue + "`)"
		}
		b.WriteString(wrapped("- `"+name+"`: "+usage, "  ") + "\n")
	})
}

// wrapped breaks a line where it is longer than the docs' lines.
func wrapped(text, indent string) string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > 120 {
			lines, line = append(lines, line), indent+word
			continue
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return strings.Join(append(lines, line), "\n")
}
