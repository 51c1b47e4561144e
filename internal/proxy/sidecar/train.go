package sidecar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/episode/environment"
	"hone/internal/episode/reward"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/job/records"
	"hone/internal/learn/batch"
	"hone/internal/mcp/scan"
	"hone/internal/proxy/revise"
	"hone/internal/recipe"
	"hone/internal/run"
	"hone/internal/run/metrics"
	"hone/internal/toolset"
)

// TrainVerb is what begins runs of a sidecar.
const TrainVerb = "sidecar train"

// Methods of training.
const (
	MethodBoth = "both" // SFT, then GRPO
	MethodSFT  = "sft"
	MethodGRPO = "grpo"
)

// TrainOptions are the flags of hone sidecar train.
type TrainOptions struct {
	Data       string              `json:"-"`
	Output     string              `json:"-"`
	Judge      episodes.GivenJudge `json:"-"`
	Base       string              `json:"-"`
	Method     string              `json:"method"`
	Adapter    string              `json:"adapter,omitempty"`
	Sources    []string            `json:"sources,omitempty"` // of the rows that are learnt from; none: all
	Steps      int                 `json:"-"`                 // of each stage; the configuration keeps them
	ProbeEvery int                 `json:"probe_every"`
	Servers    toolset.Source      `json:"-"`
	MCPConfig  string              `json:"mcp_config,omitempty"` // what is executed on; "": nothing is
	Weights    revise.Weights      `json:"weights"`
	LoRA       basemodel.GivenLoRA `json:"-"`

	AllowFindings scan.Allowed `json:"allow_findings,omitempty"`
}

// probeRows are the most rows that a probe looks at.
const probeRows = 96

// Train begins a run.
func Train(ctx context.Context, e job.Env, c config.Config, o TrainOptions) error {
	switch {
	case o.Data == "" || o.Output == "":
		return &fault.Error{Code: fault.CodeUsage, What: "no data, or no output folder",
			Next: "name both with --data and --output-dir; hone sidecar make-data makes the first"}
	case !slices.Contains([]string{MethodBoth, MethodSFT, MethodGRPO}, o.Method):
		return &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("unknown method %q", o.Method), Where: "--method",
			Next: "give both, sft or grpo"}
	}
	err := c.TakeSteps(o.Steps)
	if err == nil {
		err = e.Free(o.Output)
	}
	if err != nil {
		return err
	}
	d, err := readData(o.Data)
	if err == nil {
		err = toolset.RefuseFindings(e.Host, c.MCP, d.catalog.LintTools(), o.AllowFindings)
	}
	if err != nil {
		return err
	}
	if err := o.Judge.Apply(&c); err != nil {
		return err
	}
	if o.Adapter, err = basemodel.AdapterFolder(e.Host, o.Adapter); err != nil {
		return err
	}
	if c.Model.Base, err = basemodel.BaseOf(o.Adapter, o.Base, c); err == nil {
		if c, err = basemodel.SettleLengths(e.Host, c); err == nil {
			c.SFT.Epochs = max(1, c.SFT.Epochs) // copies are looked for, and no loss is held out
			err = o.LoRA.Apply(e.Host, &c, o.Adapter)
		}
	}
	if err != nil {
		return err
	}
	o.MCPConfig = o.Servers.File
	t := &training{Env: e, c: oneTurn(c), whole: c, o: o, d: d}
	if e.DryRun {
		return t.rehearse()
	}
	return t.begin(ctx)
}

// training is one run, in its environment.
type training struct {
	job.Env
	c     config.Config // of the model, which answers once
	whole config.Config // of the servers, which are given room for what they say; it is what the run keeps
	o     TrainOptions
	d     data
	dir   *run.Dir

	gone context.CancelCauseFunc // ends the run where a server that samples answers nothing any more
}

// rehearse says what would be done.
func (t *training) rehearse() error {
	learnt := t.rows(scenario.Train)
	var stages []string
	if t.o.Method != MethodGRPO {
		stages = append(stages, fault.Count(job.SFTOf(t.c).NumSteps(len(learnt)), "step")+" of SFT")
	}
	if t.o.Method != MethodSFT {
		stages = append(stages, fault.Count(t.c.GRPO.Steps, "step")+" of GRPO")
	}
	t.Say("would take %s on %s, %d of them right already, and look for copies among %d, in %s",
		strings.Join(stages, " and "), fault.Count(len(learnt), "row"), numRight(learnt),
		len(t.probeRows()), t.o.Output)
	return nil
}

func numRight(rows []revise.Row) (n int) {
	for _, r := range rows {
		if r.Right {
			n++
		}
	}
	return n
}

