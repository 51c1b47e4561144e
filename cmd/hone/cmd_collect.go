package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/llm"
	"hone/internal/mcp/lint"
	"hone/internal/toolset"
)

type collectFlags struct {
	servers                                         toolset.Source
	endpoint, model, keyEnv, dataset, split, output string
	budget                                          int
	gold                                            bool
	allowFindings                                   lint.Allowed
}

func newCollect(a *app) *cobra.Command {
	var f collectFlags
	c := &cobra.Command{
		Use:   "collect",
		Short: "Run scenarios with any OpenAI-compatible endpoint as the policy, or their gold calls, and keep the trajectories",
		Long: "collect runs each scenario once against the live servers. Before a tool call is sent it is shown and asked for\n" +
			"(--yes approves all), unless a rule in mcp.approval decides; a denial is fed back to the model and recorded. With --gold no\n" +
			"model is asked: each scenario's gold calls are made, and the answer is given that its checks want.",
		Example: "  hone collect --gold --yes --mcp-config .mcp.json --dataset scenarios.json --output-dir shown\n" +
			"  hone collect --endpoint http://127.0.0.1:8000/v1 --model m --mcp-config .mcp.json --dataset scenarios.json --output-dir traces",
		Args: arguments(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error { return runCollect(c.Context(), a, f) },
	}
	a.serverFlags(c.Flags(), &f.servers)
	a.reopenFlags(c.Flags())
	c.Flags().StringVar(&f.endpoint, "endpoint", "", "base URL of the endpoint, up to and including /v1")
	c.Flags().StringVar(&f.model, "model", "", "model to ask the endpoint for")
	c.Flags().BoolVar(&f.gold, "gold", false, "make the scenarios' gold calls instead of asking an endpoint: demonstrations for hone sft")
	c.Flags().StringVar(&f.keyEnv, "key-env", "OPENAI_API_KEY", "variable that holds the endpoint's key")
	c.Flags().StringVar(&f.dataset, "dataset", "", "scenarios file (default the configuration's)")
	c.Flags().StringVar(&f.split, "split", scenario.Train, "train, validation, test, or all; hone sft learns from train alone")
	c.Flags().StringVar(&f.output, "output-dir", "", "run directory for the trajectories")
	allowFindingsFlag(c.Flags(), &f.allowFindings)
	c.Flags().IntVar(&f.budget, "token-budget", 0, "stop before this many tokens are used; 0 is no limit")
	return c
}

func runCollect(ctx context.Context, a *app, f collectFlags) error {
	c, trained, err := a.collectConfig()
	if err != nil {
		return err
	}
	if f.dataset == "" {
		f.dataset = c.Scenarios.File
	}
	if f.gold && (f.endpoint != "" || f.model != "") {
		return &fault.Error{Code: fault.CodeUsage, What: "gold calls ask no endpoint", Where: "--gold", Next: "leave out --endpoint and --model, or --gold"}
	}
	if !f.gold && (f.endpoint == "" || f.model == "") || f.output == "" {
		return &fault.Error{Code: fault.CodeUsage, What: "collect needs --endpoint, --model and --output-dir", Why: "with --gold it needs --output-dir alone", Next: "hone collect --help"}
	}
	list, err := f.scenarios(a)
	if err != nil {
		return err
	}
	var client *llm.Client // of no endpoint: gold calls
	how := f.model + " at " + f.endpoint
	if f.gold {
		how = "their gold calls"
	} else {
		key, _ := a.LookupEnv(f.keyEnv)
		if client, err = llm.New(llm.Options{BaseURL: f.endpoint, Key: llm.Secret(key), TokenBudget: f.budget, CacheDir: filepath.Join(f.output, "cache")}); err != nil {
			return err
		}
	}
	if a.DryRun {
		a.Say("would run %s with %s", fault.Count(len(list), "scenario"), how)
		return nil
	}
	j := &job.Job{Env: a.jobs(c), Verb: "collect", Path: f.output, Config: c, Kept: job.Kept{AllowFindings: f.allowFindings}}
	defer j.Close()
	ended, err := j.Collect(ctx, job.Collection{Client: client, Model: f.model, Trained: trained}, list, f.servers)
	if err != nil {
		return err
	}
	return a.Print(ended.Outcomes, [][]string{{"trajectories", j.Trajectories()}})
}

// collectConfig is the configuration for an endpoint, which may think, whatever this machine is; and, for how tools are shown,
// as train has it.
func (a *app) collectConfig() (c, trained config.Config, err error) {
	if c, err = a.config(); err != nil {
		return c, c, err
	}
	trained = c
	if trained, err = basemodel.SettleLengths(a.Host, trained); err == nil {
		err = c.SettleLengths(true, 0)
	}
	return c, trained, err
}

// scenarios are those of the split; how many are not is told.
func (f collectFlags) scenarios(a *app) ([]scenario.Scenario, error) {
	if !slices.Contains([]string{scenario.Train, scenario.Validation, scenario.Test, "all"}, f.split) {
		return nil, &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("there is no split %q", f.split), Where: "--split", Next: "give train, validation, test or all"}
	}
	list, err := scenario.Load(f.dataset)
	if err != nil || f.split == "all" {
		return list, err
	}
	kept, err := job.OfSplit(list, f.split, f.dataset)
	if other := len(list) - len(kept); err == nil && other > 0 {
		a.Say("%s of the split %s; %d of other splits are left out (--split all runs them too)", fault.Count(len(kept), "scenario"), f.split, other)
	}
	return kept, err
}
