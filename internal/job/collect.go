package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/episode/reward"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/llm"
	"hone/internal/recipe"
	"hone/internal/run"
	"hone/internal/toolset"
	"hone/internal/toolset/approval"
)

// Tally counts how episodes ended.
type Tally struct {
	odd                       oddResults
	lost                      string // what the first episode that a server or the way to it spoilt says, its last words included
	Outcomes                  map[trajectory.Outcome]int
	unscored                  string                        // why the first episode that could not be scored was not
	scored, passed, notScored int                           // by the scenario's checks
	cut                       map[trajectory.StopReason]int // that a limit ended; some of them may have passed
	shown                     int                           // that hone sft learns from
	refused                   int                           // gold solutions that a server refused, which are among those that it spoilt
	unknown                   int                           // gold answers that nothing shown says, which are left out
	forms                     Forms                         // of answers that hold a call which was not read
	invented                  *trajectory.Trajectory        // the first of them
}

// nothing is an error where none of n episodes came to anything.
func (t *Tally) nothing(n int, where string) error {
	switch n {
	case t.refused:
		return allRefused(where, t.lost)
	case t.unknown:
		return &fault.Error{Code: fault.CodeFailures, What: "every gold answer says what nothing shown says", Where: where, Why: t.invented.ScenarioID + ": " + t.invented.Error, Next: mendUnknown(where, t.invented)}
	case t.Outcomes[trajectory.EnvironmentError] + t.Outcomes[trajectory.InfrastructureError]:
		return &fault.Error{Code: fault.CodeUnavailable, What: "no call was answered by its MCP server", Where: where, Why: t.lost,
			Next: trajectory.Mending(t.lost, "hone doctor") + "; then the same command tries these scenarios again"}
	case t.Outcomes[trajectory.JudgeError]:
		return &fault.Error{Code: fault.CodeFailures, What: "no episode could be scored", Where: where, Why: t.unscored,
			Next: "remove the reason; then the same command scores them, and runs none again"}
	}
	return nil
}

// say tells how the episodes went, and what the same command will try again.
func (t *Tally) say(j *Job) {
	if t.lost != "" {
		j.Say("note: episodes that a server or the way to it spoilt, the first by: %s; the same command tries them again", t.lost)
	}
	if t.unscored != "" {
		j.Say("note: %s could not be scored, the first by: %s; the same command scores them again", fault.Count(t.Outcomes[trajectory.JudgeError], "episode"), t.unscored)
	}
	if t.forms.Held > 0 {
		j.Say("%s", t.forms)
	}
	if t.unknown > 0 {
		j.Say("left out: %s that could not be known, the first: %s: %s; next: %s", fault.Count(t.unknown, "gold answer"), t.invented.ScenarioID, t.invented.Error, mendUnknown(j.Path, t.invented))
	}
	for _, line := range t.odd.lines() {
		j.Say("%s", line)
	}
	j.Say("%s", t.passRate())
	if len(t.cut) > 0 {
		j.Say("%s", t.cutOff())
	}
}

// total counts the episodes that are kept.
func (t *Tally) total() int {
	n := 0
	for _, of := range t.Outcomes {
		n += of
	}
	return n
}

func (t *Tally) add(x *trajectory.Trajectory) {
	t.forms.Add(x)
	if t.odd == nil {
		t.odd = oddResults{}
	}
	t.odd.add(x)
	t.Outcomes[x.Outcome]++
	if broken := x.Outcome == trajectory.EnvironmentError || x.Outcome == trajectory.InfrastructureError; broken && t.lost == "" {
		t.lost = x.Error
	}
	if x.Outcome == trajectory.PolicyError && strings.HasPrefix(x.Error, unknownAnswer) {
		t.unknown++
		t.invented = cmp.Or(t.invented, x)
	}
	if x.Outcome == trajectory.JudgeError && t.unscored == "" {
		t.unscored = x.Error
	}
	if x.Outcome == trajectory.Limit {
		t.cut[x.StopReason]++
	}
	i := slices.IndexFunc(x.Terms, func(term trajectory.Term) bool { return term.Name == "checks" })
	passed := i >= 0 && x.Terms[i].Score == 1
	if x.Outcome == trajectory.OK && (i < 0 || passed) {
		t.shown++
	}
	switch {
	case i < 0:
		t.notScored++
	case passed:
		t.scored, t.passed = t.scored+1, t.passed+1
	default:
		t.scored++
	}
}

// cutOff says how many episodes a limit ended, and the keys to raise. They are told apart from those that failed: what they did may be right,
// and passes checks that are true by then.
func (t *Tally) cutOff() string {
	n, by := 0, []string{}
	for _, stop := range slices.Sorted(maps.Keys(t.cut)) {
		n += t.cut[stop]
		by = append(by, fmt.Sprintf("%s (%d)", cmp.Or(recipe.Raises(stop), string(stop)), t.cut[stop]))
	}
	return fmt.Sprintf("episodes that a limit cut, which hone sft leaves out, passed or not: %d; raise %s for another --output-dir", n, strings.Join(by, ", "))
}