func (t *training) begin(ctx context.Context) error {
	ctx, t.gone = context.WithCancelCause(ctx)
	defer t.gone(nil)
	rows, err := os.ReadFile(filepath.Join(t.o.Data, RowsFile))
	if err != nil {
		return err
	}
	catalog, err := job.EncodeCatalog(t.d.catalog)
	if err != nil {
		return err
	}
	flags, err := json.Marshal(t.o)
	if err != nil {
		return err
	}
	l, v, err := t.open(ctx)
	if err != nil {
		return err
	}
	defer t.close(l, v)
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	settled, limits := t.c, t.whole.Rollout
	settled.Rollout.MaxTurns, settled.Rollout.MaxToolCalls, settled.Rollout.MaxResult, settled.Rollout.CompleteTask =
		limits.MaxTurns, limits.MaxToolCalls, limits.MaxResult, limits.CompleteTask
	t.whole = settled
	t.dir, err = t.Create(t.o.Output, t.whole, job.Begun{Build: host.ReadBuild(), Verb: TrainVerb, Folder: folder,
		Flags: job.Kept{Adapter: t.o.Adapter}, Study: flags},
		run.Input{Name: RowsFile, Data: rows}, catalog)
	if err != nil {
		return err
	}
	return t.run(ctx, l, v)
}

// Resume goes on with a stopped run.
func Resume(ctx context.Context, e job.Env, path string, b job.Begun, _ toolset.Source) error {
	t := &training{Env: e}
	ctx, t.gone = context.WithCancelCause(ctx)
	defer t.gone(nil)
	if err := json.Unmarshal(b.Study, &t.o); err != nil {
		return fmt.Errorf("reading how %s was begun: %w", path, err)
	}
	t.o.Output, t.o.Data, t.o.Servers = path, path, toolset.Source{File: t.o.MCPConfig}
	var err error
	if t.dir, err = e.Open(path, &t.whole); err != nil {
		return err
	}
	t.c = oneTurn(t.whole)
	if t.d, err = readData(path); err == nil {
		err = toolset.RefuseFindings(e.Host, t.c.MCP, t.d.catalog.LintTools(),
			append(t.o.AllowFindings, b.Flags.AllowFindings...))
	}
	if err != nil {
		_ = t.dir.Close() // nothing was written
		return err
	}
	l, v, err := t.open(ctx)
	if err != nil {
		return err
	}
	defer t.close(l, v)
	return t.run(ctx, l, v)
}

// rows are those of a split that are learnt from.
func (t *training) rows(split string) []revise.Row {
	return slices.DeleteFunc(revise.OfSplit(t.d.rows, split), func(r revise.Row) bool {
		return len(t.o.Sources) > 0 && !slices.Contains(t.o.Sources, r.Source)
	})
}

// probeRows are validation rows whose draft needs a change, of all sources alike.
func (t *training) probeRows() []revise.Row {
	var needing []revise.Row
	fixers := fixersOf(t.d.catalog)
	for _, r := range t.rows(scenario.Validation) {
		if !r.IsGold(fixers.of(&r.Point).Fix(r.Draft).Message.ToolCalls, fixers.defaults) {
			needing = append(needing, r)
		}
	}
	return spread(needing, probeRows)
}

// spread takes n of a list, evenly.
func spread[T any](list []T, n int) []T {
	if len(list) <= n {
		return list
	}
	out := make([]T, n)
	for i := range out {
		out[i] = list[i*len(list)/n]
	}
	return out
}

// open opens the model, and the servers where there are some.
func (t *training) open(ctx context.Context) (*episodes.Episodes, *revise.Environment, error) {
	used := slices.Concat(t.rows(scenario.Train), t.rows(scenario.Validation))
	v := t.d.environment(used)
	v.Drafts = true
	list, err := v.Scenarios(used)
	if err != nil {
		return nil, nil, err
	}
	if len(t.rows(scenario.Train)) == 0 {
		return nil, nil, &fault.Error{Code: fault.CodeUsage, What: "no row is in the split train", Where: t.o.Data,
			Next: "make data of more scenarios, or name other --sources"}
	}
	l := episodesOf(t.d.catalog, func(id string) []string { return v.Rows[id].Point.Tools })
	if t.o.Servers.File != "" || t.o.Servers.Server != "" {
		servers, err := toolset.LoadServers(t.Host, t.c, t.o.Servers)
		if err != nil {
			return nil, nil, err
		}
		set, err := toolset.Open(ctx, t.Host, t.whole, servers, "")
		if err != nil {
			return nil, nil, err
		}
		v.Servers = onlyOf{set}
	}
	err = l.OpenSampler(ctx, t.Host, t.c, t.o.Output, true, t.gone)
	var p episodes.Plan
	if err == nil {
		p, err = l.Resolve(t.Host, t.c, episodes.Wanted{Adapter: t.o.Adapter, Scenarios: list, Trains: true})
	}
	if err == nil {
		t.c, err = p.Config, l.OpenModel(t.Host, p)
	}
	if err != nil {
		t.close(l, v)
		return nil, nil, err
	}
	return l, v, nil
}

