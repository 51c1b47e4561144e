package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/host"
)

// onlyHolds is the annotation of a command that does nothing but hold others.
const onlyHolds = "only holds"

// verbsOf are the verbs under a command that are shown.
func verbsOf(c *cobra.Command) (all []host.VerbHelp) {
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			all = append(all, host.VerbHelp{Name: sub.Name(), Short: sub.Short})
		}
	}
	return all
}

// helpByGroup has root's own help lead: a first run, then the verbs by what they are for. That of the others stays
// cobra's.
func helpByGroup(root *cobra.Command) {
	ready := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if c.HasParent() {
			ready(c, args)
			return
		}
		fmt.Fprint(c.OutOrStdout(), host.RootHelp(c.Long, verbsOf(c), c.LocalFlags().FlagUsages()))
	})
}

// flagError turns pflag's error into ours; for an unknown flag it names the key of the configuration that says so, or
// the nearest flag.
func flagError(c *cobra.Command, err error) error {
	// a flag of a verb that is not there says nothing
	if _, holds := c.Annotations[onlyHolds]; holds && c.Flags().NArg() > 0 {
		return host.UnknownVerb(c.Flags().Arg(0), c.CommandPath(), verbsOf(c))
	}
	e := &fault.Error{Code: fault.CodeUsage, What: err.Error(), Next: c.CommandPath() + " --help"}
	if name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --"); unknown {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		e.Why, e.Next = config.NearestFlag(strings.TrimPrefix(c.CommandPath(), "hone "), name, names, e.Next)
	}
	if wrong, is := errors.AsType[*pflag.InvalidValueError](err); is {
		if takes := valueOf(wrong.GetFlag()); takes != "" {
			e.What = fmt.Sprintf("--%s takes %s, not %q", wrong.GetFlag().Name, takes, wrong.GetValue())
		}
	}
	if strings.HasSuffix(err.Error(), "needs an argument: --allow-findings") {
		e.Why, e.Next = "findings are accepted tool by tool",
			"name them as --allow-findings server/tool, or all of a server's as server/*"
	}
	return e
}

// valueOf is what a flag takes; "" where the flag's own error says so.
func valueOf(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "int", "int32", "int64", "count":
		return "a whole number up to 9223372036854775807"
	case "uint", "uint32", "uint64":
		return "a whole number from 0 to 18446744073709551615"
	case "float32", "float64":
		return "a number"
	case "duration":
		return "a duration, such as 30s or 5m"
	case "bool":
		return "true or false"
	}
	return ""
}

// baseOption is how a command is told its base model. What goes wrong with one is met in rooms that know no command,
// whose hints have the flag of those that train, evaluate and serve.
func baseOption(c *cobra.Command) string {
	switch {
	case c.Flags().Lookup("base-model") != nil:
		return "--base-model"
	case c.HasParent() && c.Parent().Name() == "inspect":
		return "--model"
	}
	return "model.base"
}
