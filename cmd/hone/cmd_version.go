package main

import (
	"github.com/spf13/cobra"

	"hone/internal/host"
)

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print what built this binary",
		Example: "  hone version --json",
		Args:    arguments(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			v := host.ReadBuild()
			return a.Print(v, [][]string{{"hone " + v.Version, v.Revision, v.Go, v.Platform}})
		},
	}
}
