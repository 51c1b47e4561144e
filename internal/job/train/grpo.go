package train

import (
	"context"
	"errors"
	"path/filepath"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/job/records"
	"hone/internal/mcp/scan"
	"hone/internal/run/metrics"
	"hone/internal/run/report"
	"hone/internal/toolset"
)

// Asked is what the user asks of hone train. What is empty or 0 is the configuration's.
type Asked struct {
	LoRA          basemodel.GivenLoRA
	Base, Adapter string // base model; adapter to start from, "" for a fresh one
	Dataset       string
	Judge         episodes.GivenJudge
	Output        string // run directory
	NumGPUs       int
	SkipBad       bool // rows that cannot be read, and scenarios whose checks tell nothing, are left out
	AllowFindings scan.Allowed
}

// RunGRPO is what hone train does.
func RunGRPO(ctx context.Context, e job.Env, c config.Config, a Asked, from toolset.Source) error {
	var err error
	if a.Adapter, err = basemodel.AdapterFolder(e.Host, a.Adapter); err != nil {
		return err
	}
	if c.Scenarios.File, err = job.Dataset(a.Dataset, c); err != nil {
		return err
	}
	if err := basemodel.OnGPUs(&c, a.NumGPUs); err != nil {
		return err
	}
	if c.Rollout.Temperature == 0 {
		return &fault.Error{
			Code:  fault.CodeUsage,
			What:  "cannot train on greedy rollouts",
			Where: "rollout.temperature",
			Why:   "at 0 all episodes of a group are the same, so there is nothing to compare",
			Next:  "set rollout.temperature above 0, such as 1; eval.temperature is that of evaluations",
		}
	}
	if err := basemodel.CheckAway(c, job.GRPOStage, a.Adapter, a.NumGPUs); err != nil {
		return err
	}
	if err := e.Free(a.Output); err != nil {
		return err
	}
	if err := a.Judge.Apply(&c); err != nil {
		return err
	}
	list, err := job.LoadForTraining(e.Host, c.Scenarios.File, a.SkipBad, job.HasOtherScores(c))
	if err == nil {
		err = job.CheckScorable(list, c.Scenarios.File, c.Judge.Model, len(c.Rewards.Program.Command) > 0)
	}
	if err != nil {
		return err
	}
	if _, err := job.OfSplit(list, scenario.Train, c.Scenarios.File); err != nil {
		return err
	}
	given := c
	if c, err = basemodel.StartFrom(e.Host, c, a.LoRA, a.Adapter, a.Base); err != nil {
		return err
	}
	origin, err := job.OriginOf(a.Adapter)
	if err != nil {
		return err
	}
	c.SettleDemonstrations(shownIn(origin))
	for _, choice := range c.Choices(given) {
		e.Say("%s", choice)
	}
	j := &job.Job{Env: e, Verb: "train", Path: a.Output, Config: c,
		Kept: job.Kept{Adapter: a.Adapter, Origin: origin, AllowFindings: a.AllowFindings}, SkipBad: a.SkipBad}
	j.Kept.Keep(e.Host, c, from)
	if list, err = leaveOutShown(j, list, shownIn(origin)); err != nil {
		return err
	}
	if e.DryRun {
		return rehearseGRPO(ctx, j, list, from)
	}
	defer j.Close()
	return learnGRPO(ctx, j, list, from)
}