// onlyOf are servers that an environment closes with.
type onlyOf struct{ set *toolset.Set }

// Open implements environment.Tools.
func (o onlyOf) Open(
	ctx context.Context, episode string, templates ...environment.Template,
) (environment.Session, error) {
	return o.set.Tools.Open(ctx, episode, templates...)
}

func (t *training) close(l *episodes.Episodes, v *revise.Environment) {
	l.CloseModel()
	if o, ok := v.Servers.(onlyOf); ok {
		o.set.Close()
	}
	if t.dir != nil {
		_ = t.dir.Close() // the ledger is durable row by row
	}
}

func (t *training) run(ctx context.Context, l *episodes.Episodes, v *revise.Environment) (err error) {
	learnt := t.rows(scenario.Train)
	drafts, err := v.Scenarios(learnt)
	if err != nil {
		return err
	}
	probed, err := v.Scenarios(t.probeRows())
	if err != nil {
		return err
	}
	var pairs []batch.Sequence
	if t.o.Method != MethodGRPO || t.c.GRPO.Demonstrations.Rows > 0 {
		if pairs, err = t.pairs(l, v, learnt); err != nil {
			return err
		}
	}
	scorer := revise.Scorer{Environment: v, Weights: t.o.Weights}
	judging, err := episodes.JudgeOf(t.Host, t.c)
	if err != nil {
		return err
	}
	defer judging.Close()
	if term := judging.Term(t.c); term != nil {
		term.All = true
		scorer.Also = reward.Scorer{Weights: &reward.Weights{}, Judge: term}
	}
	s := t.recipe(l, v, probed, scorer)
	if s.GRPO.Parity, err = l.Parity(t.c, drafts); err != nil {
		return err
	}
	if err := l.Explores(&s.GRPO); err != nil {
		return err
	}
	s.GRPO.Show(pairs)
	if t.o.Method == MethodGRPO {
		pairs = nil
	}
	main := s.GRPO.Stage
	if t.o.Method == MethodSFT {
		main = s.SFT.Stage
	}
	track := records.StartTracking(t.Env, t.c.Metrics, t.dir, records.Tracked{Main: main, Engine: l.Model.Engine})
	defer func() { track.Close(err) }()
	s.Probe.Runner, s.Probe.Scorer = track.Evaluation(s.Probe.Runner), track.Scores(s.Probe.Scorer, metrics.Eval)
	log := records.Journal{Dir: t.dir, Say: t.Say, Episodes: l, Track: track}
	t.Say("rows to learn from: %d, of which %d are right already; %s",
		len(learnt), numRight(learnt), t.looks(len(probed)))
	err = s.Run(ctx, pairs, drafts, track.Rollouts(t.runner(l, v, t.c.Rollout.Temperature)),
		track.Scores(scorer, metrics.Score), track.Trainer(l.Trainer, metrics.Train), track.Publisher(l.Policy), log,
		track.Progress(t.Progress(l.Speaker.NumSlots())))
	if err != nil {
		if gone, ok := errors.AsType[*fault.Error](context.Cause(ctx)); ok && errors.Is(err, context.Canceled) {
			gone.Next += ", then hone runs resume " + run.Name(t.dir.Path)
			return gone
		}
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return &fault.Error{Code: fault.CodeStopped, What: "stopped; nothing finished is lost", Where: t.dir.Path,
				Next: "hone runs resume " + run.Name(t.dir.Path)}
		}
		return err
	}
	if err := track.Tell(t.dir); err != nil {
		return err
	}
	return t.finish(ctx, l, v)
}

// looks says how SFT is looked at for copies, on so many drafts.
func (t *training) looks(drafts int) string {
	switch {
	case t.o.Method == MethodGRPO:
		return "how much of their drafts is copied is measured in each step"
	case t.o.ProbeEvery == 0:
		return "nobody looks for copied drafts (--probe-every 0)"
	case drafts == 0:
		return "nobody looks for copied drafts: in the split validation none needs a change that rules do not make"
	}
	return fmt.Sprintf("every %d steps of SFT and at its end the model revises %s of the split validation, "+
		"to see how many it says again", t.o.ProbeEvery, fault.Count(drafts, "draft"))
}

