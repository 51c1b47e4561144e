package main

import (
	"github.com/spf13/pflag"

	"hone/internal/mcp/lint"
	"hone/internal/toolset"
)

// serverFlags registers the flags that say which servers a verb works on.
func (a *app) serverFlags(flags *pflag.FlagSet, from *toolset.Source) {
	flags.StringVar(&from.Server, "mcp", "", "one MCP server: a URL, or a command with its arguments (default $MCP_URL)")
	flags.StringVar(&from.File, "mcp-config", "", "file with the MCP servers, in the mcpServers or the servers form")
	a.sandboxFlag(flags)
}

func (a *app) sandboxFlag(flags *pflag.FlagSet) {
	flags.StringVar(&a.sandbox, "sandbox", "", "auto, require or off, instead of the configuration's mcp.sandbox.mode")
}

// allowFindingsFlag registers --allow-findings of a verb that puts the texts of tools before a model.
func allowFindingsFlag(flags *pflag.FlagSet, allowed *lint.Allowed) {
	flags.StringSliceVar((*[]string)(allowed), "allow-findings", nil, "tools whose suspicious texts, which discover shows, are accepted: server/tool or tool, * for any")
}
