package toolset

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/mcp"
	"hone/internal/mcp/scan"
)

// Discovered is what was found of servers: the catalog as it is saved, what is suspicious about it, what its tools
// cost, and what differs from an earlier catalog, where one was named.
type Discovered struct {
	*mcp.Catalog
	Suspicious []scan.Finding `json:"suspicious"`
	Tokens     *TokenCost     `json:"tokens,omitempty"`
	Changes    *[]mcp.Change  `json:"changes,omitempty"`
	// Failed says of each server that cannot be used why; each is a *fault.Error.
	Failed   map[string]error `json:"-"`
	accepted scan.Allowed
}

// Err is the error of the first server that cannot be used, nil where all can: of one that is configured wrongly before
// others.
func (d Discovered) Err() error {
	for _, name := range slices.Sorted(maps.Keys(d.Failed)) {
		if fault.CodeOf(d.Failed[name]) == fault.CodeUsage {
			return d.Failed[name]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Failed)) {
		return d.Failed[name]
	}
	return nil
}

// TokenCost is what the tools add to a prompt, in tokens of a model: all of them with what stands around their list,
// and each by itself.
type TokenCost struct {
	Model  string         `json:"model"`
	Total  int            `json:"total"`
	ByTool map[string]int `json:"by_tool"`
}

// Discover lists what servers offer, and what differs from the catalog of a file where diff names one. The catalog is
// written to out where that is not empty.
func Discover(
	ctx context.Context, h *host.Host, c config.Config, from Source, out, diff string,
) (d Discovered, err error) {
	var old *mcp.Catalog
	if diff != "" {
		if old, err = mcp.Load(diff); err != nil {
			return d, err
		}
	}
	servers, err := Read(h, c, from)
	if err != nil {
		return d, err
	}
	sayLocks(h, servers)
	housing, err := House(ctx, h, c, servers, "")
	if err != nil {
		return d, err
	}
	defer housing.Close()
	if d.Catalog, d.Failed = housing.DiscoverEach(ctx); len(d.Failed) > 0 && len(servers.Wrong) > 0 {
		maps.Copy(d.Failed, servers.Wrong)
	} else if len(servers.Wrong) > 0 {
		d.Failed = servers.Wrong
	}
	if len(d.Servers) == 0 { // there is nothing else to show
		d.sayFailed(h)
		return d, d.Err()
	}
	if out != "" && len(d.Failed) > 0 {
		h.Say("the catalog is not written to %s, for it would lack %s",
			out, strings.Join(slices.Sorted(maps.Keys(d.Failed)), ", "))
		out = ""
	}
	if out != "" && !h.DryRun {
		if err := d.Save(out); err != nil {
			return d, err
		}
		h.Say("catalog: %s", out)
	}
	d.Suspicious, d.accepted = Findings(d.Catalog), acceptedTools(c.MCP, nil)
	if diff != "" {
		changes := append([]mcp.Change{}, mcp.Diff(old, d.Catalog)...)
		d.Changes = &changes
	}
	return d, nil
}

// Count has d.Tokens say what the tools add to prompts of a model; length is that of the prompt of one message with
// some tools.
func (d *Discovered) Count(model string, length func(tools []chat.Tool) (int, error)) error {
	bare, err := length(nil)
	if err != nil {
		return err
	}
	t := &TokenCost{Model: model}
	t.Total, t.ByTool, err = d.TokenCost(func(tools []chat.Tool) (int, error) {
		n, err := length(tools)
		return n - bare, err
	})
	if err == nil {
		d.Tokens = t
	}
	return err
}

// sayFailed tells of all servers that cannot be used, but for the one whose error ends the command.
func (d Discovered) sayFailed(h *host.Host) {
	for _, name := range slices.Sorted(maps.Keys(d.Failed)) {
		if err := d.Failed[name]; err != d.Err() {
			h.Say("%s", err)
		}
	}
}

// Say tells what else the servers offer, what is suspicious, and what the tools cost of a context of so many tokens.
func (d Discovered) Say(h *host.Host, context int) {
	d.sayFailed(h)
	sayOffers(h, d.Catalog)
	SayFindings(h, d.Suspicious)
	sayRefusals(h, d.Suspicious, d.accepted)
	if t := d.Tokens; t != nil {
		cost := "cost"
		if len(t.ByTool) == 1 {
			cost = "costs"
		}
		h.Say("the %s %s %s of %s in each prompt, of a context of %d",
			fault.Count(len(t.ByTool), "tool"), cost, fault.Count(t.Total, "token"), t.Model, context)
		if 2*t.Total > context {
			h.Say(
				"that leaves less than half for the task, calls and results: name the servers that are needed in " +
					"mcp.only, or their tools in \"tools\" of .mcp.json, let mcp.max_tools or mcp.search_share pick, " +
					"or raise model.context",
			)
		}
	}
}

// Rows are the tools or, beside an earlier catalog, what became of them.
func (d Discovered) Rows() [][]string {
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

// sayOffers tells what the servers have besides tools, and what is wrong with their lists.
func sayOffers(h *host.Host, catalog *mcp.Catalog) {
	for _, s := range catalog.Servers {
		if n := len(s.Resources); n > 0 &&
			!slices.ContainsFunc(s.Tools, func(t mcp.Tool) bool { return t.Resources != "" }) {
			h.Say("server %s also offers %s, which no episode reads; mcp.resources: tools offers them to the model",
				s.Name, fault.Count(n, "resource"))
		}
		if n := len(s.Prompts); n > 0 {
			h.Say("server %s also offers %s, which no episode uses", s.Name, fault.Count(n, "prompt"))
		}
		for _, q := range s.Quarantined {
			h.Say("server %s: the tool %s is left out: %s", s.Name, q.Name, q.Reason)
		}
		for _, w := range s.Warnings {
			h.Say("server %s: %s", s.Name, w)
		}
		if s.StrayLines > 0 {
			h.Say("server %s printed %s of non-MCP text to stdout, which hone skips",
				s.Name, fault.Count(s.StrayLines, "line"))
		}
		for _, t := range s.Tools {
			if t.Status != mcp.StatusOK {
				h.Say("server %s: calls of %s are sent unchecked: %v", s.Name, t.ModelName, t.Findings)
			}
		}
	}
}
