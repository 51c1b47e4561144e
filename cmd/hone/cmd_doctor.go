package main

import (
	"context"

	"github.com/spf13/cobra"

	"hone/internal/config"
	"hone/internal/doctor"
	"hone/internal/toolset"
)

func newDoctor(a *app) *cobra.Command {
	var servers toolset.Source
	var e doctor.EndpointAsked
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check the plug-in, the model, memory, disk and the MCP servers",
		Long: `Check what a run needs of this machine. Of each server: protocol, transport, tools, what is wrong with them, what it
prints where no message belongs, how fast it answers, and whether episodes can be isolated. Exit 1 where something is
missing that a run cannot do without. With --endpoint, or a model of a provider, that is checked instead: whether it
answers, reads tool calls off what the model writes, and tells reasoning from the answer.`,
		Example: "  hone doctor\n  hone doctor --json\n  hone doctor --endpoint http://127.0.0.1:8000/v1 --model m",
		Args:    arguments(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error {
			if e.URL != "" || e.Model != "" {
				return a.withConfig(func(ctx context.Context,
					cfg config.Config) error {
					return e.Check(ctx, a.Host, cfg)
				})(c, nil)
			}
			return a.withConfig(func(ctx context.Context,
				cfg config.Config) error {
				return doctor.Run(ctx, a.Host, cfg, servers)
			})(c, nil)
		},
	}
	c.Flags().StringVar(&e.URL, "endpoint", "", "base URL of an endpoint to check, up to and including /v1")
	c.Flags().StringVar(&e.Model, "model", "", "model to ask it for; PROVIDER/MODEL needs no --endpoint")
	c.Flags().StringVar(&e.KeyEnv, "key-env", "OPENAI_API_KEY", "variable that holds the endpoint's key")
	a.serverFlags(c.Flags(), &servers)
	return c
}
