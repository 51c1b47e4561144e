package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/data/dataset"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/learn/batch"
	"hone/internal/recipe"
	"hone/internal/report"
	"hone/internal/run"
	"hone/internal/run/metrics"
	"hone/internal/toolset"
)

// ResumeTrain goes on with a stopped run of hone train.
func ResumeTrain(ctx context.Context, e Env, path string, b Begun, from toolset.Source) error {
	j := &Job{Env: e, Verb: "train", Path: path, Kept: b.Flags}
	defer j.Close()
	if over, err := j.over(b, grpoStage, report.HTMLFile, j.sayTrained); over || err != nil {
		return err
	}
	from, err := b.Flags.Again(e.Host, from, path)
	if err != nil {
		return err
	}
	if err := b.Flags.beganWith(path); err != nil {
		return err
	}
	if err := j.GoOn(); err != nil {
		return err
	}
	list, err := scenario.LoadKept(filepath.Join(path, ScenariosFile))
	if err != nil {
		return err
	}
	return j.Train(ctx, list, from)
}

// RehearseTrain looks whether all is there that train needs, memory included. It lists the servers' tools and reads the model's
// files; it makes no call, opens no device, and leaves no run directory.
func (j *Job) RehearseTrain(ctx context.Context, list []scenario.Scenario, from toolset.Source) error {
	l, list, err := j.openServers(ctx, list, from)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := l.OpenSampler(ctx, j.Host, j.Config, j.Path, true, nil); err != nil {
		return err
	}
	if err := l.Rehearse(j.Host, j.Config, j.Kept.Adapter, list, true); err != nil {
		return err
	}
	if _, _, err = j.demonstrations(l, list); err != nil {
		return err
	}
	g := j.Config.GRPO
	j.Say("would take %s of %d x %d rollouts on %s in %s", fault.Count(g.Steps, "step"), g.ScenariosPerStep, g.GroupSize,
		fault.Count(len(scenario.OfSplit(list, scenario.Train)), "scenario"), j.Path)
	return nil
}

// given are the demonstrations that GRPO learns from, and what the run keeps of all that it was given.
func (j *Job) given(l *Episodes, list []scenario.Scenario) (shown []batch.Sequence, kept []run.Input, err error) {
	kept, err = InputsOf(l.Set)
	if err != nil {
		return nil, nil, err
	}
	text, err := scenario.Encode(list, false)
	if err != nil {
		return nil, nil, err
	}
	shown, conversations, err := j.demonstrations(l, list)
	return shown, append(append(kept, run.Input{Name: ScenariosFile, Data: text}), conversations...), err
}

// demonstrations are the rows that GRPO learns from beside its episodes, and what the run keeps of them; none where the configuration has none. A run
// that goes on has those that it kept. all are the run's scenarios, of every split.
func (j *Job) demonstrations(l *Episodes, all []scenario.Scenario) (rows []batch.Sequence, kept []run.Input, err error) {
	c := j.Config.GRPO.Demonstrations
	if c.Rows == 0 {
		return nil, nil, nil
	}
	path := c.File
	if j.Dir != nil {
		path = filepath.Join(j.Path, ConversationsFile)
	}
	if path == "" {
		return nil, nil, &fault.Error{Code: fault.CodeUsage, What: "there are no demonstrations to learn from", Where: "grpo.demonstrations.file",
			Next: "name the conversations that hone sft had, such as shown/trajectories.jsonl, or set grpo.demonstrations.rows to 0"}
	}
	d, err := ReadConversations(path, "")
	if d.catalog == nil {
		d.catalog = l.Catalog
	}
	if err == nil {
		err = unread(j.Host, &d.report, false)
	}
	if err != nil {
		return nil, nil, err
	}
	if j.Dir == nil {
		d.holdOut(j.Host, all)
	}
	list, err := d.Demonstrations(j.Host, j.Config)
	if err == nil {
		err = toolset.RefuseFindings(j.Host, j.Config.MCP, d.LintTools(list), j.Kept.AllowFindings)
	}
	if err == nil {
		rows, err = SequencesOf(j.Host, l.Model, path, dataset.Unroll(j.Config.SFT.Unroll, list), j.Config.Model.Context, false)
	}
	if err != nil {
		return nil, nil, err
	}
	d.rows = list // with their tools
	text, err := d.lines()
	return rows, []run.Input{{Name: ConversationsFile, Data: text}}, err
}

