package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"hone/internal/config"
	"hone/internal/job/collect"
)

func newReplay(a *app) *cobra.Command {
	var f collect.ReplayAsked
	c := &cobra.Command{
		Use:   "replay DATA",
		Short: "Send traces without their last assistant message to a model, and compare what it says",
		Long: `replay counts how often the answer is the same: all (calls with equal arguments in any order, or the same words where there
are no calls), tools (the same tools with other arguments), kind (calls or words, but others), nothing; no answer where the
request failed. Words beside calls are not compared. --json has both messages of each trace, and so has each line of
replayed.jsonl in --output-dir, as the answers come. No tool is called.`,
		Example: "  hone replay traces/trajectories.jsonl --endpoint http://127.0.0.1:8000/v1 --model m",
		Args:    arguments(1, 1, "a file of traces"),
		RunE: func(c *cobra.Command, args []string) error {
			f.Data = args[0]
			return a.withConfig(func(ctx context.Context,
				cfg config.Config) error {
				return collect.RunReplay(ctx, a.jobs(cfg), cfg, f)
			})(c, nil)
		},
	}
	c.Flags().StringVar(&f.Endpoint, "endpoint", "", "base URL of the endpoint, up to and including /v1")
	c.Flags().StringVar(&f.Model, "model", "", "model to ask the endpoint for; PROVIDER/MODEL needs no --endpoint")
	c.Flags().StringVar(&f.KeyEnv, "key-env", "OPENAI_API_KEY", "variable that holds the endpoint's key")
	c.Flags().StringVar(&f.Trace, "trace", "", "one trace alone")
	c.Flags().StringVar(&f.Catalog, "catalog", "",
		"tools of traces that name none (default catalog.json beside the data, where there is one)")
	c.Flags().StringVar(&f.Output, "output-dir", "",
		"folder for the answers, replayed.jsonl; the same command goes on where it was stopped")
	c.Flags().IntVar(&f.AtOnce, "parallel", 1, "requests at once")
	c.Flags().IntVar(&f.TokenBudget, "token-budget", 0, "stop before this many tokens are used; 0 is no limit")
	c.Flags().DurationVar(&f.Patience, "patience", 10*time.Minute,
		"how long a request is sent again while the endpoint is overloaded or gone")
	return c
}
