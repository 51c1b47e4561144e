package main

import (
	"context"

	"github.com/spf13/cobra"

	"hone/internal/config"
	"hone/internal/console"
)

func newChat(a *app) *cobra.Command {
	var o console.Options
	c := &cobra.Command{
		Use:   "chat --model DIR|base|NAME",
		Short: "Talk to a model on a terminal or a pipe; its tool calls are shown and asked about",
		Long: `chat talks to an adapter or the base model on this machine, with --agent as an agent that calls the tools of MCP servers,
or to a server (--endpoint). Before a call is sent it is shown and asked for, unless a rule in mcp.approval decides.
On a pipe each line is a message, and calls that would be asked about are denied.`,
		Example: "  hone chat --model out/final\n  hone chat --model out/final --agent --mcp-config .mcp.json\n" +
			"  hone chat --endpoint http://127.0.0.1:8000/v1 --model shop",
		Args: arguments(0, 0, ""),
		RunE: a.withConfig(func(ctx context.Context, c config.Config) error {
			return console.Run(ctx, a.Host, c, o)
		}),
	}
	f := c.Flags()
	f.StringVar(&o.Model, "model", "", "adapter folder, or base; with --endpoint, the model to ask it for")
	f.StringVar(&o.Endpoint, "endpoint", "", "base URL of a server, up to and including /v1")
	f.StringVar(&o.KeyEnv, "key-env", "OPENAI_API_KEY", "variable that holds the endpoint's key")
	f.StringVar(&o.System, "system", "", "system message (default the adapter's own)")
	f.Float64Var(&o.Temperature, "temperature", 0, "0 takes the likeliest token")
	f.IntVar(&o.MaxTokens, "max-tokens", 0, "tokens of an answer (default as many as there is room for)")
	f.BoolVar(&o.Agent.On, "agent", false, "call the tools of MCP servers")
	agentFlags(a, f, &o.Agent)
	return c
}
