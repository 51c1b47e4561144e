package main

import (
	"context"

	"github.com/spf13/cobra"

	"hone/internal/config"
	"hone/internal/episode/scenario"
	"hone/internal/job/collect"
	"hone/internal/toolset"
)

func newCollect(a *app) *cobra.Command {
	f, servers := collect.Asked{}, toolset.Source{}
	c := &cobra.Command{
		Use: "collect",
		Short: "Run scenarios with any OpenAI-compatible endpoint as the policy, or their gold calls, " +
			"and keep the trajectories",
		Long: `collect runs each scenario once against the live servers. Before a tool call is sent it is shown and asked for
(--yes approves all), unless a rule in mcp.approval decides; a denial is fed back to the model and recorded. With --gold no
model is asked: each scenario's gold calls are made, and the answer is given that its checks want. --model person asks
you. With --interactive there are no scenarios: you talk with the model, and each conversation is kept.`,
		Example: `  hone collect --gold --yes --mcp-config .mcp.json --dataset scenarios.json --output-dir shown
  hone collect --endpoint http://127.0.0.1:8000/v1 --model m --mcp-config .mcp.json --dataset scenarios.json --output-dir traces
  hone collect --interactive --model anthropic/NAME --mcp-config .mcp.json --output-dir talks`,
		Args: arguments(0, 0, ""),
		RunE: a.withConfig(func(ctx context.Context, c config.Config) error {
			return collect.Run(ctx, a.jobs(c), c, f, servers)
		}),
	}
	a.toolFlags(c.Flags(), &servers, &f.AllowFindings)
	a.reopenFlags(c.Flags())
	c.Flags().StringVar(&f.Endpoint, "endpoint", "", "base URL of the endpoint, up to and including /v1")
	c.Flags().StringVar(&f.Model, "model", "",
		"model to ask the endpoint for; PROVIDER/MODEL, such as anthropic/NAME, needs no --endpoint; person is you")
	c.Flags().BoolVar(&f.Interactive, "interactive", false, "talk with the model yourself, without scenarios")
	c.Flags().IntVar(&f.Samples, "samples", 1, "episodes of each scenario")
	c.Flags().IntVar(&f.AtOnce, "parallel", 1, "episodes that run at once")
	c.Flags().StringVar(&f.Guide, "hidden-system-prompt", "",
		"system message that guides the model and is left out of the trajectories")
	c.Flags().IntVar(&f.Truncate, "truncate", 0, "most bytes of a tool's result (default rollout.max_result)")
	c.Flags().BoolVar(&f.Gold, "gold", false,
		"make the scenarios' gold calls instead of asking an endpoint: demonstrations for hone sft")
	c.Flags().BoolVar(&f.KeepUnknown, "keep-unknown", false,
		"with --gold, keep answers that no prompt and no result says, too")
	c.Flags().StringVar(&f.KeyEnv, "key-env", "OPENAI_API_KEY", "variable that holds the endpoint's key")
	c.Flags().StringVar(&f.Dataset, "dataset", "", "scenarios file (default the configuration's)")
	c.Flags().StringVar(&f.Split, "split", scenario.Train,
		"train, validation, test, or all; hone sft learns from train alone")
	c.Flags().StringVar(&f.Output, "output-dir", "", "run directory for the trajectories")
	c.Flags().IntVar(&f.TokenBudget, "token-budget", 0, "stop before this many tokens are used; 0 is no limit")
	return c
}
