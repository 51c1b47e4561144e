package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/llm"
	"hone/internal/mcp/approval"
	"hone/internal/mcp/lint"
	"hone/internal/recipe"
	"hone/internal/run"
	"hone/internal/toolset"
)

type collectFlags struct {
	servers                                         toolset.Source
	endpoint, model, keyEnv, dataset, split, output string
	budget                                          int
	allowFindings                                   lint.Allowed
}

func newCollect(a *app) *cobra.Command {
	var f collectFlags
	c := &cobra.Command{
		Use:   "collect",
		Short: "Run scenarios with any OpenAI-compatible endpoint as the policy and keep the trajectories",
		Long: "collect runs each scenario once against the live servers. Before a tool call is sent it is shown and asked for\n" +
			"(--yes approves all), unless a rule in mcp.approval decides; a denial is fed back to the model and recorded.",
		Example: "  hone collect --endpoint http://127.0.0.1:8000/v1 --model m --mcp-config .mcp.json --dataset scenarios.json --output-dir traces",
		Args:    arguments(0, 0, ""),
		RunE:    func(c *cobra.Command, _ []string) error { return runCollect(c.Context(), a, f) },
	}
	a.serverFlags(c.Flags(), &f.servers)
	a.reopenFlags(c.Flags())
	c.Flags().StringVar(&f.endpoint, "endpoint", "", "base URL of the endpoint, up to and including /v1")
	c.Flags().StringVar(&f.model, "model", "", "model to ask the endpoint for")
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
	if f.endpoint == "" || f.model == "" || f.output == "" {
		return &fault.Error{Code: fault.CodeUsage, What: "collect needs --endpoint, --model and --output-dir", Next: "hone collect --help"}
	}
	list, err := f.scenarios(a)
	if err != nil {
		return err
	}
	servers, err := toolset.Configured(a.Host, c, f.servers)
	if err != nil {
		return err
	}
	key, _ := a.LookupEnv(f.keyEnv)
	client, err := llm.New(llm.Options{BaseURL: f.endpoint, Key: llm.Secret(key), TokenBudget: f.budget,
		CacheDir: filepath.Join(f.output, "cache")})
	if err != nil {
		return err
	}
	if a.DryRun {
		a.Say("would run %s with %s at %s", fault.Count(len(list), "scenario"), f.model, f.endpoint)
		return nil
	}
	set, err := toolset.Connect(ctx, a.Host, c, servers, f.output)
	if err != nil {
		return err
	}
	l := a.labOf(c, set)
	defer l.close()
	if err := toolset.RefuseFindings(a.Host, l.Catalog.LintTools(), f.allowFindings); err != nil {
		return err
	}
	gate, err := l.Approvals(c.MCP.Approval, true) // today's rules, also for a run begun under others
	if err != nil {
		return err
	}
	l.Tools = gate.Wrap(l.Tools, placesOf(list))
	l.Select(trained)
	if err := l.Runnable(c, list); err != nil {
		return err
	}
	if err := toolset.Allowed(a.Host, gate, list); err != nil {
		return err
	}
	t := &tuning{a: a, verb: "collect", path: f.output, c: c}
	defer t.close()
	if err := t.beginOrGoOn(l.Catalog); err != nil {
		return err
	}
	if err := t.keepScenarios(list); err != nil {
		return err
	}
	ended, err := t.collect(ctx, l, llm.Policy{Client: client, Model: f.model}, list)
	spent := client.Spent()
	a.Say("%s sent and %s received were paid for", fault.Count(spent.PromptTokens, "token"), fault.Count(spent.CompletionTokens, "token"))
	if err != nil {
		return t.stoppedCollect(ctx, ended.total(), len(list), err)
	}
	if ended.outcomes[trajectory.EnvironmentError]+ended.outcomes[trajectory.InfrastructureError] == len(list) {
		return &fault.Error{Code: fault.CodeUnavailable, What: "no call was answered by its MCP server", Where: f.output, Why: ended.lost,
			Next: "hone doctor; then the same command tries these scenarios again"}
	}
	if ended.lost != "" {
		a.Say("note: episodes that a server or the way to it spoilt, the first by: %s; the same command tries them again", ended.lost)
	}
	a.Say("%s", ended.passRate())
	data := filepath.Join(f.output, "trajectories.jsonl")
	if ended.scored == 0 || ended.passed > 0 { // sft learns from what passed
		a.Say("next: hone sft --data %s --base-model %s --output-dir DIR", data, t.c.Model.Base)
	} else {
		a.Say("next: hone runs show %s --episodes; no episode passed, so there is nothing for hone sft to learn from", f.output)
	}
	return a.Print(ended.outcomes, [][]string{{"trajectories", data}})
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
	kept, err := ofSplit(list, f.split, f.dataset)
	if other := len(list) - len(kept); err == nil && other > 0 {
		a.Say("%s of the split %s; %d of other splits are left out (--split all runs them too)", fault.Count(len(kept), "scenario"), f.split, other)
	}
	return kept, err
}

// tally counts how episodes ended.
type tally struct {
	lost                      string // what the first episode that a server or the way to it spoilt says, its last words included
	outcomes                  map[trajectory.Outcome]int
	scored, passed, notScored int // by the scenario's checks
}

