package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"hone/internal/data/overlap"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/job/records"
	"hone/internal/recipe"
	"hone/internal/run"
	"hone/internal/run/report"
)

// measuring is a system that is measured, and what came of it so far.
type measuring struct {
	job.System
	criteria stats.Criteria
	found    stats.System // of the episodes so far
	log      remembered
	lost     int
	gaveUp   bool
	report   recipe.Progress
}

func (b *bench) repeats() int { return max(1, b.Config.Eval.Repeats) }

// numEpisodes is how many episodes a system has.
func (b *bench) numEpisodes() int { return len(b.tasks) * b.repeats() }

// measure runs each system's episodes, on the same scenarios and from the same random streams.
func (b *bench) measure(ctx context.Context) (*Evaluated, error) {
	b.clock.run()
	defer b.clock.pause()
	if err := b.begin(); err != nil {
		return nil, err
	}
	out := &Evaluated{Comparison: stats.Comparison{Bootstrap: job.IntervalsOf(b.Config)}, Reused: map[string]int{},
		SharedFirst: sharedFirst(b.tasks), mayStop: b.Config.Eval.StopEarly > 0}
	b.Opens(out.Bootstrap)
	out.Drawn, out.DrawnFrom = b.Kept.Evaluation.SampleText(len(b.tasks), b.Config.Seed), b.Kept.Evaluation.DrawnFrom
	var systems []*measuring
	learnt := records.ProvenanceOf(b.Kept.Evaluation.Systems, "", b.local.Catalog)
	for _, s := range b.Kept.Evaluation.Systems {
		systems = append(systems, &measuring{
			System:   s,
			criteria: b.local.Criteria(scenario.ByID(b.tasks), learnt[s.Name]),
			found: stats.System{Name: s.Name, Model: s.Model(b.Config.Model.Base),
				Excluded: map[trajectory.Outcome]int{}},
		})
	}
	b.sayTemperature()
	blocks := b.blocks()
	for i, tasks := range blocks {
		for left := slices.Clone(systems); len(left) > 0; {
			k := 0 // the first part has the order in which they are named
			if i > 0 {
				var err error
				if k, err = b.next(left); err != nil {
					return nil, err
				}
			}
			if err := b.part(ctx, left[k], tasks); err != nil {
				return nil, err
			}
			left = slices.Delete(left, k, k+1)
		}
		var enough bool
		if out.Known, enough = b.differences(systems); enough && i+1 < len(blocks) {
			out.NotRun = len(slices.Concat(blocks[i+1:]...))
			break
		}
	}
	for _, m := range systems {
		if m.gaveUp = m.gaveUp || !slices.ContainsFunc(m.found.Episodes,
			func(e stats.Example) bool { return e.Trajectory.Outcome.Trainable() }); m.gaveUp {
			continue // it is not measured: a resumed run goes on with it
		}
		if err := m.log.Finish(report.EvalStage + m.Name); err != nil {
			return nil, err
		}
	}
	b.conclude(out, systems)
	return out, nil
}

// next is the first of the systems for which the model that is open need not be opened anew, 0 where there is none.
func (b *bench) next(systems []*measuring) (int, error) {
	for k, m := range systems {
		if !m.IsLocal() || m.gaveUp {
			return k, nil
		}
		if same, err := b.alike(b.promptFolder(m.System), b.under); err != nil || same {
			return k, err
		}
	}
	return 0, nil
}

// begin makes the run directory, where there is to be one.
func (b *bench) begin() error {
	if b.Path == "" {
		return nil
	}
	kept, err := job.InputsOf(b.local.Set)
	if err != nil {
		return err
	}
	text, err := scenario.Encode(b.tasks, false)
	if err != nil {
		return err
	}
	return b.Begin(append(kept, run.Input{Name: job.ScenariosFile, Data: text})...)
}

