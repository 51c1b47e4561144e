// Package collect does what needs no training: hone collect keeps the episodes of an endpoint, of a person, or of gold
// calls; hone replay asks again what was asked; hone runs rescore and hone judge calibrate score again.
package collect

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"sync"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/episode/reward"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/job/records"
	"hone/internal/llm"
	"hone/internal/recipe"
	"hone/internal/run"
	"hone/internal/toolset"
	"hone/internal/toolset/access"
)

// collectError is the error of a collect that ended before its last episode. Where the user stopped it, that is said as
// every verb says it, whatever the stop cut off.
func collectError(ctx context.Context, j *job.Job, kept, all int, err error) error {
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	return &fault.Error{
		Code:  fault.CodeStopped,
		What:  fmt.Sprintf("stopped after %d of %s; nothing finished is lost", kept, fault.Count(all, "episode")),
		Where: j.Path,
		Next:  "the same command goes on",
	}
}

// Collection says what hone collect runs scenarios with.
type Collection struct {
	Policy  rollout.Policy // who speaks in them; nil: the scenarios' gold calls are made
	Client  *llm.Client    // of an endpoint's policy, which counts what is paid for; nil for others
	Priced  bool           // whether the client knows what its tokens cost
	Samples int            // episodes of each scenario
	AtOnce  int            // episodes that run at once
	// KeepUnknown keeps gold answers that no prompt and no result says.
	KeepUnknown bool
	// Trained is the configuration as train has it, by which tools are shown: what is collected is to be learnt from.
	Trained config.Config
}

// runScenarios runs the scenarios that an earlier attempt has not, tallies all of them, and says what came of it.
func runScenarios(
	ctx context.Context, j *job.Job, x Collection, list []scenario.Scenario, from toolset.Source,
) (*Tally, error) {
	if x.Policy == nil {
		var err error
		if list, err = withGold(j, list); err != nil {
			return nil, err
		}
	}
	l, gate, err := openWithGate(ctx, j, from)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	todo := samplesOf(list, x.Samples)
	l.Tools = gate.Wrap(l.Tools, placesOf(todo))
	l.Select(x.Trained)
	if x.Policy == nil {
		if err := MakesGold(l); err != nil {
			return nil, err
		}
	}
	if err := l.Runnable(j.Config, list); err != nil {
		return nil, err
	}
	if err := toolset.CheckRules(j.Host, gate, list); err != nil {
		return nil, err
	}
	l.NoteUnsendable(j.Host, j.Config, list)
	if err := j.BeginOrGoOn(l.Set); err != nil {
		return nil, err
	}
	if err := j.KeepScenarios(list); err != nil {
		return nil, err
	}
	p := x.Policy
	if p == nil {
		p = goldPolicy(scenario.ByID(list))
		sayTooLong(j, list)
	}
	ended, err := runEpisodes(ctx, j, l, x, p, todo)
	SayCost(j, x)
	l.SayUsers(j.Host)
	if err != nil {
		return nil, collectError(ctx, j, ended.total(), len(todo), err)
	}
	if err := ended.nothing(len(todo), j.Path); err != nil {
		return nil, err
	}
	ended.say(j)
	return &ended, nil
}

// sayNext says what can be done with the episodes.
func sayNext(j *job.Job, ended *Tally) {
	if ended.shown > 0 {
		j.Say("next: hone sft --data %s --output-dir %s", j.Trajectories(), run.FreeFolder("sft"))
		return
	}
	j.Say("next: hone runs rollouts %s; no episode passed and ended by itself, so there is nothing for hone "+
		"sft to learn from", j.Path)
}

// openWithGate opens the servers of a collection, and the gate that asks whoever sits beside it about calls.
func openWithGate(ctx context.Context, j *job.Job, from toolset.Source) (*episodes.Episodes, *access.Gate, error) {
	servers, err := toolset.LoadServers(j.Host, j.Config, from)
	if err != nil {
		return nil, nil, err
	}
	set, err := toolset.Connect(ctx, j.Host, j.Config, servers, j.Path)
	if err != nil {
		return nil, nil, err
	}
	l, err := episodes.Of(j.Host, j.Config, set)
	if err != nil {
		return nil, nil, err
	}
	var gate *access.Gate
	if err = toolset.RefuseFindings(j.Host, j.Config.MCP, l.Catalog.LintTools(), j.Kept.AllowFindings); err == nil {
		gate, err = l.Approvals(j.Config.MCP.Approval, true) // today's rules, also for a run begun under others
	}
	if err != nil {
		l.Close()
		return nil, nil, err
	}
	return l, gate, nil
}

// SayCost tells what an endpoint was paid.
func SayCost(j *job.Job, x Collection) {
	if x.Client == nil {
		return
	}
	spent, cost := x.Client.Usage(), ""
	if x.Priced {
		cost = fmt.Sprintf(": $%.4f", x.Client.CostUSD())
	}
	j.Say("%s sent and %s received were paid for%s", fault.Count(spent.PromptTokens, "token"),
		fault.Count(spent.CompletionTokens, "token"), cost)
}