// total counts the episodes that are kept.
func (t *tally) total() int {
	n := 0
	for _, of := range t.outcomes {
		n += of
	}
	return n
}

func (t *tally) add(x *trajectory.Trajectory) {
	t.outcomes[x.Outcome]++
	if broken := x.Outcome == trajectory.EnvironmentError || x.Outcome == trajectory.InfrastructureError; broken && t.lost == "" {
		t.lost = x.Error
	}
	i := slices.IndexFunc(x.Terms, func(term trajectory.Term) bool { return term.Name == "checks" })
	if i < 0 {
		t.notScored++
		return
	}
	if t.scored++; x.Terms[i].Score == 1 {
		t.passed++
	}
}

// passRate says how many episodes passed their checks. One without checks, or without an outcome that is the model's, is in no
// rate.
func (t *tally) passRate() string {
	text := "no episode was scored by checks"
	if t.scored > 0 {
		text = fmt.Sprintf("%d of %s passed all checks (%.1f%%)", t.passed, fault.Count(t.scored, "episode"), 100*float64(t.passed)/float64(t.scored))
	}
	if t.notScored > 0 {
		text += fmt.Sprintf("; not scored, for want of checks or because a server failed: %d", t.notScored)
	}
	return text
}

// stoppedCollect is the error of a collect that ended before its last episode. Where the user stopped it, that is said as
// every verb says it, whatever the stop cut off.
func (t *tuning) stoppedCollect(ctx context.Context, kept, all int, err error) error {
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	return &fault.Error{Code: fault.CodeStopped, What: fmt.Sprintf("stopped after %d of %s; nothing finished is lost", kept, fault.Count(all, "episode")),
		Where: t.path, Next: "the same command goes on"}
}

// placesOf says where in a run the episode of each scenario stands.
func placesOf(list []scenario.Scenario) func(episode string) approval.Place {
	places := map[string]approval.Place{}
	for i, s := range list {
		places[s.ID] = approval.Place{Task: s.Asks(), Episode: i + 1, Episodes: len(list)}
	}
	return func(episode string) approval.Place { return places[episode] }
}

// collect runs the scenarios that have not been, and tallies all of them.
func (t *tuning) collect(ctx context.Context, l *lab, p rollout.Policy, list []scenario.Scenario) (tally, error) {
	dir, c := t.dir, t.c // c as the run was begun with
	log, report := runLog{dir, t.a.Say, l}, t.a.Progress(1)
	l.scorer.Weights = weightsOf(c.Rewards)
	l.world = l.worldOf(t.a, c)
	// The same command tries again what the servers spoilt, and then the endpoint's answers need not be paid for once more.
	l.options = rollout.Options{MaxTokens: c.Rollout.MaxTokens, Seed: c.Seed, Name: func(id string, _, _ int) string { return id }}
	runner := l.runner(p, c.Rollout.Temperature)
	ended := tally{outcomes: map[trajectory.Outcome]int{}}
	for i, s := range list {
		kept, found, err := collected(dir, s)
		if err != nil {
			return ended, err
		}
		if found {
			if err := l.scored(ctx, log, &list[i], kept); err != nil {
				return ended, err
			}
			ended.add(kept.Trajectory)
			continue
		}
		t, err := runner.Episode(ctx, s, 0, 0, 0)
		if err != nil {
			return ended, err
		}
		if err := log.Trajectory("collect", 0, t); err != nil {
			return ended, err
		}
		if err := l.scored(ctx, log, &list[i], recipe.Kept{Trajectory: t}); err != nil {
			return ended, err
		}
		ended.add(t)
		report("collect", i+1, len(list), string(t.Outcome))
	}
	if ended.outcomes[trajectory.EnvironmentError]+ended.outcomes[trajectory.InfrastructureError]+ended.outcomes[trajectory.JudgeError] > 0 {
		return ended, nil // the same command tries these again, or scores them
	}
	return ended, log.Finish("collect")
}

// scored gives an episode its score: the one that was kept, else a new one, which is.
func (l *lab) scored(ctx context.Context, log runLog, s *scenario.Scenario, k recipe.Kept) error {
	alone := trajectory.Group{ScenarioID: s.ID, Trajectories: []*trajectory.Trajectory{k.Trajectory}}
	if k.Score != nil && k.Score.Outcome == "" {
		alone.Take([]trajectory.Score{*k.Score})
		return nil
	}
	scores, err := recipe.Score(ctx, l.scorer, s, alone)
	if err != nil {
		return err
	}
	alone.Take(scores)
	return log.Scores("collect", alone, scores)
}

// collected returns the episode of a scenario that an earlier attempt kept, and whether there is one. One whose server failed
// is run again, and so is one of a scenario that was edited since.
func collected(dir *run.Dir, s scenario.Scenario) (recipe.Kept, bool, error) {
	row, found, err := dir.Ledger.Trajectory("collect/" + s.ID)
	if err != nil || !found {
		return recipe.Kept{}, false, err
	}
	k, err := keptOf(row)
	return k, k.Outcome.Trainable() && k.Scenario == s.Hash(), err
}