// part runs the episodes of a system on some scenarios. That too many say nothing about the policy is no error here: it
// is one of the system, which is given up.
func (b *bench) part(ctx context.Context, m *measuring, tasks []scenario.Scenario) error {
	if m.gaveUp {
		return nil
	}
	s, err := b.turnTo(m.System)
	if err != nil {
		return err
	}
	if s.Episodes.KeyOf, err = b.keys(s, tasks); err != nil {
		return err
	}
	stage := report.EvalStage + m.Name
	m.log.EvaluationLog = b.log(s.Episodes)
	reused, err := b.reuse(s, stage, tasks, &m.log)
	if err != nil {
		return err
	}
	if m.report == nil {
		b.sayReuse(m, s, reused, len(tasks)*b.repeats())
		m.report = b.Progress(s.NumSlots())
	}
	defer b.Working("evaluating " + m.Name)()
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	b.fatal = stop
	before := len(m.found.Episodes)
	e := recipe.Evaluation{
		Stage:   stage,
		Repeats: b.repeats(),
		Runner:  s.Runner(s.Policy, b.Config.Eval.Temperature),
		Scorer:  s.Scorer,
		Log:     &m.log,
		Progress: func(_ string, done, _ int, note string) {
			m.report("eval "+m.Name, before+done, b.numEpisodes(), note)
		},
		Lost: func(*trajectory.Trajectory) error {
			if m.lost++; b.Config.Eval.FailOnError.Exceeds(m.lost, b.numEpisodes()) {
				return recipe.ErrGivenUp
			}
			return nil
		},
	}
	b.Opens(e)
	ts, err := e.Part(running, tasks)
	m.add(ts, tasks)
	switch cause := context.Cause(running); {
	case err != nil && ctx.Err() == nil && cause != nil: // an endpoint refuses all that it is asked
		return cause
	case errors.Is(err, recipe.ErrGivenUp):
		m.gaveUp = true
		return nil
	}
	return err
}

// add rates episodes that are new.
func (m *measuring) add(ts []*trajectory.Trajectory, tasks []scenario.Scenario) {
	known, x := scenario.ByID(tasks), stats.NewSystem(m.Name, ts, m.criteria)
	m.found.Rows, m.found.Lost = append(m.found.Rows, x.Rows...), append(m.found.Lost, x.Lost...)
	for outcome, n := range x.Excluded {
		m.found.Excluded[outcome] += n
	}
	for _, t := range ts {
		m.found.Episodes = append(m.found.Episodes, stats.Example{Trajectory: t, Scenario: known[t.ScenarioID]})
	}
}

// keys are the content keys of episodes on tasks of a stand.
func (b *bench) keys(s stand, tasks []scenario.Scenario) (func(*trajectory.Trajectory) string, error) {
	key, err := b.circumstancesOf(s.who, s.settings).contentKeys(tasks)
	return func(t *trajectory.Trajectory) string { return key(t.ScenarioID, t.Rollout) }, err
}

// sayTemperature says what repeats measure where nothing is drawn.
func (b *bench) sayTemperature() {
	if b.repeats() > 1 && b.Config.Eval.Temperature == 0 {
		b.Say("note: eval.temperature is 0, so the %d repeats of a scenario differ only by what the servers, "+
			"and endpoints, answer; set it above 0 to measure the model's own spread",
			b.repeats())
	}
}

// conclude makes the systems' rows. One of which no episode says anything is in no table: it is among those that
// failed.
func (b *bench) conclude(out *Evaluated, systems []*measuring) {
	for _, m := range systems {
		for _, e := range m.found.Episodes {
			if e.Trajectory.Reused != "" {
				out.Reused[m.Name]++
			}
		}
		if err := b.tooFewError(m, m.found); err != nil {
			out.Failed = append(out.Failed, err)
		}
		out.Systems = append(out.Systems, m.found)
	}
	out.Parts = b.clock.parts()
	if b.Dir != nil {
		b.Say("trajectories: %s", b.Trajectories())
	}
}

// tooFewError is an error where too few episodes say anything about the policy.
func (b *bench) tooFewError(m *measuring, s stats.System) error {
	lost := s.NumExcluded()
	if lost == 0 || !m.gaveUp && len(s.Rows) > 0 {
		return nil
	}
	why := fmt.Sprint(s.Excluded)
	if first := s.FirstLoss(); first != "" {
		why += "; the first: " + first
	}
	e := &fault.Error{
		Code:  fault.CodeFailures,
		What:  fmt.Sprintf("%d of %d episodes failed for reasons that are not the policy's", lost, lost+len(s.Rows)),
		Where: "eval " + s.Name,
		Why:   why,
		Next:  trajectory.Mending(why, "hone doctor looks at servers and machine"),
	}
	if left := b.numEpisodes() - lost - len(s.Rows); left > 0 {
		e.What += fmt.Sprintf("; %d were not run (eval.fail_on_error: %s)", left, b.Config.Eval.FailOnError)
		if b.Dir != nil {
			e.Next += "; " + b.Onward() + " runs what is left"
		}
	}
	if len(s.Rows) == 0 && m.IsLocal() && b.local.NumLost() > 0 {
		e.Code, e.What = fault.CodeUnavailable, "no episode was answered by its MCP server"
	}
	return e
}

