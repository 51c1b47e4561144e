package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hone/internal/config"
	"hone/internal/env"
	"hone/internal/episode/scenario"
	"hone/internal/toolset"
)

func newEnv(a *app) *cobra.Command {
	c := group(&cobra.Command{Use: "env", Short: "Let the trainers of others run scenarios on live servers",
		Example: "  hone env serve --dataset scenarios.json --mcp-config .mcp.json"})
	c.AddCommand(newEnvServe(a), newEnvTasks(a), newEnvClient(a))
	return c
}

func newEnvServe(a *app) *cobra.Command {
	var o env.Options
	var from toolset.Source
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve scenarios as environments, each session on MCP servers of its own",
		Long: `serve answers the protocols by which trainers run environments: OpenEnv's and the Open Reward Standard at the URL that it
prints, and NeMo Gym's resources server, there and under /gym, for verifiers. Tools, limits, approval and rewards are
those of hone train. An episode that fails through no doing of the policy has no reward, which is not 0. With --output-dir the
episodes are kept, scored, in a run directory. Ctrl-C lets episodes under way end.`,
		Example: "  hone env serve --dataset scenarios.json --mcp-config .mcp.json --output-dir served\n" +
			"  hone env serve --listen 0.0.0.0:8010 --key-env ENV_KEY --max-sessions 256",
		Args: arguments(0, 0, ""),
		RunE: a.withConfig(func(ctx context.Context, c config.Config) error {
			return env.Serve(ctx, a.jobs(c), c, o, from)
		}),
	}
	a.toolFlags(c.Flags(), &from, &o.AllowFindings)
	a.reopenFlags(c.Flags())
	c.Flags().StringVar(&o.Dataset, "dataset", "", "scenarios file (default the configuration's)")
	c.Flags().StringVar(&o.Listen, "listen", "127.0.0.1:8010", "address; port 0 takes a free one")
	c.Flags().StringArrayVar(&o.KeyEnvs, "key-env", nil,
		"environment variable that holds a key that clients may send; may be repeated")
	c.Flags().IntVar(&o.MaxSessions, "max-sessions", 64,
		"episodes under way at once; a session beyond waits, and is refused after 50 s")
	c.Flags().DurationVar(&o.Idle, "idle", 30*time.Minute, "after which a session without a step is closed")
	c.Flags().StringVar(&o.Output, "output-dir", "", "run directory for the episodes; without it none are kept")
	return c
}

func newEnvTasks(a *app) *cobra.Command {
	var f env.TasksAsked
	c := &cobra.Command{
		Use:   "tasks --format " + strings.Join(env.Formats(), "|"),
		Short: "Write the rows of a data set by which a trainer names scenarios to hone env serve",
		Long: "tasks writes a line of JSON for each scenario: its opening, id and hash, and nothing of what solves " +
			"it. The server refuses a row\nwhose scenario has changed since.",
		Example: "  hone env tasks --format trl --dataset scenarios.json > rows.jsonl",
		Args:    arguments(0, 0, ""),
		RunE:    a.withConfig(func(_ context.Context, c config.Config) error { return env.Tasks(a.jobs(c), c, f) }),
	}
	c.Flags().StringVar(&f.Dataset, "dataset", "", "scenarios file (default the configuration's)")
	c.Flags().StringVar(&f.Split, "split", scenario.Train, "train, validation, test or all")
	c.Flags().StringVar(&f.Catalog, "catalog", "", "catalog of hone discover: its tools stand in NeMo Gym's rows")
	c.Flags().StringVar(&f.Format, "format", "trl", "whose rows: "+strings.Join(env.Formats(), ", "))
	return c
}

func newEnvClient(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "client",
		Short:   "Write the Python file by which TRL's environment_factory runs episodes of hone env serve",
		Example: "  hone env client > hone_env.py",
		Args:    arguments(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(a.Data, env.Client)
			return err
		},
	}
}
