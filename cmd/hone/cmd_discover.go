package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/mcp"
	"hone/internal/mcp/lint"
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
		Long: "discover lists what each server offers, what is wrong with it, and what its tools cost in a prompt: in tokens of the\n" +
			"base model where that is installed, else in bytes. With --diff it exits with 3 where the tools are not those of a catalog.",
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

// discovered is what discover prints as JSON: the catalog as it is saved, what is suspicious about it, what its tools
// cost, and with --diff what differs.
type discovered struct {
	*mcp.Catalog
	Suspicious []lint.Finding `json:"suspicious"`
	Tokens     *tokenCost     `json:"tokens,omitempty"`
	Changes    *[]mcp.Change  `json:"changes,omitempty"`
}

// tokenCost is what the tools add to a prompt, in tokens of a model: all of them with what stands around their list, and each
// by itself.
type tokenCost struct {
	Model  string         `json:"model"`
	Total  int            `json:"total"`
	ByTool map[string]int `json:"by_tool"`
}

func runDiscover(ctx context.Context, a *app, f discoverFlags) error {
	c, err := a.config()
	if err == nil {
		c, err = basemodel.SettleLengths(a.Host, c)
	}
	if err != nil {
		return err
	}
	var old *mcp.Catalog
	if f.diff != "" {
		if old, err = mcp.Load(f.diff); err != nil {
			return err
		}
	}
	servers, err := toolset.Configured(a.Host, c, f.servers)
	if err != nil {
		return err
	}
	h, err := toolset.House(ctx, a.Host, c, servers, "")
	if err != nil {
		return err
	}
	defer h.Close()
	catalog, err := h.Discover(ctx)
	if err != nil {
		return err
	}
	if f.out != "" && !a.DryRun {
		if err := catalog.Save(f.out); err != nil {
			return err
		}
		a.Say("catalog: %s", f.out)
	}
	found := discovered{Catalog: catalog, Suspicious: toolset.Findings(catalog), Tokens: a.tokenCost(c, catalog)}
	a.sayOffers(catalog)
	toolset.SayFindings(a.Host, found.Suspicious)
	if t := found.Tokens; t != nil {
		a.Say("the %s cost %s of %s in each prompt, of a context of %d", fault.Count(len(t.ByTool), "tool"), fault.Count(t.Total, "token"), t.Model, c.Model.Context)
	}
	if f.diff != "" {
		changes := append([]mcp.Change{}, mcp.Diff(old, catalog)...)
		if found.Changes = &changes; len(changes) == 0 {
			a.Say("nothing has changed: the %s are those of %s", fault.Count(len(catalog.Tools()), "tool"), f.diff)
		}
	}
	if err := a.Print(found, found.rows()); err != nil {
		return err
	}
	if found.Changes != nil && len(*found.Changes) > 0 {
		return &fault.Error{Code: fault.CodeFailures, What: fmt.Sprintf("tools that are not those of the catalog: %d", len(*found.Changes)), Where: f.diff,
			Next: "look at them; hone discover --out " + f.diff + " accepts them"}
	}
	return nil
}

// rows are the tools, or with --diff what became of them.
func (d discovered) rows() [][]string {
	if d.Changes != nil {
		rows := [][]string{{"SERVER", "TOOL", "CHANGE", "PARTS"}}
		for _, c := range *d.Changes {
			rows = append(rows, []string{c.Server, c.Tool, c.Kind, fmt.Sprint(c.Fields)})
		}
		return rows
	}
	cost := "SCHEMA BYTES"
	if d.Tokens != nil {
		cost = "TOKENS"
	}
	rows := [][]string{{"SERVER", "ERA", "TRANSPORT", "TOOL", "STATUS", cost}}
	for _, s := range d.Servers {
		for _, t := range s.Tools {
			n := len(t.InputSchema)
			if d.Tokens != nil {
				n = d.Tokens.ByTool[t.ModelName]
			}
			rows = append(rows, []string{s.Name, s.Era, s.Transport, t.ModelName, t.Status, fmt.Sprint(n)})
		}
		for _, q := range s.Quarantined {
			rows = append(rows, []string{s.Name, s.Era, s.Transport, q.Name, "quarantined", "-"})
		}
	}
	return rows
}

// tokenCost is what the tools add to a prompt as the base model is prompted; nil where that is not installed, or cannot be told
// of the tools, which is said.
func (a *app) tokenCost(c config.Config, catalog *mcp.Catalog) *tokenCost {
	text, err := basemodel.OpenText(a.Host, c.Model, c.Model.Base)
	if err != nil {
		return nil
	}
	t := &tokenCost{Model: c.Model.Base}
	if t.Total, t.ByTool, err = tokenCostOf(text, c.Rollout.System, catalog); err != nil {
		a.Say("what the tools cost in a prompt of %s is not known: %s", c.Model.Base, fault.Unlabelled(err))
		return nil
	}
	return t
}

// tokenCostOf renders prompts with and without tools, and counts what they differ by.
func tokenCostOf(text *basemodel.Text, system string, catalog *mcp.Catalog) (total int, byTool map[string]int, err error) {
	r, err := text.Renderer(system)
	if err != nil {
		return 0, nil, err
	}
	length := func(tools []chat.Tool) (int, error) {
		ids, err := r.Prompt([]chat.Message{{Role: chat.User, Content: "?"}}, tools)
		return len(ids), err
	}
	bare, err := length(nil)
	if err != nil {
		return 0, nil, err
	}
	return catalog.TokenCost(func(tools []chat.Tool) (int, error) {
		n, err := length(tools)
		return n - bare, err
	})
}

// sayOffers tells what the servers have besides tools, and what is wrong with their lists.
func (a *app) sayOffers(catalog *mcp.Catalog) {
	for _, s := range catalog.Servers {
		if n := len(s.Resources); n > 0 && !slices.ContainsFunc(s.Tools, func(t mcp.Tool) bool { return t.Resources != "" }) {
			a.Say("server %s also offers %s, which no episode reads; mcp.resources: tools offers them to the model", s.Name, fault.Count(n, "resource"))
		}
		if n := len(s.Prompts); n > 0 {
			a.Say("server %s also offers %s, which no episode uses", s.Name, fault.Count(n, "prompt"))
		}
		for _, q := range s.Quarantined {
			a.Say("server %s: the tool %s is left out: %s", s.Name, q.Name, q.Reason)
		}
		for _, w := range s.Warnings {
			a.Say("server %s: %s", s.Name, w)
		}
		if s.StrayLines > 0 {
			a.Say("server %s sent %s what is no message, which is skipped", s.Name, fault.Count(s.StrayLines, "time"))
		}
		for _, t := range s.Tools {
			if t.Status != mcp.StatusOK {
				a.Say("server %s: calls of %s are sent unchecked: %v", s.Name, t.ModelName, t.Findings)
			}
		}
	}
}