// log is what the episodes of a stand are kept in.
func (b *bench) log(l *episodes.Episodes) recipe.EvaluationLog {
	if b.Dir != nil {
		return records.Journal{Dir: b.Dir, Say: b.Say, Episodes: l}
	}
	return &unkept{episodes: l, reused: map[string][]recipe.Kept{}}
}

// remembered reads the episodes that an earlier attempt kept of a system once, and not for each part.
type remembered struct {
	recipe.EvaluationLog
	read bool
	kept []recipe.Kept
}

// Trajectories implements recipe.Episodes.
func (r *remembered) Trajectories(stage string, step int) ([]recipe.Kept, error) {
	if r.read {
		return r.kept, nil
	}
	var err error
	r.kept, err = r.EvaluationLog.Trajectories(stage, step)
	r.read = err == nil
	return r.kept, err
}

// Trajectory implements recipe.Episodes.
func (r *remembered) Trajectory(stage string, step int, t *trajectory.Trajectory) error {
	err := r.EvaluationLog.Trajectory(stage, step, t)
	if err == nil && r.read && t.Reused != "" {
		r.kept = append(r.kept, recipe.Kept{Trajectory: t})
	}
	return err
}

// unkept keeps no episodes but those that are reused, in memory; all are stamped as those that are kept.
type unkept struct {
	episodes *episodes.Episodes
	reused   map[string][]recipe.Kept
}

// Trajectory implements recipe.Episodes.
func (u *unkept) Trajectory(stage string, _ int, t *trajectory.Trajectory) error {
	u.episodes.Stamp(t)
	if t.Reused != "" {
		u.reused[stage] = append(u.reused[stage], recipe.Kept{Trajectory: t})
	}
	return nil
}

// Scores implements recipe.Episodes.
func (*unkept) Scores(string, trajectory.Group, []trajectory.Score) error { return nil }

// Trajectories implements recipe.Episodes.
func (u *unkept) Trajectories(stage string, _ int) ([]recipe.Kept, error) {
	return u.reused[stage], nil
}

// Finish implements recipe.EvaluationLog.
func (*unkept) Finish(string) error { return nil }

// warnTrainOverlap tells which scenarios the adapters were trained on, and on which others that are nearly the same.
func (b *bench) warnTrainOverlap() (ids []string, near []overlap.Near) {
	for _, s := range b.Kept.Evaluation.Systems {
		l := records.ReadProvenance(cmp.Or(s.Adapter, s.InitialCall))
		ids = append(ids, l.WarnSame(b.Host, b.tasks)...)
		near = append(near, l.WarnNear(b.Host, b.tasks)...)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nearest(near)
}

// nearest keeps of each scenario the copy that is nearest.
func nearest(all []overlap.Near) (out []overlap.Near) {
	for _, n := range all {
		i := slices.IndexFunc(out, func(o overlap.Near) bool { return o.ScenarioID == n.ScenarioID })
		switch {
		case i < 0:
			out = append(out, n)
		case n.SameValues && !out[i].SameValues, n.SameValues == out[i].SameValues && n.Similarity > out[i].Similarity:
			out[i] = n
		}
	}
	return out
}

// rehearse looks whether what is on this machine could be opened.
func (b *bench) rehearse() error {
	for _, s := range b.Kept.Evaluation.Systems {
		if !s.IsLocal() {
			b.Say("would ask %s at %s", s.Endpoint.Model, s.Endpoint.URL)
			continue
		}
		p, err := b.local.Resolve(b.Host, b.Config, episodes.Wanted{Adapter: b.promptFolder(s), Scenarios: b.tasks})
		if err == nil {
			err = p.Rehearse()
			p.Model.Close()
		}
		if err != nil {
			return err
		}
	}
	each := ""
	if n := b.repeats(); n > 1 {
		each = fmt.Sprintf(", %d times each", n)
	}
	b.Say("would run %s of the split %s%s", fault.Count(len(b.tasks), "scenario"), b.Kept.Evaluation.Split, each)
	if drawn := b.Kept.Evaluation.SampleText(len(b.tasks), b.Config.Seed); drawn != "" {
		b.Say("%s", drawn)
	}
	return nil
}
