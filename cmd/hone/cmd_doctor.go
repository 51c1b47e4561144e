package main

import (
	"context"

	"github.com/spf13/cobra"

	"hone/internal/doctor"
	"hone/internal/toolset"
)

func newDoctor(a *app) *cobra.Command {
	var servers toolset.Source
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check the plug-in, the model, memory, disk and the MCP servers",
		Long: "Check what a run needs of this machine. Of each server: protocol, transport, tools, what is wrong with them, what it\n" +
			"prints where no message belongs, how fast it answers, and whether episodes can be isolated. Exit 1 where something is\n" +
			"missing that a run cannot do without.",
		Example: "  hone doctor\n  hone doctor --json",
		Args:    arguments(0, 0, ""),
		RunE:    func(c *cobra.Command, _ []string) error { return runDoctor(c.Context(), a, servers) },
	}
	a.serverFlags(c.Flags(), &servers)
	return c
}

func runDoctor(ctx context.Context, a *app, f toolset.Source) error {
	c, err := a.config()
	if err != nil {
		return err
	}
	checks, err := doctor.Machine(a.Host, c)
	if err != nil {
		return err
	}
	return doctor.Print(a.Host, append(checks, doctor.Servers(ctx, a.Host, c, f)...))
}