// withGold are the scenarios of which gold calls or an answer can be shown.
func withGold(j *job.Job, list []scenario.Scenario) (kept []scenario.Scenario, err error) {
	for _, s := range list {
		if (goldPolicy{}).shows(&s) {
			kept = append(kept, s)
		}
	}
	if other := len(list) - len(kept); other > 0 {
		j.Say("%s with neither gold calls nor an answer that a check names: left out", fault.Count(other, "scenario"))
	}
	if len(kept) == 0 {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "no scenario has gold calls", Where: "--gold",
			Next: `give the scenarios "gold", or name an --endpoint`}
	}
	return kept, nil
}

// Of that many made training scenarios or more, one in six is not shown: GRPO learns next to nothing on those whose
// solutions the model knows (docs/LEARNING.md).
const (
	manyToShow = 400
	leaveOneIn = 6
)

// leaveToGRPO leaves out the training scenarios that are kept for hone train: of those that hone made, since making
// more costs nothing. Which ones follows from each scenario alone, so that the same command goes on with the same ones;
// what a run has begun to show stays.
func leaveToGRPO(h *host.Host, list, begun []scenario.Scenario) []scenario.Scenario {
	known := map[string]bool{}
	for _, s := range begun {
		known[s.ID] = true
	}
	made := func(s scenario.Scenario) bool { return s.Split == scenario.Train && s.Provenance != nil }
	n := 0
	for _, s := range list {
		if made(s) {
			n++
		}
	}
	if n < manyToShow {
		return list
	}
	shown := slices.DeleteFunc(slices.Clone(list), func(s scenario.Scenario) bool {
		hash := fnv.New32a()
		hash.Write([]byte(s.ID))
		return made(s) && !known[s.ID] && hash.Sum32()%leaveOneIn == 0
	})
	if left := len(list) - len(shown); left > 0 {
		h.Say("%s are not shown: hone train learns from them, by its own episodes",
			fault.Count(left, "training scenario"))
	}
	return shown
}

// sampled is one of the episodes of a scenario, from 0.
type sampled struct {
	*scenario.Scenario
	sample int
}

// endText says how an episode went: one that ended by itself may have failed.
func endText(l *episodes.Episodes, s *scenario.Scenario, t *trajectory.Trajectory) string {
	if t.Outcome != trajectory.OK {
		return string(t.Outcome)
	}
	n := len(s.Checks)
	if n == 0 {
		return "done"
	}
	return fmt.Sprintf("done, %d of %s", n-len(reward.FailedChecks(s, t, l.Scorer.Defaults)), fault.Count(n, "check"))
}

// id is the name of the episode: the scenario's, and from the second on its number.
func (s sampled) id() string { return sampleID(s.ID, s.sample) }

func sampleID(scenario string, sample int) string {
	if sample == 0 {
		return scenario
	}
	return fmt.Sprintf("%s#%d", scenario, sample+1)
}

// samplesOf are all samples of all scenarios: the first of each, then the second, so that a run that is stopped has
// some of all.
func samplesOf(list []scenario.Scenario, samples int) []sampled {
	var out []sampled
	for n := range samples {
		for i := range list {
			out = append(out, sampled{&list[i], n})
		}
	}
	return out
}

// placesOf says where in a run each episode stands.
func placesOf(list []sampled) func(episode string) access.Place {
	places := map[string]access.Place{}
	for i, s := range list {
		places[s.id()] = access.Place{Task: s.Asks(), Episode: i + 1, Episodes: len(list)}
	}
	return func(episode string) access.Place { return places[episode] }
}

