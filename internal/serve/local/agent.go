package local

import (
	"context"
	"strings"
	"time"

	"hone/internal/config"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/serve"
	"hone/internal/toolset"
	"hone/internal/toolset/access"
)

// Agency is what makes a server an agent: servers of tools, and limits. The rules before the calls are those of
// mcp.approval, as for hone collect; turns and calls are bounded by rollout.max_turns and rollout.max_tool_calls.
type Agency struct {
	On            bool
	Servers       toolset.Source
	AllowFindings []string
	MaxSessions   int           // open at one time
	MaxTime       time.Duration // of one task
	Idle          time.Duration // after which a session is closed
	// Attended says that a person sits before the command, who is asked about calls that the rules leave open. Without
	// one these are denied, and the model is told why.
	Attended bool
}

// open connects to the servers.
func (g Agency) open(ctx context.Context, h *host.Host, c config.Config) (*serve.Agent, *toolset.Set, error) {
	if g.MaxSessions < 1 || g.MaxTime <= 0 || g.Idle <= 0 {
		return nil, nil, &fault.Error{Code: fault.CodeUsage,
			What: "--max-sessions, --max-time and --idle must be positive", Next: "hone serve --help"}
	}
	set, gate, err := g.Connect(ctx, h, c)
	if err != nil {
		return nil, nil, err
	}
	set.Tools = gate.Wrap(set.Tools, nil)
	set.Select(c)
	agent := &serve.Agent{Tools: set.Selection.Tools, List: set.Selection.List, MaxTurns: c.Rollout.MaxTurns,
		MaxCalls: c.Rollout.MaxToolCalls, MaxTime: g.MaxTime, MaxSessions: g.MaxSessions, Idle: g.Idle}
	if set.Selection.Of != nil {
		agent.ListOf = set.Selection.ForConversation
	}
	return agent, set, nil
}

// Connect opens the servers, and the rules before their calls.
func (g Agency) Connect(ctx context.Context, h *host.Host, c config.Config) (*toolset.Set, *access.Gate, error) {
	servers, err := toolset.LoadServers(h, c, g.Servers)
	if err != nil {
		return nil, nil, err
	}
	set, err := toolset.Connect(ctx, h, c, servers, "")
	if err != nil {
		return nil, nil, err
	}
	gate, err := g.gate(h, c, set)
	if err != nil {
		set.Close()
		return nil, nil, err
	}
	return set, gate, nil
}

func (g Agency) gate(h *host.Host, c config.Config, set *toolset.Set) (*access.Gate, error) {
	if err := toolset.RefuseFindings(h, c.MCP, set.Catalog.LintTools(), g.AllowFindings); err != nil {
		return nil, err
	}
	rules := c.MCP.Approval
	if rules.Mode == "default" { // who is far away cannot be asked, and has not said that all may be sent
		rules.Mode = "ask"
	}
	if deniesAll(rules, g.Attended || h.Yes) {
		var names []string
		for _, s := range set.Catalog.Servers {
			names = append(names, s.Name)
		}
		h.Say("note: every call is denied, since nobody can be asked: name in mcp.approval.allow what may be called, "+
			"such as [%s], or give --yes", strings.Join(names, ", "))
	}
	return set.Approvals(rules, toolset.Attended(g.Attended))
}

// deniesAll reports whether rules let no call through where nobody answers.
func deniesAll(rules config.Approval, answers bool) bool {
	return !answers && rules.Mode == "ask" && len(rules.Allow) == 0
}
