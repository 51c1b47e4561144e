package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hone/internal/fault"
)

// flagError turns pflag's error into ours. For an unknown flag it names the nearest one: a flag that begins alike, or
// that shares most of its letters' order.
func flagError(c *cobra.Command, err error) error {
	e := &fault.Error{Code: fault.CodeUsage, What: err.Error(), Next: c.CommandPath() + " --help"}
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !unknown {
		return e
	}
	best := 0
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if n := common(f.Name, name); n > best && 2*n > max(len(f.Name), len(name)) {
			best = n
			e.Why = "did you mean --" + f.Name + "?"
		}
	})
	return e
}

// common is the length of the longest common subsequence.
func common(a, b string) int {
	row := make([]int, len(b)+1)
	for i := range len(a) {
		diagonal := 0
		for j := range len(b) {
			above := row[j+1]
			if row[j+1] = max(above, row[j]); a[i] == b[j] {
				row[j+1] = diagonal + 1
			}
			diagonal = above
		}
	}
	return row[len(b)]
}
