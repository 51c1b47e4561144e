// Package eval is hone eval: systems run the same scenarios on live servers, from the same random streams, and what
// came of it is rated. asked.go says what is wanted, systems.go who speaks, measure.go runs the episodes, told.go says
// what came of them; power.go is the verb below it, which runs nothing.
package eval

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"hone/internal/basemodel"
	"hone/internal/episode/scenario"
	"hone/internal/eval/stats"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/llm"
	"hone/internal/run"
	"hone/internal/toolset"
)

// Evaluated is what was measured.
type Evaluated struct {
	stats.Comparison
	Failed      []error        // of the systems whose numbers say little, why
	Reused      map[string]int // episodes of each system that earlier evaluations had run
	Drawn       string         // of how many scenarios of a split this is, where it is not of all
	SharedFirst string         // that many scenarios have one first gold call, where they do
	NotRun      int            // scenarios that were left out, since the differences were known before
	Known       []Known        // these, where the evaluation may stop early

	DrawnFrom int // scenarios of the split, where not all are run; 0: all are

	initial bool           // the last system is the one before it, behind an initial-call agent
	mayStop bool           // early, so that it is to be told whether it did
	results *stats.Results // those of the report, where one was written
}

// Results are the numbers: those of the report, where one was written, for they take seconds of many systems.
func (m *Evaluated) Results() stats.Results {
	if m.results == nil {
		computed := m.Comparison.Results()
		m.results = &computed
	}
	return *m.results
}

// Run runs what is left of an evaluation on tasks, and keeps the episodes where j has a folder. A host that only
// rehearses is told what would be done, and gets nil.
func Run(ctx context.Context, j *job.Job, tasks []scenario.Scenario, from toolset.Source) (*Evaluated, error) {
	servers, err := toolset.LoadServers(j.Host, j.Config, from)
	if err != nil {
		return nil, err
	}
	if err := checkEarly(j); err != nil {
		return nil, err
	}
	systems := j.Kept.Evaluation.Systems
	away := j.Config.Sampler.URL != ""
	needsDevice := func(s job.System) bool { return s.IsLocal() && !away || s.InitialCall != "" }
	if slices.ContainsFunc(systems, needsDevice) {
		if err := basemodel.CheckDevices(j.Host, j.Config.Engine); err != nil {
			return nil, err
		}
	}
	l, err := episodes.Open(ctx, j.Host, j.Config, servers, j.Path)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	if j.Dir != nil {
		if err := j.SameTools(l.Catalog); err != nil {
			return nil, err
		}
	}
	if err := toolset.RefuseFindings(j.Host, j.Config.MCP, l.Catalog.LintTools(), j.Kept.AllowFindings); err != nil {
		return nil, err
	}
	if err := l.Runnable(j.Config, tasks); err != nil {
		return nil, err
	}
	if err := toolset.CheckRules(j.Host, l.Gate, tasks); err != nil {
		return nil, err
	}
	l.NoteUnsendable(j.Host, j.Config, tasks)
	if scenario.NeedsJudge(tasks) {
		if err := l.OpenJudge(j.Host, j.Config); err != nil {
			return nil, err
		}
		l.Scorer = l.Scorer.Alone()
	}
	b := &bench{Job: j, tasks: tasks, local: l, paid: map[string]*llm.Client{}, first: agents{}}
	defer b.first.close()
	if slices.ContainsFunc(systems, job.System.IsLocal) {
		if err := l.OpenSampler(ctx, j.Host, j.Config, j.Path, false, b.cancel); err != nil {
			return nil, err
		}
	}
	trainedOn, near := b.warnTrainOverlap()
	if j.DryRun {
		return nil, b.rehearse()
	}
	if b.servers, err = serversSum(servers); err != nil {
		return nil, err
	}
	b.earlier, err = earlierEpisodes(j, j.Kept.Evaluation.Reuse)
	defer b.earlier.close()
	if err != nil {
		return nil, err
	}
	if err := b.openLocal(); err != nil {
		return nil, err
	}
	measured, err := b.measure(ctx)
	l.SayUsers(j.Host)
	l.SayJudge(j.Host)
	if err != nil {
		return nil, stopError(ctx, j, err)
	}
	measured.TrainedOn, measured.NearTrained = trainedOn, near
	measured.initial = systems[len(systems)-1].InitialCall != ""
	if j.Dir != nil {
		err = b.report(measured)
	}
	return measured, err
}

// Resume goes on with a stopped run of hone eval.
func Resume(ctx context.Context, e job.Env, path string, b job.Begun, from toolset.Source) (*Evaluated, error) {
	if b.Flags.Evaluation == nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot resume the run", Where: path,
			Why:  "the hone that began it did not keep how",
			Next: "give hone eval another --output-dir, such as " + run.Beside(path)}
	}
	b.Flags.Settle()
	from, err := b.Flags.Again(e.Host, from, path)
	if err != nil {
		return nil, err
	}
	j := &job.Job{Env: e, Verb: "eval", Path: path, Kept: b.Flags}
	defer j.Close()
	if err := j.GoOn(); err != nil {
		return nil, err
	}
	tasks, err := scenario.LoadCopy(filepath.Join(path, job.ScenariosFile))
	if err != nil {
		return nil, err
	}
	return Run(ctx, j, tasks, from)
}

// stopError is the error of an evaluation that ended before its last episode.
func stopError(ctx context.Context, j *job.Job, err error) error {
	if j.Dir == nil || ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	return &fault.Error{Code: fault.CodeStopped, What: "stopped; no episode that ended is lost", Where: j.Path,
		Next: j.Onward()}
}
