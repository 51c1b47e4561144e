// Package grpo does what hone train does.
package grpo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/data/dataset"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/job/inputs"
	"hone/internal/job/journal"
	"hone/internal/job/records"
	"hone/internal/job/scoring"
	"hone/internal/job/settings"
	"hone/internal/learn/batch"
	"hone/internal/mcp/scan"
	"hone/internal/recipe"
	"hone/internal/report"
	"hone/internal/run"
	"hone/internal/run/metrics"
	"hone/internal/toolset"
)

// sendable are the scenarios of a list but for those whose calls no session on the servers makes (vet.Sessions), which nobody passes: they are an error,
// or left out where bad ones are.
func sendable(l *episodes.Episodes, j *job.Job, list []scenario.Scenario) (good []scenario.Scenario, err error) {
	if j.Dir != nil { // they were looked at when the run began
		return list, nil
	}
	var bad []string
	sessions := l.Sendable(j.Config)
	for i := range list {
		if list[i].Split != scenario.Train && (list[i].Split != scenario.Validation || j.Config.Eval.Every == 0) {
			good = append(good, list[i]) // it is not run
			continue
		}
		if found := sessions.Unsendable(&list[i]); len(found) > 0 {
			bad = append(bad, list[i].ID+": "+strings.Join(found, "; "))
			continue
		}
		good = append(good, list[i])
	}
	if len(bad) == 0 {
		return list, nil
	}
	if len(scenario.OfSplit(good, scenario.Train)) == 0 || !j.SkipBad {
		f := &fault.Error{Code: fault.CodeUsage, What: fault.Count(len(bad), "scenario") + " cannot be done on these servers", Where: j.Config.Scenarios.File,
			Why: strings.Join(append(bad[:min(inputs.MostNamed, len(bad)):len(bad)], inputs.More(len(bad)-inputs.MostNamed)...), "\n    "), Next: "hone discover lists the tools, hone scenarios validate names all such rows; mend them"}
		if !j.SkipBad && len(good) > 0 {
			f.Next += inputs.SkipBad
		}
		return nil, f
	}
	for _, why := range bad {
		j.Say("left out: %s: %s", j.Config.Scenarios.File, why)
	}
	return good, nil
}

// reportTrain writes the report of a training run.
func reportTrain(j *job.Job, l *episodes.Episodes) error {
	_, _, err := records.WritePage(j.Host, j.Path, func(p *report.Page) {
		p.Say("device", l.Model.Engine.Description())
	})
	return err
}

// Asked is what the user asks of hone train. What is empty or 0 is the configuration's.
type Asked struct {
	LoRA          basemodel.GivenLoRA
	Base, Adapter string // base model; adapter to start from, "" for a fresh one
	Dataset       string
	Judge         scoring.GivenJudge
	Output        string // run directory
	NumGPUs       int
	SkipBad       bool // rows that cannot be read, and scenarios whose checks tell nothing, are left out
	AllowFindings scan.Allowed
}

// Run is what hone train does.
func Run(ctx context.Context, e job.Env, c config.Config, a Asked, from toolset.Source) error {
	var err error
	if a.Adapter, err = basemodel.AdapterFolder(e.Host, a.Adapter); err != nil {
		return err
	}
	if c.Scenarios.File, err = inputs.Dataset(a.Dataset, c); err != nil {
		return err
	}
	if err := basemodel.OnGPUs(&c, a.NumGPUs); err != nil {
		return err
	}
	if c.Rollout.Temperature == 0 {
		return &fault.Error{Code: fault.CodeUsage, What: "cannot train on greedy rollouts", Where: "rollout.temperature",
			Why:  "at 0 all episodes of a group are the same, so there is nothing to compare",
			Next: "set rollout.temperature above 0, such as 1; eval.temperature is that of evaluations"}
	}
	if err := e.Free(a.Output); err != nil {
		return err
	}
	if err := a.Judge.Apply(&c); err != nil {
		return err
	}
	list, err := inputs.Vetted(e.Host, c.Scenarios.File, a.SkipBad, inputs.OtherwiseScored(c))
	if err == nil {
		err = inputs.Scored(list, c.Scenarios.File, c.Judge.Model, len(c.Rewards.Program.Command) > 0)
	}
	if err != nil {
		return err
	}
	if _, err := inputs.OfSplit(list, scenario.Train, c.Scenarios.File); err != nil {
		return err
	}
	if c, err = basemodel.StartFrom(e.Host, c, a.LoRA, a.Adapter, a.Base); err != nil {
		return err
	}
	origin, err := job.OriginOf(a.Adapter)
	if err != nil {
		return err
	}
	j := &job.Job{Env: e, Verb: "train", Path: a.Output, Config: c, Kept: job.Kept{Adapter: a.Adapter, Origin: origin, AllowFindings: a.AllowFindings}, SkipBad: a.SkipBad}
	j.Kept.Keep(e.Host, c, from)
	if e.DryRun {
		return rehearse(ctx, j, list, from)
	}
	defer j.Close()
	return learn(ctx, j, list, from)
}

