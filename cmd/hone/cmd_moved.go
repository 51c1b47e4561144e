package main

import (
	"github.com/spf13/cobra"

	"hone/internal/fault"
)

// releases is how one has hone-bench.
const releases = "a release has it beside hone, and make extras builds it"

// movedCommand stands in the place of a verb that another command has now, and says so.
func movedCommand(name, now, have string) *cobra.Command {
	return &cobra.Command{
		Use:                name,
		Short:              "Say which command does this now: " + now,
		Example:            "  " + now + " --help",
		Hidden:             true,
		DisableFlagParsing: true, // the flags are those of the command that does it now
		RunE: func(c *cobra.Command, _ []string) error {
			return &fault.Error{Code: fault.CodeUsage, What: c.CommandPath() + " is another command now: " + now,
				Why:  "hone itself knows nothing of benchmarks and experiments",
				Next: have + "; " + now + " --help says more"}
		},
	}
}