// passRate says how many episodes passed their checks. One without checks, or without an outcome that is the model's, is in no
// rate.
func (t *Tally) passRate() string {
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
func (j *Job) stoppedCollect(ctx context.Context, kept, all int, err error) error {
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	return &fault.Error{Code: fault.CodeStopped, What: fmt.Sprintf("stopped after %d of %s; nothing finished is lost", kept, fault.Count(all, "episode")),
		Where: j.Path, Next: "the same command goes on"}
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

// Collect runs the scenarios that an earlier attempt has not, tallies all of them, and says what came of it.
func (j *Job) Collect(ctx context.Context, x Collection, list []scenario.Scenario, from toolset.Source) (*Tally, error) {
	if x.Policy == nil {
		var err error
		if list, err = j.withGold(list); err != nil {
			return nil, err
		}
	}
	l, gate, err := j.attended(ctx, from)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	todo := samplesOf(list, x.Samples)
	l.Tools = gate.Wrap(l.Tools, placesOf(todo))
	l.Select(x.Trained)
	if x.Policy == nil {
		if err := l.MakesGold(); err != nil {
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
		p = gold(ByID(list))
		j.sayTooLong(list)
	}
	ended, err := j.collect(ctx, l, x, p, todo)
	j.sayPaid(x)
	l.SayUsers(j.Host)
	if err != nil {
		return nil, j.stoppedCollect(ctx, ended.total(), len(todo), err)
	}
	if err := ended.nothing(len(todo), j.Path); err != nil {
		return nil, err
	}
	ended.say(j)
	return &ended, nil
}

// sayCollected says what can be done with the episodes.
func (j *Job) sayCollected(ended *Tally) {
	if ended.shown > 0 {
		j.Say("next: hone sft --data %s --base-model %s --output-dir DIR", j.Trajectories(), j.Config.Model.Base)
		return
	}
	j.Say("next: hone runs show %s --episodes; no episode passed and ended by itself, so there is nothing for hone sft to learn from", j.Path)
}

// attended opens the servers of a collection, and the gate that asks whoever sits beside it about calls.
func (j *Job) attended(ctx context.Context, from toolset.Source) (*Episodes, *approval.Gate, error) {
	servers, err := toolset.LoadServers(j.Host, j.Config, from)
	if err != nil {
		return nil, nil, err
	}
	set, err := toolset.Connect(ctx, j.Host, j.Config, servers, j.Path)
	if err != nil {
		return nil, nil, err
	}
	l, err := Of(j.Host, j.Config, set)
	if err != nil {
		return nil, nil, err
	}
	var gate *approval.Gate
	if err = toolset.RefuseFindings(j.Host, j.Config.MCP, l.Catalog.LintTools(), j.Kept.AllowFindings); err == nil {
		gate, err = l.Approvals(j.Config.MCP.Approval, true) // today's rules, also for a run begun under others
	}
	if err != nil {
		l.Close()
		return nil, nil, err
	}
	return l, gate, nil
}

// sayPaid tells what an endpoint was paid.
func (j *Job) sayPaid(x Collection) {
	if x.Client == nil {
		return
	}
	spent, cost := x.Client.Spent(), ""
	if x.Priced {
		cost = fmt.Sprintf(": $%.4f", x.Client.SpentUSD())
	}
	j.Say("%s sent and %s received were paid for%s", fault.Count(spent.PromptTokens, "token"), fault.Count(spent.CompletionTokens, "token"), cost)
}

// withGold are the scenarios of which gold calls or an answer can be shown.
func (j *Job) withGold(list []scenario.Scenario) (kept []scenario.Scenario, err error) {
	for _, s := range list {
		if (gold{}).shows(&s) {
			kept = append(kept, s)
		}
	}
	if other := len(list) - len(kept); other > 0 {
		j.Say("%s with neither gold calls nor an answer that a check names: left out", fault.Count(other, "scenario"))
	}
	if len(kept) == 0 {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "no scenario has gold calls", Where: "--gold", Next: `give the scenarios "gold", or name an --endpoint`}
	}
	return kept, nil
}

// sampled is one of the episodes of a scenario, from 0.
type sampled struct {
	*scenario.Scenario
	sample int
}

// howEnded says how an episode went: one that ended by itself may have failed.
func (l *Episodes) howEnded(s *scenario.Scenario, t *trajectory.Trajectory) string {
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

// samplesOf are all samples of all scenarios: the first of each, then the second, so that a run that is stopped has some of all.
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
func placesOf(list []sampled) func(episode string) approval.Place {
	places := map[string]approval.Place{}
	for i, s := range list {
		places[s.id()] = approval.Place{Task: s.Asks(), Episode: i + 1, Episodes: len(list)}
	}
	return func(episode string) approval.Place { return places[episode] }
}

// collect runs the episodes that have not been, so many at once, and tallies all of them.
func (j *Job) collect(ctx context.Context, l *Episodes, x Collection, p rollout.Policy, list []sampled) (Tally, error) {
	dir, c := j.Dir, j.Config // c as the run was begun with
	log, report := Journal{Dir: dir, Say: j.Say, Episodes: l}, j.Progress(1)
	defer j.Working("running episodes")()
	if err := j.asBegun(l, x.Trained); err != nil {
		return Tally{}, err
	}
	runner := l.Runner(p, c.Rollout.Temperature)
	ended := Tally{Outcomes: map[trajectory.Outcome]int{}, cut: map[trajectory.StopReason]int{}}
	var left []sampled
	for _, s := range list {
		kept, found, err := collected(dir, s)
		if err != nil {
			return ended, err
		}
		if !found || x.Policy == nil && len(l.unmarked(kept.Trajectory)) > 0 {
			left = append(left, s)
			continue
		}
		if err := l.scored(ctx, log, s.Scenario, kept); err != nil {
			return ended, err
		}
		ended.add(kept.Trajectory)
	}
	unread := false                                           // calls or reasoning were left in a text, which is said once
	keep := func(s sampled, t *trajectory.Trajectory) error { // one after the other
		if x.Policy == nil && l.refuseGold(t) {
			ended.refused++
		} else if x.Policy == nil && !x.KeepUnknown {
			refuseUnknown(t)
		}
		if err := log.Trajectory("collect", 0, t); err != nil {
			return err
		}
		if err := l.scored(ctx, log, s.Scenario, recipe.Kept{Trajectory: t}); err != nil {
			return err
		}
		ended.add(t)
		report("collect", ended.total(), len(list), l.howEnded(s.Scenario, t))
		if !unread {
			unread = j.sayUnread(t, x.Client.IsHones())
		}
		return nil
	}
	if err := eachAtOnce(ctx, left, x.AtOnce, func(ctx context.Context, s sampled, slot int) (*trajectory.Trajectory, error) {
		return runner.Episode(ctx, *s.Scenario, s.sample, 0, slot)
	}, keep); err != nil {
		return ended, err
	}
	if ended.Outcomes[trajectory.EnvironmentError]+ended.Outcomes[trajectory.InfrastructureError]+ended.Outcomes[trajectory.JudgeError] > 0 {
		return ended, nil // the same command tries these again, or scores them
	}
	return ended, log.Finish("collect")
}

// asBegun has episodes take place as the run was begun with. trained is today's configuration as train has it: what chooses tools in it is taken from then.
func (j *Job) asBegun(l *Episodes, trained config.Config) (err error) {
	c := j.Config
	then := trained
	then.MCP.MaxTools, then.MCP.Distractors, then.MCP.SearchShare, then.Seed = c.MCP.MaxTools, c.MCP.Distractors, c.MCP.SearchShare, c.Seed
	if !reflect.DeepEqual(then, trained) {
		l.Select(then)
	}
	if l.Scorer, err = ScorerOf(j.Host, c.Rewards, l.Catalog); err != nil {
		return err
	}
	if l.users, err = playersOf(j.Host, c); err != nil {
		return err
	}
	l.World = l.WorldOf(j.Host, c)
	// The same command tries again what the servers spoilt, and then the endpoint's answers need not be paid for once more.
	l.Options = rollout.Options{MaxTokens: c.Rollout.MaxTokens, Seed: c.Seed, Name: func(id string, _, sample int) string { return sampleID(id, sample) }}
	return nil
}

// toolFormat is the form in which the base to be trained writes calls, "" where that model is not here.
func (j *Job) toolFormat() string {
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

// eachAtOnce runs episodes so many at once and keeps each as it ends, one after the other. The first error stops those that have not begun; what is
// under way is kept where it still ends well.
func eachAtOnce(ctx context.Context, list []sampled, atOnce int, run func(ctx context.Context, s sampled, slot int) (*trajectory.Trajectory, error), keep func(sampled, *trajectory.Trajectory) error) error {
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

// scored gives an episode its score: the one that was kept, else a new one, which is.
func (l *Episodes) scored(ctx context.Context, log Journal, s *scenario.Scenario, k recipe.Kept) error {
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

// collected returns the episode that an earlier attempt kept, and whether there is one. One whose server failed
// is run again, and so is one of a scenario that was edited since.
func collected(dir *run.Dir, s sampled) (recipe.Kept, bool, error) {
	row, found, err := dir.Ledger.Trajectory("collect/" + s.id())
	if err != nil || !found {
		return recipe.Kept{}, false, err
	}
	k, err := KeptOf(row)
	return k, k.Outcome.Trainable() && k.Scenario == s.Hash(), err
}
