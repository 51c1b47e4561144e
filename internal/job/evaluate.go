package job

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"hone/internal/basemodel"
	"hone/internal/episode/scenario"
	"hone/internal/eval"
	"hone/internal/fault"
	"hone/internal/llm"
	"hone/internal/run"
	"hone/internal/toolset"
)

// Evaluation says what hone eval measures, and on what: systems, on a split of a file of scenarios.
type Evaluation struct {
	Dataset     string   `json:"dataset"`
	Split       string   `json:"split"`
	Systems     []System `json:"systems,omitempty"`
	Reuse       []string `json:"reuse,omitempty"`        // run directories of earlier evaluations, whose episodes are not run again
	TokenBudget int      `json:"token_budget,omitempty"` // of each endpoint; 0: no limit

	CompareBase bool `json:"compare_base,omitempty"` // of a run of before there were Systems
}

// settle gives an evaluation of before its systems.
func (k *Kept) settle() {
	e := k.Evaluation
	if len(e.Systems) > 0 {
		return
	}
	if k.Adapter == "" || e.CompareBase {
		e.Systems = append(e.Systems, System{Name: BaseOnly})
	}
	if k.Adapter != "" {
		e.Systems = append(e.Systems, System{Name: modelName, Adapter: k.Adapter})
	}
}

// Evaluated is what was measured.
type Evaluated struct {
	eval.Comparison
	Failed []error        // of the systems whose numbers say little, why
	Reused map[string]int // episodes of each system that earlier evaluations had run
	NotRun int            // scenarios that were left out, since the differences were known before
	Known  []Known        // these, where the evaluation may stop early
}

// Evaluate runs what is left of an evaluation on tasks, and keeps the episodes where j has a folder. A host that only rehearses is told
// what would be done, and gets nil.
func (j *Job) Evaluate(ctx context.Context, tasks []scenario.Scenario, from toolset.Source) (*Evaluated, error) {
	servers, err := toolset.Configured(j.Host, j.Config, from)
	if err != nil {
		return nil, err
	}
	if err := j.checkEarly(); err != nil {
		return nil, err
	}
	systems := j.Kept.Evaluation.Systems
	if slices.ContainsFunc(systems, System.isLocal) {
		if err := basemodel.CheckDevices(j.Host, j.Config.Engine); err != nil {
			return nil, err
		}
	}
	l, err := Open(ctx, j.Host, j.Config, servers, j.Path)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	if j.Dir != nil {
		if err := j.sameTools(l.Catalog); err != nil {
			return nil, err
		}
	}
	if err := toolset.RefuseFindings(j.Host, l.Catalog.LintTools(), j.Kept.AllowFindings); err != nil {
		return nil, err
	}
	if err := l.Runnable(j.Config, tasks); err != nil {
		return nil, err
	}
	if err := toolset.Allowed(j.Host, l.Gate, tasks); err != nil {
		return nil, err
	}
	b := &bench{Job: j, tasks: tasks, local: l, paid: map[string]*llm.Client{}}
	trainedOn, near := b.warnLearnt()
	if j.DryRun {
		return nil, b.rehearse()
	}
	if b.servers, err = serversSum(servers); err != nil {
		return nil, err
	}
	b.earlier, err = j.earlierEpisodes(j.Kept.Evaluation.Reuse)
	defer b.earlier.close()
	if err != nil {
		return nil, err
	}
	if err := b.openLocal(); err != nil {
		return nil, err
	}
	measured, err := b.measure(ctx)
	l.users.say(j.Host)
	if err != nil {
		return nil, j.stoppedEvaluation(ctx, err)
	}
	measured.TrainedOn, measured.NearTrained = trainedOn, near
	if j.Dir != nil {
		err = b.report(measured)
	}
	return measured, err
}

// ResumeEvaluation goes on with a stopped run of hone eval.
func ResumeEvaluation(ctx context.Context, e Env, path string, b Begun, from toolset.Source) (*Evaluated, error) {
	if b.Flags.Evaluation == nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot resume the run", Where: path, Why: "the hone that began it did not keep how",
			Next: "give hone eval another --output-dir, such as " + run.Beside(path)}
	}
	b.Flags.settle()
	from, err := b.Flags.Again(e.Host, from, path)
	if err != nil {
		return nil, err
	}
	j := &Job{Env: e, Verb: "eval", Path: path, Kept: b.Flags}
	defer j.Close()
	if err := j.GoOn(); err != nil {
		return nil, err
	}
	tasks, err := scenario.LoadKept(filepath.Join(path, ScenariosFile))
	if err != nil {
		return nil, err
	}
	return j.Evaluate(ctx, tasks, from)
}

// stoppedEvaluation is the error of an evaluation that ended before its last episode.
func (j *Job) stoppedEvaluation(ctx context.Context, err error) error {
	if j.Dir == nil || ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	return &fault.Error{Code: fault.CodeStopped, What: "stopped; no episode that ended is lost", Where: j.Path, Next: j.again()}
}

// Criteria tell success by the scenarios' own checks.
func (l *Episodes) Criteria(byID map[string]*scenario.Scenario) eval.Criteria {
	return eval.ByChecks(byID, l.Scorer.Defaults, knownOf(l.Catalog))
}
