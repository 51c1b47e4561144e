package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/eval"
	"hone/internal/fault"
	"hone/internal/mcp/lint"
	"hone/internal/recipe"
	"hone/internal/run"
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
		if err := free(f.output); err != nil {
			return err
		}
	}
	list, tasks, err := f.scenarios()
	if err != nil {
		return err
	}
	servers, err := toolset.Configured(a.Host, c, f.servers)
	if err != nil {
		return err
	}
	if c.Model.Base, err = basemodel.BaseOf(f.model, f.base, c); err != nil {
		return err
	}
	if c, err = basemodel.SettleLengths(a.Host, c); err != nil {
		return err
	}
	if err := basemodel.CheckDevices(a.Host, c.Engine); err != nil {
		return err
	}
	l, err := a.open(ctx, c, servers, "")
	if err != nil {
		return err
	}
	defer l.close()
	if err := toolset.RefuseFindings(a.Host, l.Catalog.LintTools(), f.allowFindings); err != nil {
		return err
	}
	if err := l.Runnable(c, tasks); err != nil {
		return err
	}
	if err := toolset.Allowed(a.Host, l.Gate, tasks); err != nil {
		return err
	}
	trainedOn := a.warnLearnt(f.model, tasks)
	if a.DryRun {
		if err := l.rehearse(a, c, f.model, list, false); err != nil {
			return err
		}
		a.Say("would run %s of the split %s", fault.Count(len(tasks), "scenario"), f.split)
		return nil
	}
	if err := l.openModel(a, &c, f.model, list, false); err != nil {
		return err
	}
	t := &tuning{a: a, verb: "eval", path: f.output, c: c}
	defer t.close()
	report, err := t.evaluate(ctx, l, f, tasks)
	if err != nil {
		return err
	}
	report.TrainedOn = trainedOn
	return t.tell(l, f, report)
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

// tell writes the report of an evaluation that is kept, and prints the episodes that are asked for and the rates.
func (t *tuning) tell(l *lab, f evalFlags, report eval.Comparison) error {
	if t.dir != nil {
		if err := t.reportEval(l, f, report.TrainedOn); err != nil {
			return err
		}
	}
	if !t.a.JSON {
		for _, e := range shownOfSystems(report.Systems, f.show) {
			if err := e.WriteText(t.a.Data); err != nil {
				return err
			}
			fmt.Fprintln(t.a.Data)
		}
	}
	for _, s := range report.Systems {
		if len(s.Rows) == 0 {
			return l.unevaluated(s) // there is nothing to print
		}
	}
	if err := t.a.printEval(report, f.show); err != nil {
		return err
	}
	for _, s := range report.Systems {
		if err := l.unevaluated(s); err != nil {
			return err
		}
	}
	return nil
}

// evaluate evaluates the model and, where it is asked for, the base model, and keeps their episodes where there is a folder for
// them.
func (t *tuning) evaluate(ctx context.Context, l *lab, f evalFlags, tasks []scenario.Scenario) (eval.Comparison, error) {
	report := eval.Comparison{Bootstrap: intervalsOf(t.c)}
	t.a.Opens(report.Bootstrap)
	var log *runLog
	if t.path != "" {
		catalog, err := encodeCatalog(l.Catalog)
		if err != nil {
			return report, err
		}
		text, err := scenario.Encode(tasks, false)
		if err == nil {
			err = t.begin(run.Input{Name: scenariosFile, Data: text}, catalog)
		}
		if err != nil {
			return report, err
		}
		log = &runLog{t.dir, t.a.Say, l}
	}
	system := func(name string) error {
		s, err := l.evaluate(ctx, t.a, name, tasks, t.c.Eval, log)
		report.Systems = append(report.Systems, s)
		return cmp.Or(ctx.Err(), err)
	}
	name := "model"
	if f.model == "" {
		name = "base"
	} else if f.compareBase {
		if err := l.policy.Withdraw(); err != nil {
			return report, err
		}
		if err := system("base"); err != nil {
			return report, err
		}
		if err := recipe.Publish(l.policy, "eval "+f.model); err != nil {
			return report, err
		}
	}
	if err := system(name); err != nil {
		return report, err
	}
	if log != nil {
		t.a.Say("trajectories: %s", filepath.Join(t.path, "trajectories.jsonl"))
	}
	return report, nil
}

