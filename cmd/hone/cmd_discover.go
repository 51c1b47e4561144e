package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hone/internal/basemodel"
	"hone/internal/fault"
	"hone/internal/toolset"
)

type discoverFlags struct {
	servers   toolset.Source
	out, diff string
}

func newDiscover(a *app) *cobra.Command {
	var f discoverFlags
	c := &cobra.Command{
		Use:   "discover",
		Short: "List the tools of the MCP servers and freeze them in a catalog",
		Long: "discover lists what each server offers, what is wrong with it, and what its tools cost in a prompt: " +
			"in tokens of the\n" +
			"base model where that is installed, else in bytes. With --diff it exits with 3 where the tools are not " +
			"those of a catalog.",
		Example: "  hone discover --mcp \"npx -y @modelcontextprotocol/server-filesystem .\"\n" +
			"  hone discover --mcp-config .mcp.json --out catalog.json\n" +
			"  hone discover --mcp-config .mcp.json --diff catalog.json",
		Args: arguments(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error { return runDiscover(c.Context(), a, f) },
	}
	a.serverFlags(c.Flags(), &f.servers)
	c.Flags().StringVar(&f.out, "out", "", "write the catalog to this file")
	c.Flags().StringVar(&f.diff, "diff", "", "say what differs from this catalog; exit code 3 where something does")
	return c
}

func runDiscover(ctx context.Context, a *app, f discoverFlags) error {
	c, err := a.config()
	if err == nil {
		c, err = basemodel.SettleLengths(a.Host, c)
	}
	if err != nil {
		return err
	}
	found, err := toolset.Discover(ctx, a.Host, c, f.servers, f.out, f.diff)
	if err != nil {
		return err
	}
	// else it is not installed: bytes will do
	if text, err := basemodel.OpenText(a.Host, c.Model, c.Model.Base); err == nil {
		length, err := text.CountPrompt(c.Rollout.System)
		if err == nil {
			err = found.Count(c.Model.Base, length)
		}
		if err != nil {
			a.Say("what the tools cost in a prompt of %s is not known: %s", c.Model.Base, fault.InnerText(err))
		}
	}
	found.Say(a.Host, c.Model.Context)
	if found.Changes != nil && len(*found.Changes) == 0 {
		a.Say("nothing has changed since %s: %s", f.diff, fault.Count(len(found.Catalog.Tools()), "tool"))
	}
	if err := a.Print(found, found.Rows()); err != nil {
		return err
	}
	if err := found.Err(); err != nil || found.Changes == nil || len(*found.Changes) == 0 {
		return err
	}
	return &fault.Error{
		Code:  fault.CodeFailures,
		What:  fmt.Sprintf("tools that are not those of the catalog: %d", len(*found.Changes)),
		Where: f.diff,
		Next:  "look at them; hone discover --out " + f.diff + " accepts them",
	}
}
