package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hone/internal/mcp"
)

func newDiscover(a *app) *cobra.Command {
	var servers serverFlags
	out := ""
	c := &cobra.Command{
		Use:   "discover",
		Short: "List the tools of the MCP servers and freeze them in a catalog",
		Example: "  hone discover --mcp \"npx -y @modelcontextprotocol/server-filesystem .\"\n" +
			"  hone discover --mcp-config .mcp.json --out catalog.json",
		Args: arguments(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error { return runDiscover(c.Context(), a, servers, out) },
	}
	servers.register(c.Flags())
	c.Flags().StringVar(&out, "out", "", "write the catalog to this file")
	return c
}

func runDiscover(ctx context.Context, a *app, f serverFlags, out string) error {
	c, err := a.config()
	if err != nil {
		return err
	}
	servers, err := a.servers(c, f)
	if err != nil {
		return err
	}
	catalog, err := mcp.Discover(ctx, servers)
	if err != nil {
		return err
	}
	if out != "" && !a.dryRun {
		if err := catalog.Save(out); err != nil {
			return err
		}
		a.say("catalog: %s", out)
	}
	rows := [][]string{{"SERVER", "ERA", "TRANSPORT", "TOOL", "STATUS", "SCHEMA BYTES"}}
	for _, s := range catalog.Servers {
		for _, t := range s.Tools {
			rows = append(rows, []string{s.Name, s.Era, s.Transport, t.ModelName, string(t.Status), fmt.Sprint(len(t.InputSchema))})
		}
	}
	found := findingsOf(catalog)
	a.sayFindings(found)
	return a.print(discovered{catalog, found}, rows)
}