// ResumeGRPO goes on with a stopped run of hone train.
func ResumeGRPO(ctx context.Context, e job.Env, path string, b job.Begun, from toolset.Source) error {
	j := &job.Job{Env: e, Verb: "train", Path: path, Kept: b.Flags}
	defer j.Close()
	if over, err := j.Over(b, job.GRPOStage, report.ResultsFile,
		func(final string) error { return sayNextGRPO(j, final) }); over || err != nil {
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
	list, err := scenario.LoadCopy(filepath.Join(path, job.ScenariosFile))
	if err != nil {
		return err
	}
	return learnGRPO(ctx, j, list, from)
}

// rehearseGRPO looks whether all is there that train needs, memory included. It lists the servers' tools and reads the
// model's files; it makes no call, opens no device, and leaves no run directory.
func rehearseGRPO(ctx context.Context, j *job.Job, list []scenario.Scenario, from toolset.Source) error {
	l, p, err := resolveGRPO(ctx, j, list, from, nil)
	if err != nil {
		return err
	}
	defer l.Close()
	defer p.Model.Close()
	if err := p.Rehearse(); err != nil {
		return err
	}
	if _, _, err = demonstrations(j, p.Model, l.Catalog, p.Scenarios); err != nil {
		return err
	}
	g := j.Config.GRPO
	j.Say("would take %s of %d x %d rollouts on %s in %s", fault.Count(g.Steps, "step"), g.ScenariosPerStep,
		g.GroupSize, fault.Count(len(scenario.OfSplit(p.Scenarios, scenario.Train)), "scenario"), j.Path)
	return nil
}

// learnGRPO runs what is left of GRPO on the training split of list.
func learnGRPO(ctx context.Context, j *job.Job, list []scenario.Scenario, from toolset.Source) (err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	l, p, err := resolveGRPO(ctx, j, list, from, stop)
	if err != nil {
		return err
	}
	defer l.Close()
	j.Config, list = p.Config, p.Scenarios
	if err := l.OpenModel(j.Host, p); err != nil {
		return err
	}
	shown, kept, err := trainingInputs(j, l, list)
	if err != nil {
		return err
	}
	if err := j.Begin(kept...); err != nil {
		return err
	}
	c := j.Config
	tasks := scenario.OfSplit(list, scenario.Train)
	grpo := job.GRPOOf(c, l.MaxMismatch())
	records.TokensIn(j.Path).Take(grpo.Additions)
	if grpo.Parity, err = l.Parity(c, tasks); err != nil {
		return err
	}
	if err := l.Stage(&grpo, tasks); err != nil {
		return err
	}
	grpo.Show(shown)
	j.Opens(grpo)
	grpo.Validation = l.Validation(c, scenario.OfSplit(list, scenario.Validation))
	track := records.StartTracking(j.Env, c.Metrics, j.Dir,
		records.Tracked{Main: grpo.Stage, Engine: l.Model.Engine, Measures: grpo.Validation != nil})
	defer func() { track.Close(err) }()
	log := records.Journal{Dir: j.Dir, Say: j.Say, Episodes: l, Track: track}
	if grpo.Validation != nil {
		j.Opens(*grpo.Validation)
	} else if c.Eval.Every > 0 {
		j.Say("no scenario is in the split validation, so nothing says which checkpoint is best")
	}
	scorer := episodes.ByTurn(c, l.Scorer)
	j.Opens(scorer)
	grpo.Validation = track.Validation(grpo.Validation)
	err = grpo.Run(ctx, tasks, track.Rollouts(l.Rollouts(c.Rollout.Temperature)), track.Scores(scorer, metrics.Score),
		track.Trainer(l.Trainer, metrics.Train), track.Publisher(l.Policy), log,
		track.Progress(j.Progress(l.Speaker.NumSlots())))
	// the sampler
	if gone, ok := errors.AsType[*fault.Error](context.Cause(ctx)); ok && errors.Is(err, context.Canceled) {
		err = gone
	}
	l.SayUsers(j.Host)
	l.SayJudge(j.Host)
	if err := l.Unreachable(records.Conclude(ctx, j, grpo.Stage, err)); err != nil {
		return err
	}
	if err := log.TakeBest(grpo.Stage, l.Trainer, l.Policy); err != nil {
		return err
	}
	final := j.Final()
	if err := l.SaveFinal(ctx, j.Host, final); err != nil {
		return err
	}
	if err := reportOf(j, l); err != nil {
		return err
	}
	if err := track.Tell(j.Dir); err != nil {
		return err
	}
	return sayNextGRPO(j, final)
}
