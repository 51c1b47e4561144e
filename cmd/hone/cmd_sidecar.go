package main

import (
	"github.com/spf13/cobra"

	"hone/internal/proxy/sidecar"
	"hone/internal/toolset"
)

func newSidecar(a *app) *cobra.Command {
	c := &cobra.Command{Use: "sidecar",
		Short: "A model that revises another model's tool calls: its data, training and measure"}
	c.AddCommand(newSidecarData(a), newSidecarTrain(a), newSidecarEval(a))
	return c
}

func newSidecarData(a *app) *cobra.Command {
	var servers toolset.Source
	x := sidecar.MakeOptions{Temperatures: []float64{0, 1}}
	c := &cobra.Command{
		Use:   "make-data",
		Short: "Collect the imperfect calls of real models, and errors like theirs, with what would have been right",
		Long: `make-data executes the gold calls of scenarios, and has upstreams answer at each place where a call is to be made. A corruption
model, fitted to their errors on the training split, makes more. Each row has the draft, what is wrong with it, what the server
said to it, and the gold call. Tasks of the split test give rows of the split test alone.`,
		Example: "  hone sidecar make-data --dataset scenarios.json --mcp-config .mcp.json --from " +
			"base,openai/gpt-4o-mini --out revisions\n" +
			"  hone sidecar make-data --points revisions --from runs/weak/final --hold-source weak --out more",
		Args: arguments(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error {
			given, err := a.config()
			if err == nil {
				err = x.Check()
			}
			if err != nil || a.DryRun {
				return err
			}
			made, err := sidecar.Make(c.Context(), a.Host, given, servers, x)
			if err != nil {
				return err
			}
			return a.PrintThen(made, made.Table(), "next: hone sidecar train --data %s --output-dir reviser", x.Out)
		},
	}
	f := c.Flags()
	a.toolFlags(f, &servers, &x.AllowFindings)
	f.StringSliceVar(&x.Datasets, "dataset", nil, "scenario files with gold calls")
	f.StringVar(&x.Points, "points", "",
		"take the points that an earlier make-data wrote to this folder; nothing is executed then")
	f.StringSliceVar(&x.From, "from", nil,
		"upstreams that draft: base, an adapter's folder, PROVIDER/MODEL or http://HOST/v1/MODEL")
	f.Float64SliceVar(&x.Temperatures, "temperature", x.Temperatures, "of the upstreams; each answers once at each")
	f.IntVar(&x.Corrupt, "corrupt", 2,
		"drafts of the corruption model at each point, beside one that is right; 0: none of either")
	f.IntVar(&x.Shown, "shown", 6, "tools shown at a point: those it needs, and others of the server")
	f.StringVar(&x.HoldSource, "hold-source", "",
		"a source, by its name in the statistics, that drafts at test points alone")
	f.StringVar(&x.HoldServer, "hold-server", "", "a server whose points are all test")
	f.StringSliceVar(&x.Not, "not", nil, "scenario files of an evaluation: tasks near to one of theirs are left out")
	f.StringVar(&x.Reviser, "reviser", "",
		"a stronger model that writes the targets of training; an answer that is not right is not taken")
	f.StringVar(&x.Out, "out", "", "folder to write")
	f.IntVar(&x.Workers, "workers", 4, "sessions on the servers at once")
	f.IntVar(&x.BudgetTokens, "token-budget", 0, "most tokens for all endpoints, sent and received; 0 is no limit")
	f.Float64Var(&x.BudgetUSD, "budget-usd", 0,
		"most US dollars for all endpoints, where prices are known; 0 is no limit")
	return c
}
