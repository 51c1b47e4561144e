package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hone/internal/basemodel"
	"hone/internal/episode/scenario"
	"hone/internal/eval"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/mcp/lint"
	"hone/internal/toolset"
)

type evalFlags struct {
	servers                                          toolset.Source
	model, base, dataset, split, judge, output, show string
	compareBase                                      bool
	allowFindings                                    lint.Allowed
}

func newEval(a *app) *cobra.Command {
	var f evalFlags
	c := &cobra.Command{
		Use:   "eval",
		Short: "Run held-out scenarios on live servers and report success with intervals",
		Long: "Runs each scenario of a split on its servers with the model, and reports how many succeed, with intervals. With --output-dir\n" +
			"the episodes are kept, scored, in trajectories.jsonl of a new run directory: the stage eval_model, and with --compare-base eval_base.",
		Example: "  hone eval --model out/final --dataset scenarios.json --split validation\n" +
			"  hone eval --model out/final --dataset scenarios.json --split test --compare-base --json\n" +
			"  hone eval --base-model base --dataset scenarios.json --split test --output-dir evaluated",
		Args: arguments(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error { return runEval(c.Context(), a, f) },
	}
	a.serverFlags(c.Flags(), &f.servers)
	c.Flags().StringVar(&f.model, "model", "", "adapter folder; without it the base model is evaluated")
	c.Flags().StringVar(&f.base, "base-model", "", "base model, where it is not the one the adapter names")
	c.Flags().StringVar(&f.dataset, "dataset", "", "scenarios file (default the configuration's)")
	c.Flags().StringVar(&f.split, "split", "", "train, validation or test (default the configuration's)")
	c.Flags().StringVar(&f.judge, "judge-model", "", "model that scores scenarios without checks, as provider/name")
	c.Flags().StringVar(&f.output, "output-dir", "", "run directory for the trajectories; without it none are kept")
	c.Flags().StringVar(&f.show, "show", showNone, "episodes to print, with chat, calls, results and checks: none, failed or all")
	allowFindingsFlag(c.Flags(), &f.allowFindings)
	c.Flags().BoolVar(&f.compareBase, "compare-base", false, "evaluate the base model too and report the paired difference")
	return c
}

// What --show may be.
const (
	showNone   = "none"
	showFailed = "failed"
	showAll    = "all"
)

func runEval(ctx context.Context, a *app, f evalFlags) error {
	c, err := a.config()
	if err != nil {
		return err
	}
	if f.dataset == "" {
		f.dataset = c.Scenarios.File
	}
	if f.split == "" {
		f.split = c.Eval.Split
	}
	if err := f.check(); err != nil {
		return err
	}
	if f.output != "" {
		if err := a.jobs(c).Free(f.output); err != nil {
			return err
		}
	}
	tasks, err := f.scenarios()
	if err != nil {
		return err
	}
	if c.Model.Base, err = basemodel.BaseOf(f.model, f.base, c); err != nil {
		return err
	}
	if c, err = basemodel.SettleLengths(a.Host, c); err != nil {
		return err
	}
	j := &job.Job{Env: a.jobs(c), Verb: "eval", Path: f.output, Config: c, Kept: job.Kept{Adapter: f.model, AllowFindings: f.allowFindings,
		Evaluation: &job.Evaluation{Dataset: f.dataset, Split: f.split, CompareBase: f.compareBase}}}
	defer j.Close()
	j.Kept.Keep(a.Host, c, f.servers)
	measured, err := j.Evaluate(ctx, tasks, f.servers)
	if err != nil || measured == nil {
		return err
	}
	return a.tell(measured, f.show)
}

// check refuses flags that name what there is not.
func (f evalFlags) check() error {
	if f.split != scenario.Train && f.split != scenario.Validation && f.split != scenario.Test {
		return &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("there is no split %q", f.split), Where: "--split",
			Next: "give train, validation or test"}
	}
	if f.show != showNone && f.show != showFailed && f.show != showAll {
		return &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("cannot show %q", f.show), Where: "--show", Next: "give none, failed or all"}
	}
	return nil
}

// tell prints the episodes that show names and the rates.
func (a *app) tell(measured *job.Evaluated, show string) error {
	if !a.JSON {
		for _, e := range episodesToPrint(measured.Systems, show) {
			if err := e.WriteText(a.Data); err != nil {
				return err
			}
			fmt.Fprintln(a.Data)
		}
	}
	for i, s := range measured.Systems {
		if len(s.Rows) == 0 {
			return measured.Failed[i] // there is nothing to print
		}
	}
	if err := a.printEval(measured.Comparison, show); err != nil {
		return err
	}
	return cmp.Or(measured.Failed...)
}

// scenarios are those of the split.
func (f evalFlags) scenarios() ([]scenario.Scenario, error) {
	list, err := job.Scenarios(f.dataset, f.judge, false) // success is by checks, whatever earns
	if err != nil {
		return nil, err
	}
	return job.OfSplit(list, f.split, f.dataset)
}

// printEval prints the rates, in JSON with the episodes that show names.
func (a *app) printEval(r eval.Comparison, show string) error {
	results := r.Results()
	rows := [][]string{{"SYSTEM", "FIRST CALL", "WHOLE EPISODE", "EXTRA CALLS", "SCENARIOS", "EXCLUDED"}}
	for _, s := range r.Systems {
		x := results.Systems[s.Name]
		rows = append(rows, []string{s.Name, x.FirstCallText(), x.EpisodeText(), x.ExtraCallsText(), fmt.Sprint(x.N), fmt.Sprint(x.NumExcluded)})
	}
	for _, d := range results.Deltas {
		rows = append(rows, []string{d.New + " - " + d.Old, d.First.PointsText(), d.Episode.PointsText(), "", fmt.Sprint(d.Episode.N),
			fmt.Sprintf("%d + %d", results.Systems[d.New].NumExcluded, results.Systems[d.Old].NumExcluded)})
	}
	a.Say("first call: it is the first gold call, arguments and all; whole episode: all checks pass; extra calls: beyond the gold calls, in the mean")
	for _, s := range r.Systems {
		if x := results.Systems[s.Name]; x.NumWithGold < x.N {
			a.Say("%s: first call and extra calls are of the %s with gold calls, of %d", s.Name, fault.Count(x.NumWithGold, "scenario"), x.N)
		}
	}
	a.Say("intervals: Wilson's for a rate, paired bootstrap over scenarios for a difference; excluded episodes are in neither")
	out := struct {
		eval.Results
		Episodes []printedEpisode `json:"episodes,omitempty"`
	}{Results: results}
	for _, e := range episodesToPrint(r.Systems, show) {
		out.Episodes = append(out.Episodes, episodeOf(e))
	}
	return a.Print(out, rows)
}

// resumeEval goes on with a stopped evaluation.
func (a *app) resumeEval(ctx context.Context, e job.Env, path string, b job.Begun, from toolset.Source) error {
	measured, err := job.ResumeEvaluation(ctx, e, path, b, from)
	if err != nil || measured == nil {
		return err
	}
	return a.tell(measured, showNone)
}
