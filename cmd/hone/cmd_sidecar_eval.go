package main

import (
	"github.com/spf13/cobra"

	"hone/internal/proxy/sidecar"
)

func newSidecarEval(a *app) *cobra.Command {
	o := sidecar.EvalOptions{}
	c := &cobra.Command{
		Use:   "eval",
		Short: "Measure sidecars: what they mend, what they damage, and what that costs",
		Long: `eval holds sidecars against the drafts as they are, the fixer alone, and what else is named: each sidecar answering without the
draft, the upstream told of its error, and other products' outputs. All differences are paired, with intervals by scenario.
With --mcp-config the calls of all of them are made on the servers, equal ones once, and the share that
was answered is told. What each system called stands beside the report, in REPORT.calls.jsonl.`,
		Example: "  hone sidecar eval --data revisions --model reviser/final,baseline/final --alone\n" +
			"  hone sidecar eval --data revisions --model reviser/final --hints weak=runs/weak/final --outputs " +
			"forge=forge.jsonl --json > report.json",
		Args: arguments(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error {
			given, err := a.config()
			if err != nil || a.DryRun {
				return err
			}
			report, err := sidecar.Eval(c.Context(), a.Host, given, o)
			if err != nil {
				return err
			}
			return a.Print(report, report.Tables())
		},
	}
	f := c.Flags()
	a.toolFlags(f, &o.Servers, &o.AllowFindings)
	f.StringVar(&o.Data, "data", "", "folder that make-data wrote")
	f.StringSliceVar(&o.Models, "model", nil,
		"sidecars: base, an adapter's folder, PROVIDER/MODEL or http://HOST/v1/MODEL")
	f.StringVar(&o.Split, "split", "test", "train, validation or test")
	f.BoolVar(&o.Alone, "alone", false, "also let each sidecar answer without the draft")
	f.StringSliceVar(&o.Hints, "hints", nil,
		"upstreams that are told of what is wrong with their drafts, and answer once more: SOURCE=MODEL, or MODEL")
	f.StringSliceVar(&o.Outputs, "outputs", nil,
		"what other products made of the rows: NAME=FILE with a line {\"row\", \"message\"} for each")
	f.Float64Var(&o.Confidence, "confidence", -1, "least probability, of all sidecars, "+
		"at which calls without a fault and answers in words are replaced; negative: each one's own, of sidecar.json")
	f.IntVar(&o.Limit, "limit", 0, "rows, spread evenly; 0: all")
	f.IntVar(&o.Timed, "timed", 0, "rows that are asked one by one first, for the time that a sidecar adds")
	f.StringVar(&o.Out, "out", "", "file of the report (default eval_SPLIT.json in the data folder)")
	return c
}