// scenarios are all of the file's, and those of the split.
func (f evalFlags) scenarios() (list, tasks []scenario.Scenario, err error) {
	if list, err = scenarios(f.dataset, f.judge); err != nil {
		return nil, nil, err
	}
	tasks, err = ofSplit(list, f.split, f.dataset)
	return list, tasks, err
}

// intervalsOf says how the intervals of a report are computed.
func intervalsOf(c config.Config) eval.Bootstrap {
	return eval.Bootstrap{Level: c.Eval.Confidence, Seed: c.Seed}
}

// unevaluated is an error where no more than half of the episodes say anything about the policy.
func (l *lab) unevaluated(s eval.System) error {
	lost := s.NumExcluded()
	if lost == 0 || lost < len(s.Rows) {
		return nil
	}
	why := fmt.Sprint(s.Excluded)
	if first := s.FirstLost(); first != "" {
		why += "; the first: " + first
	}
	e := &fault.Error{Code: fault.CodeFailures, What: fmt.Sprintf("%d of %d episodes failed for reasons that are not the policy's", lost, lost+len(s.Rows)),
		Where: "eval " + s.Name, Why: why, Next: "hone doctor looks at servers and machine"}
	if len(s.Rows) == 0 && l.Lost() > 0 {
		e.Code, e.What = fault.CodeUnavailable, "no episode was answered by its MCP server"
	}
	return e
}

// evaluate runs one episode of each scenario under the sampler's present policy. A log, where there is one, keeps them as a
// stage.
func (l *lab) evaluate(ctx context.Context, a *app, name string, tasks []scenario.Scenario, e config.Eval, log *runLog) (eval.System, error) {
	known := byID(tasks)
	report := a.Progress(l.speaker.NumSlots())
	rollouts := recipe.Rollouts{Stage: "eval_" + name, GroupSize: 1, Runner: l.evaluation(e), Scorer: l.scorer, Log: stamped{l}, Progress: func(_ string, done, total int, note string) {
		report("eval "+name, done, total, note)
	}}
	if log != nil {
		rollouts.Log = log
	}
	groups, err := rollouts.Groups(ctx, tasks)
	if err == nil && log != nil {
		err = log.Finish(rollouts.Stage)
	}
	var ts []*trajectory.Trajectory
	for _, g := range groups {
		ts = append(ts, g.Trajectories...)
	}
	rows, excluded := eval.FromTrajectories(ts, l.criteria(known))
	s := eval.System{Name: name, Rows: rows, Excluded: excluded}
	for _, t := range ts {
		s.Episodes = append(s.Episodes, eval.Example{Trajectory: t, Scenario: known[t.ScenarioID]})
	}
	return s, err
}

// stamped keeps no episodes; their records are stamped as those that are kept.
type stamped struct{ lab *lab }

func (s stamped) Trajectory(_ string, _ int, t *trajectory.Trajectory) error {
	s.lab.stamp(t)
	return nil
}

func (stamped) Scores(string, trajectory.Group, []trajectory.Score) error { return nil }

func (stamped) Trajectories(string, int) ([]recipe.Kept, error) { return nil, nil }

// criteria tell success by the scenarios' own checks.
func (l *lab) criteria(byID map[string]*scenario.Scenario) eval.Criteria {
	return eval.ByChecks(byID, l.scorer.Defaults)
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
		Episodes []shownEpisode `json:"episodes,omitempty"`
	}{Results: results}
	for _, e := range shownOfSystems(r.Systems, show) {
		out.Episodes = append(out.Episodes, shownOf(e))
	}
	return a.Print(out, rows)
}