// openServers opens the servers of GRPO on the training split of list, and refuses tools and scenarios that cannot be
// trained on. What is left of list is without those that SkipBad leaves out.
func (j *Job) openServers(ctx context.Context, list []scenario.Scenario, from toolset.Source) (*Episodes, []scenario.Scenario, error) {
	servers, err := toolset.LoadServers(j.Host, j.Config, from)
	if err != nil {
		return nil, nil, err
	}
	if err := basemodel.CheckDevices(j.Host, j.Config.Engine); err != nil {
		return nil, nil, err
	}
	l, err := Open(ctx, j.Host, j.Config, servers, j.Path)
	if err != nil {
		return nil, nil, err
	}
	if j.Dir != nil {
		err = j.SameTools(l.Catalog)
	}
	if err == nil {
		err = toolset.RefuseFindings(j.Host, j.Config.MCP, l.Catalog.LintTools(), j.Kept.AllowFindings)
	}
	if err == nil {
		list, err = l.sendable(j, list)
	}
	tasks := scenario.OfSplit(list, scenario.Train)
	if j.Config.Eval.Every > 0 {
		tasks = slices.Concat(tasks, scenario.OfSplit(list, scenario.Validation))
	}
	if err == nil {
		err = l.Runnable(j.Config, tasks)
	}
	if err == nil {
		err = toolset.CheckRules(j.Host, l.Gate, tasks)
	}
	if err == nil {
		err = l.OpenJudge(j.Host, j.Config)
	}
	if err != nil {
		l.Close()
		return nil, nil, err
	}
	return l, list, nil
}

// Train runs what is left of GRPO on the training split of list.
func (j *Job) Train(ctx context.Context, list []scenario.Scenario, from toolset.Source) (err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	l, list, err := j.openServers(ctx, list, from)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := l.OpenSampler(ctx, j.Host, j.Config, j.Path, true, stop); err != nil {
		return err
	}
	if err := l.OpenModel(j.Host, &j.Config, j.Kept.Adapter, list, true); err != nil {
		return err
	}
	shown, kept, err := j.given(l, list)
	if err != nil {
		return err
	}
	if err := j.Begin(kept...); err != nil {
		return err
	}
	c := j.Config
	tasks := scenario.OfSplit(list, scenario.Train)
	grpo := GRPOOf(c, l.MaxMismatch())
	if grpo.Parity, err = l.Parity(c, tasks); err != nil {
		return err
	}
	if err := l.Stage(&grpo, tasks); err != nil {
		return err
	}
	grpo.Show(shown)
	j.Opens(grpo)
	grpo.Validation = l.Validation(c, scenario.OfSplit(list, scenario.Validation))
	track := j.StartTracking(c.Metrics, j.Dir, Tracked{Main: grpo.Stage, Engine: l.Model.Engine, Measures: grpo.Validation != nil})
	defer func() { track.Close(err) }()
	log := Journal{Dir: j.Dir, Say: j.Say, Episodes: l, Track: track}
	if grpo.Validation != nil {
		j.Opens(*grpo.Validation)
	} else if c.Eval.Every > 0 {
		j.Say("no scenario is in the split validation, so nothing says which checkpoint is best")
	}
	scorer := ByTurn(c, l.Scorer)
	j.Opens(scorer)
	grpo.Validation = track.Validation(grpo.Validation)
	err = grpo.Run(ctx, tasks, track.Rollouts(l.Rollouts(c.Rollout.Temperature)), track.Scores(scorer, metrics.Score),
		track.Trainer(l.Trainer, metrics.Train), track.Publisher(l.Policy), log, track.Progress(j.Progress(l.Speaker.NumSlots())))
	if gone, ok := errors.AsType[*fault.Error](context.Cause(ctx)); ok && errors.Is(err, context.Canceled) { // the sampler
		err = gone
	}
	l.SayUsers(j.Host)
	l.SayJudge(j.Host)
	if err := l.Unreachable(j.Ended(ctx, grpo.Stage, err)); err != nil {
		return err
	}
	final := j.final()
	if err := l.SaveFinal(ctx, j.Host, final); err != nil {
		return err
	}
	if err := j.sayBest(log, grpo.Stage, grpo.Steps); err != nil {
		return err
	}
	if err := j.reportTrain(l); err != nil {
		return err
	}
	if err := track.Tell(j.Dir); err != nil {
		return err
	}
	return j.sayTrained(final)
}