// Resume goes on with a stopped run of hone train.
func Resume(ctx context.Context, e job.Env, path string, b job.Begun, from toolset.Source) error {
	j := &job.Job{Env: e, Verb: "train", Path: path, Kept: b.Flags}
	defer j.Close()
	if over, err := j.Over(b, settings.GRPOStage, report.HTMLFile, func(final string) error { return sayTrained(j, final) }); over || err != nil {
		return err
	}
	from, err := b.Flags.Again(e.Host, from, path)
	if err != nil {
		return err
	}
	if err := b.Flags.BeganWith(path); err != nil {
		return err
	}
	if err := j.GoOn(); err != nil {
		return err
	}
	list, err := scenario.LoadKept(filepath.Join(path, job.ScenariosFile))
	if err != nil {
		return err
	}
	return learn(ctx, j, list, from)
}

// rehearse looks whether all is there that train needs, memory included. It lists the servers' tools and reads the model's
// files; it makes no call, opens no device, and leaves no run directory.
func rehearse(ctx context.Context, j *job.Job, list []scenario.Scenario, from toolset.Source) error {
	l, list, err := openServers(ctx, j, list, from)
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
	if _, _, err = demonstrations(j, l, list); err != nil {
		return err
	}
	g := j.Config.GRPO
	j.Say("would take %s of %d x %d rollouts on %s in %s", fault.Count(g.Steps, "step"), g.ScenariosPerStep, g.GroupSize,
		fault.Count(len(scenario.OfSplit(list, scenario.Train)), "scenario"), j.Path)
	return nil
}

// given are the demonstrations that GRPO learns from, and what the run keeps of all that it was given.
func given(j *job.Job, l *episodes.Episodes, list []scenario.Scenario) (shown []batch.Sequence, kept []run.Input, err error) {
	kept, err = job.InputsOf(l.Set)
	if err != nil {
		return nil, nil, err
	}
	text, err := scenario.Encode(list, false)
	if err != nil {
		return nil, nil, err
	}
	shown, conversations, err := demonstrations(j, l, list)
	return shown, append(append(kept, run.Input{Name: job.ScenariosFile, Data: text}), conversations...), err
}

// demonstrations are the rows that GRPO learns from beside its episodes, and what the run keeps of them; none where the configuration has none. A run
// that goes on has those that it kept. all are the run's scenarios, of every split.
func demonstrations(j *job.Job, l *episodes.Episodes, all []scenario.Scenario) (rows []batch.Sequence, kept []run.Input, err error) {
	c := j.Config.GRPO.Demonstrations
	if c.Rows == 0 {
		return nil, nil, nil
	}
	path := c.File
	if j.Dir != nil {
		path = filepath.Join(j.Path, job.ConversationsFile)
	}
	if path == "" {
		return nil, nil, &fault.Error{Code: fault.CodeUsage, What: "there are no demonstrations to learn from", Where: "grpo.demonstrations.file",
			Next: "name the conversations that hone sft had, such as shown/trajectories.jsonl, or set grpo.demonstrations.rows to 0"}
	}
	d, err := inputs.ReadConversations(path, "")
	if d.Catalog == nil {
		d.Catalog = l.Catalog
	}
	if err == nil {
		err = inputs.Unread(j.Host, &d.Report, false)
	}
	if err != nil {
		return nil, nil, err
	}
	if j.Dir == nil {
		d.HoldOut(j.Host, all)
	}
	list, err := d.Demonstrations(j.Host, j.Config)
	if err == nil {
		err = toolset.RefuseFindings(j.Host, j.Config.MCP, d.LintTools(list), j.Kept.AllowFindings)
	}
	if err == nil {
		rows, err = inputs.SequencesOf(j.Host, l.Model, path, dataset.Unroll(j.Config.SFT.Unroll, list), j.Config.Model.Context, false)
	}
	if err != nil {
		return nil, nil, err
	}
	d.Rows = list // with their tools
	text, err := d.Lines()
	return rows, []run.Input{{Name: job.ConversationsFile, Data: text}}, err
}