// runEpisodes runs the episodes that have not been, so many at once, and tallies all of them.
func runEpisodes(
	ctx context.Context, j *job.Job, l *episodes.Episodes, x Collection, p rollout.Policy, list []sampled,
) (Tally, error) {
	dir, c := j.Dir, j.Config // c as the run was begun with
	log, report := records.Journal{Dir: dir, Say: j.Say, Episodes: l}, j.Progress(1)
	defer j.Working("running episodes")()
	if err := restoreSettings(j, l, x.Trained); err != nil {
		return Tally{}, err
	}
	runner := l.Runner(p, c.Rollout.Temperature)
	ended := Tally{Outcomes: map[trajectory.Outcome]int{}, cut: map[trajectory.StopReason]int{}}
	var left []sampled
	for _, s := range list {
		kept, found, err := keptEpisode(dir, s)
		if err != nil {
			return ended, err
		}
		if !found || x.Policy == nil && len(l.UnmarkedResults(kept.Trajectory)) > 0 {
			left = append(left, s)
			continue
		}
		if err := ensureScore(ctx, l, log, s.Scenario, kept); err != nil {
			return ended, err
		}
		ended.add(kept.Trajectory)
	}
	// calls or reasoning were left in a text, which is said once
	unread := false
	keep := func(s sampled, t *trajectory.Trajectory) error { // one after the other
		if x.Policy == nil && l.RefuseGold(t) {
			ended.refused++
			ended.mend = l.MendRefusals()
		} else if x.Policy == nil && !refuseUnmade(t) && !x.KeepUnknown {
			refuseUnknown(t)
		}
		if err := log.Trajectory("collect", 0, t); err != nil {
			return err
		}
		if err := ensureScore(ctx, l, log, s.Scenario, recipe.Kept{Trajectory: t}); err != nil {
			return err
		}
		ended.add(t)
		report("collect", ended.total(), len(list), endText(l, s.Scenario, t))
		if !unread {
			unread = sayUnread(j, t, x.Client.IsHones())
		}
		return nil
	}
	if err := eachAtOnce(ctx, left,
		x.AtOnce, func(ctx context.Context, s sampled, slot int) (*trajectory.Trajectory, error) {
			return runner.Episode(ctx, *s.Scenario, s.sample, 0, slot)
		}, keep); err != nil {
		return ended, err
	}
	if ended.Outcomes[trajectory.EnvironmentError]+ended.Outcomes[trajectory.InfrastructureError]+
		ended.Outcomes[trajectory.JudgeError] > 0 {
		return ended, nil // the same command tries these again, or scores them
	}
	return ended, log.Finish("collect")
}

// restoreSettings has episodes take place as the run was begun with. trained is today's configuration as train has it:
// what chooses tools in it is taken from then.
func restoreSettings(j *job.Job, l *episodes.Episodes, trained config.Config) error {
	c := j.Config
	then := trained
	then.MCP.MaxTools, then.MCP.Distractors, then.MCP.SearchShare, then.Seed =
		c.MCP.MaxTools, c.MCP.Distractors, c.MCP.SearchShare, c.Seed
	if !reflect.DeepEqual(then, trained) {
		l.Select(then)
	}
	// The same command tries again what the servers spoilt, and then the endpoint's answers need not be paid for once
	// more.
	l.Options = rollout.Options{MaxTokens: c.Rollout.MaxTokens, Seed: c.Seed,
		Name: func(id string, _, sample int) string { return sampleID(id, sample) }}
	return l.Under(j.Host, c)
}

// toolFormat is the form in which the base to be trained writes calls, "" where that model is not here.
func toolFormat(j *job.Job) string {
	text, err := basemodel.OpenText(j.Host, j.Config.Model, "")
	if err != nil {
		return ""
	}
	f, err := text.ToolFormat()
	if err != nil {
		return ""
	}
	return f.Name()
}

// eachAtOnce runs episodes so many at once and keeps each as it ends, one after the other. The first error stops those
// that have not begun; what is under way is kept where it still ends well.
func eachAtOnce(
	ctx context.Context,
	list []sampled, atOnce int, run func(ctx context.Context, s sampled, slot int) (*trajectory.Trajectory, error),
	keep func(sampled, *trajectory.Trajectory) error,
) error {
	var mu sync.Mutex // of keep, first and next
	var first error
	next := 0
	var wait sync.WaitGroup
	for slot := range min(atOnce, len(list)) {
		wait.Go(func() {
			for {
				mu.Lock()
				if first != nil || next == len(list) {
					mu.Unlock()
					return
				}
				s := list[next]
				next++
				mu.Unlock()
				t, err := run(ctx, s, slot)
				mu.Lock()
				if err == nil {
					err = keep(s, t)
				}
				if first == nil {
					first = err
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return first
}

// ensureScore gives an episode its score: the one that was kept, else a new one, which is.
func ensureScore(
	ctx context.Context, l *episodes.Episodes, log records.Journal, s *scenario.Scenario, k recipe.Kept,
) error {
	alone := trajectory.Group{ScenarioID: s.ID, Trajectories: []*trajectory.Trajectory{k.Trajectory}}
	if k.Score != nil && k.Score.Outcome == "" {
		alone.Take([]trajectory.Score{*k.Score})
		return nil
	}
	scores, err := recipe.Score(ctx, l.Scorer, s, alone)
	if err != nil {
		return err
	}
	alone.Take(scores)
	return log.Scores("collect", alone, scores)
}

// keptEpisode returns the episode that an earlier attempt kept, and whether there is one. One whose server failed
// is run again, and so is one of a scenario that was edited since.
func keptEpisode(dir *run.Dir, s sampled) (recipe.Kept, bool, error) {
	row, found, err := dir.Ledger.Trajectory("collect/" + s.id())
	if err != nil || !found {
		return recipe.Kept{}, false, err
	}
	k, err := records.EpisodeOfRow(row)
	return k, k.Outcome.Trainable() && k.Scenario == s.Hash(), err
}
