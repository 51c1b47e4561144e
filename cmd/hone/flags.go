package main

import (
	"time"

	"github.com/spf13/pflag"

	"hone/internal/job/episodes"
	"hone/internal/mcp/scan"
	"hone/internal/serve/local"
	"hone/internal/toolset"
)

// serverFlags registers the flags that say which servers a verb works on.
func (a *app) serverFlags(flags *pflag.FlagSet, from *toolset.Source) {
	flags.StringVar(&from.Server, "mcp", "",
		"one MCP server: a URL, or a command with its arguments (default $MCP_URL)")
	flags.StringVar(&from.File, "mcp-config", "", "file with the MCP servers, in the mcpServers or the servers form")
	a.sandboxFlag(flags)
}

func (a *app) sandboxFlag(flags *pflag.FlagSet) {
	flags.StringVar(&a.sandbox, "sandbox", "", "auto, require or off, instead of the configuration's mcp.sandbox.mode")
}

// allowFindingsFlag registers --allow-findings of a verb that puts the texts of tools before a model.
func allowFindingsFlag(flags *pflag.FlagSet, allowed *scan.Allowed) {
	flags.StringSliceVar((*[]string)(allowed), "allow-findings", nil, "tools whose suspicious texts, "+
		"which discover shows, are accepted: server/tool or tool, with @DIGEST for one text of it; * for any")
}

// toolFlags registers the flags of a verb that puts the texts of servers' tools before a model.
func (a *app) toolFlags(flags *pflag.FlagSet, from *toolset.Source, allowed *scan.Allowed) {
	a.serverFlags(flags, from)
	allowFindingsFlag(flags, allowed)
}

// agentFlags registers the flags of an agent's servers and limits.
func agentFlags(a *app, flags *pflag.FlagSet, g *local.Agency) {
	a.toolFlags(flags, &g.Servers, (*scan.Allowed)(&g.AllowFindings))
	flags.IntVar(&g.MaxSessions, "max-sessions", 16, "sessions of an agent that are open at once")
	flags.DurationVar(&g.MaxTime, "max-time", 10*time.Minute, "time of one task of an agent")
	flags.DurationVar(&g.Idle, "idle", 10*time.Minute, "after which an agent's unused session is closed")
}

// judgeFlags registers the flags of a verb that has a judge.
func judgeFlags(flags *pflag.FlagSet, given *episodes.GivenJudge) {
	flags.StringVar(&given.Model, "judge-model", "", "model that judges scenarios without checks: PROVIDER/MODEL, "+
		"http://HOST/v1/MODEL, base, or an adapter's folder (default judge.model)")
	flags.Float64Var(&given.BudgetUSD, "budget-usd", 0,
		"US dollars that the judge may cost, reserved before a question is sent (default judge.budget_usd)")
}