// openServers opens the servers of GRPO on the training split of list, and refuses tools and scenarios that cannot be
// trained on. What is left of list is without those that SkipBad leaves out.
func openServers(ctx context.Context, j *job.Job, list []scenario.Scenario, from toolset.Source) (*episodes.Episodes, []scenario.Scenario, error) {
	servers, err := toolset.LoadServers(j.Host, j.Config, from)
	if err != nil {
		return nil, nil, err
	}
	if err := basemodel.CheckDevices(j.Host, j.Config.Engine); err != nil {
		return nil, nil, err
	}
	l, err := episodes.Open(ctx, j.Host, j.Config, servers, j.Path)
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
		list, err = sendable(l, j, list)
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

// learn runs what is left of GRPO on the training split of list.
func learn(ctx context.Context, j *job.Job, list []scenario.Scenario, from toolset.Source) (err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	l, list, err := openServers(ctx, j, list, from)
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
	shown, kept, err := given(j, l, list)
	if err != nil {
		return err
	}
	if err := j.Begin(kept...); err != nil {
		return err
	}
	c := j.Config
	tasks := scenario.OfSplit(list, scenario.Train)
	grpo := settings.GRPOOf(c, l.MaxMismatch())
	if grpo.Parity, err = l.Parity(c, tasks); err != nil {
		return err
	}
	if err := l.Stage(&grpo, tasks); err != nil {
		return err
	}
	grpo.Show(shown)
	j.Opens(grpo)
	grpo.Validation = l.Validation(c, scenario.OfSplit(list, scenario.Validation))
	track := journal.StartTracking(j.Env, c.Metrics, j.Dir, journal.Tracked{Main: grpo.Stage, Engine: l.Model.Engine, Measures: grpo.Validation != nil})
	defer func() { track.Close(err) }()
	log := journal.Journal{Dir: j.Dir, Say: j.Say, Episodes: l, Track: track}
	if grpo.Validation != nil {
		j.Opens(*grpo.Validation)
	} else if c.Eval.Every > 0 {
		j.Say("no scenario is in the split validation, so nothing says which checkpoint is best")
	}
	scorer := scoring.ByTurn(c, l.Scorer)
	j.Opens(scorer)
	grpo.Validation = track.Validation(grpo.Validation)
	err = grpo.Run(ctx, tasks, track.Rollouts(l.Rollouts(c.Rollout.Temperature)), track.Scores(scorer, metrics.Score),
		track.Trainer(l.Trainer, metrics.Train), track.Publisher(l.Policy), log, track.Progress(j.Progress(l.Speaker.NumSlots())))
	if gone, ok := errors.AsType[*fault.Error](context.Cause(ctx)); ok && errors.Is(err, context.Canceled) { // the sampler
		err = gone
	}
	l.SayUsers(j.Host)
	l.SayJudge(j.Host)
	if err := l.Unreachable(journal.Ended(ctx, j, grpo.Stage, err)); err != nil {
		return err
	}
	final := j.Final()
	if err := l.SaveFinal(ctx, j.Host, final); err != nil {
		return err
	}
	if err := sayBest(j, log, grpo.Stage, grpo.Steps); err != nil {
		return err
	}
	if err := reportTrain(j, l); err != nil {
		return err
	}
	if err := track.Tell(j.Dir); err != nil {
		return err
	}
	return sayTrained(j, final)
}

// sayTrained tells where the adapter is and what can be done with it. It is an error where nothing was learnt.
func sayTrained(j *job.Job, final string) error {
	if err := unlearnt(j, settings.GRPOStage, final); err != nil {
		return err
	}
	j.Say("adapter: %s", final)
	j.Say("next: hone eval --model %s --dataset %s%s", final, measuredOn(j), heldOutSplit(j))
	return nil
}

// heldOutSplit is the flag of a split that can be measured: the first of validation and test that has scenarios, or what was trained on.
func heldOutSplit(j *job.Job) string {
	list, err := scenario.LoadKept(filepath.Join(j.Path, job.ScenariosFile))
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
func measuredOn(j *job.Job) string {
	own := filepath.Join(j.Path, job.ScenariosFile)
	if _, err := scenario.Load(own); err != nil {
		if _, err := scenario.Load(j.Config.Scenarios.File); err != nil {
			return j.Config.Scenarios.File + " --skip-bad"
		}
		return j.Config.Scenarios.File
	}
	return own
}

// sayBest says which step was best on validation, and where its adapter is; the final adapter is the last step's in any case.
func sayBest(j *job.Job, log journal.Journal, stage string, steps int) error {
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
func unlearnt(j *job.Job, stage, final string) error {
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