// runner runs episodes of the rows in which the model speaks.
func (t *training) runner(l *episodes.Episodes, v *revise.Environment, temperature float64) *rollout.Runner {
	return rollout.New(rollout.Options{Environment: v, Policy: l.Speaker, MaxTokens: t.c.Rollout.MaxTokens,
		Temperature: temperature, Seed: t.c.Seed, Retries: 1})
}

func (t *training) recipe(
	l *episodes.Episodes, v *revise.Environment, probed []scenario.Scenario, scorer revise.Scorer,
) recipe.Sidecar {
	s := recipe.Sidecar{SFT: job.SFTOf(t.c), GRPO: t.grpo(l.MaxMismatch(), v), Copying: copyingOf(v)}
	records.TokensIn(t.dir.Path).Take(s.GRPO.Additions)
	t.Opens(s.GRPO)
	switch t.o.Method {
	case MethodSFT:
		s.GRPO.Steps = 0
	case MethodGRPO:
		s.SFT.Epochs, s.SFT.Steps = 0, 0
	}
	blind := *v
	blind.Servers = nil // a probe asks how much is copied, not what a server says to it
	s.Probe = recipe.Probe{Every: t.o.ProbeEvery, Scenarios: probed, Runner: t.runner(l, &blind, 0),
		Scorer: revise.Scorer{Environment: &blind, Weights: scorer.Weights}}
	return s
}

// copyingOf tells how much of a row's draft an episode says again.
func copyingOf(v *revise.Environment) recipe.Copying {
	return func(t *trajectory.Trajectory) (bool, recipe.Copied) {
		row := v.Rows[t.ScenarioID]
		if row == nil {
			return false, recipe.Copied{}
		}
		fixer := revise.NewFixer(t.Tools)
		draft := fixer.Fix(row.Draft).Message
		if row.IsGold(draft.ToolCalls, v.Defaults) {
			return false, recipe.Copied{}
		}
		out := revise.Output(t)
		var c revise.Copies
		c.Add(draft, out, row.IsGold(fixer.Fix(out).Message.ToolCalls, v.Defaults))
		return true, recipe.Copied{Equal: c.Equal > 0, Near: c.Near > 0, Right: c.Fixed > 0}
	}
}

// grpo is the stage of GRPO. Which episodes passed are those that are right behind the fixer: a wrong call may earn
// something too.
func (t *training) grpo(maxMismatch float64, v *revise.Environment) recipe.GRPO {
	g := job.GRPOOf(t.c, maxMismatch)
	g.Passed = func(t *trajectory.Trajectory) (passed, known bool) {
		row := v.Rows[t.ScenarioID]
		if row == nil {
			return false, false
		}
		return row.IsGold(revise.NewFixer(t.Tools).Fix(revise.Output(t)).Message.ToolCalls, v.Defaults), true
	}
	return g
}

// pairs are the rows that SFT learns: the prompt, and the answer alone is trained.
func (t *training) pairs(
	l *episodes.Episodes, v *revise.Environment, rows []revise.Row,
) (pairs []batch.Sequence, err error) {
	long, fixers := 0, fixersOf(t.d.catalog)
	for i := range rows {
		tools, err := v.Tools.Of(rows[i].Point.Tools)
		if err != nil {
			return nil, err
		}
		prompt := revise.Prompt(rows[i].Messages, fixers.of(&rows[i].Point).Fix(rows[i].Draft))
		rendered, err := l.Model.Renderer.Sequences(append(prompt, rows[i].Answer()), len(prompt), tools)
		if err != nil {
			return nil, fmt.Errorf("rendering row %s: %w", rows[i].ID, err)
		}
		for _, s := range rendered {
			if len(s.IDs) > l.Room {
				long++
				continue
			}
			pairs = append(pairs, batch.Sequence{IDs: s.IDs, Trained: s.Trained})
		}
	}
	if long > 0 {
		t.Say("left out %s of more than %d tokens: raise model.context to learn from them",
			fault.Count(long, "row"), l.Room)
	}
	return pairs, nil
}

// finish writes the adapter, with the rule under which its word is to count.
func (t *training) finish(ctx context.Context, l *episodes.Episodes, v *revise.Environment) error {
	final := filepath.Join(t.dir.Path, "final")
	t.Say("all steps are taken; now the model revises %s of validation once, to choose from which probability on its "+
		"word counts", fault.Count(len(t.calibrationRows()), "draft"))
	if err := l.SaveFinal(ctx, t.Host, final); err != nil {
		return err
	}
	rule, err := t.calibrate(ctx, l, v)
	if err != nil {
		return err
	}
	if err := writeRule(final, rule); err != nil {
		return err
	}
	t.Say("on validation: %s", rule.words())
	t.Say("adapter: %s", final)
	t.Say("next: hone sidecar eval --data %s --model %s", t.o.Data, final)
	return nil
}