// sayTrained tells where the adapter is and what can be done with it. It is an error where nothing was learnt.
func (j *Job) sayTrained(final string) error {
	if err := j.unlearnt(grpoStage, final); err != nil {
		return err
	}
	j.Say("adapter: %s", final)
	j.Say("next: hone eval --model %s --dataset %s%s", final, j.measuredOn(), j.heldOutSplit())
	return nil
}

// heldOutSplit is the flag of a split that can be measured: the first of validation and test that has scenarios, or what was trained on.
func (j *Job) heldOutSplit() string {
	list, err := scenario.LoadKept(filepath.Join(j.Path, ScenariosFile))
	if err != nil {
		return " --split " + scenario.Validation
	}
	for _, split := range []string{scenario.Validation, scenario.Test} {
		if len(scenario.OfSplit(list, split)) > 0 {
			return " --split " + split
		}
	}
	return " --split " + scenario.Train
}

// measuredOn is the file of scenarios to measure the adapter on: the run's own, which have their splits and none that --skip-bad left out. Rows that
// name files beside their own file are read from there alone, without those that cannot be read.
func (j *Job) measuredOn() string {
	own := filepath.Join(j.Path, ScenariosFile)
	if _, err := scenario.Load(own); err != nil {
		if _, err := scenario.Load(j.Config.Scenarios.File); err != nil {
			return j.Config.Scenarios.File + " --skip-bad"
		}
		return j.Config.Scenarios.File
	}
	return own
}

// Validation is how a stage measures the policy on the way; nil where it does not.
func (l *Episodes) Validation(c config.Config, held []scenario.Scenario) *recipe.Validation {
	if c.Eval.Every == 0 || len(held) == 0 {
		return nil
	}
	return &recipe.Validation{Every: c.Eval.Every, Scenarios: held, Runner: l.Evaluation(c.Eval), Scorer: l.Scorer.Alone(), Passed: l.Criteria(ByID(held), nil).Episode}
}

// sayBest says which step was best on validation, and where its adapter is; the final adapter is the last step's in any case.
func (j *Job) sayBest(log Journal, stage string, steps int) error {
	step, m, err := log.Best(stage, steps+1)
	if err != nil || step == 0 {
		return err
	}
	last, _, err := log.Recorded(recipe.ValidationStage, steps)
	if err != nil {
		return err
	}
	if step == steps {
		j.Say("on validation the last step was best: %s", measuredText(m))
		return nil
	}
	j.Say("on validation step %d was best: %s, the last step's are %s; its adapter is %s", step, measuredText(m), measuredText(last),
		filepath.Join(j.Path, "checkpoints", fmt.Sprintf("%s_step_%d", stage, step), "adapter"))
	return nil
}

// measuredText is what a validation measured, for a person.
func measuredText(m map[string]float64) string {
	return fmt.Sprintf("success %.1f%%, reward %.2f", 100*m["success"], m["reward"])
}

// unlearnt is an error where no group of any step of a stage had two rewards that differ, and neither an earlier success nor a demonstration was learnt
// from.
func (j *Job) unlearnt(stage, final string) error {
	rows, err := j.Dir.Ledger.Metrics(stage)
	if err != nil {
		return err
	}
	for _, r := range rows {
		var m struct {
			Spread   float64 `json:"reward_spread"`
			Imitated float64 `json:"imitation/episodes"`
			Shown    float64 `json:"demonstrations"`
		}
		if err := json.Unmarshal(r.JSON, &m); err != nil {
			return fmt.Errorf("reading the metrics of %s step %d: %w", stage, r.Step, err)
		}
		if m.Spread > 0 || m.Imitated > 0 || m.Shown > 0 {
			return nil
		}
	}
	return &fault.Error{Code: fault.CodeFailures, What: "nothing was learnt: in no step did two episodes of one scenario earn different rewards",
		Where: j.Path, Why: "GRPO learns from such differences alone; the adapter in " + final + " is the one it began with",
		Next: "see the rewards in trajectories.jsonl; where all fail, hone sft first or easier scenarios; where none do, harder ones"}
}
