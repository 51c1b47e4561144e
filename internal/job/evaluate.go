package job

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"hone/internal/basemodel"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/eval"
	"hone/internal/fault"
	"hone/internal/recipe"
	"hone/internal/run"
	"hone/internal/toolset"
)

// Evaluation says what hone eval measures: an adapter ("" for the base model alone), on a split of a file of scenarios, and whether beside
// the base model.
type Evaluation struct {
	Dataset     string `json:"dataset"`
	Split       string `json:"split"`
	CompareBase bool   `json:"compare_base,omitempty"`
}

// Evaluated is what was measured. Failed is, for each system, why its numbers say little; nil where they do not.
type Evaluated struct {
	eval.Comparison
	Failed []error
}

// Evaluate runs what is left of an evaluation on tasks, and keeps the episodes where j has a folder. A host that only rehearses is told
// what would be done, and gets nil.
func (j *Job) Evaluate(ctx context.Context, tasks []scenario.Scenario, from toolset.Source) (*Evaluated, error) {
	servers, err := toolset.Configured(j.Host, j.Config, from)
	if err != nil {
		return nil, err
	}
	if err := basemodel.CheckDevices(j.Host, j.Config.Engine); err != nil {
		return nil, err
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
	trainedOn, near := WarnLearnt(j.Host, j.Kept.Adapter, tasks), WarnNear(j.Host, j.Kept.Adapter, tasks)
	if j.DryRun {
		if err := l.Rehearse(j.Host, j.Config, j.Kept.Adapter, tasks, false); err != nil {
			return nil, err
		}
		j.Say("would run %s of the split %s", fault.Count(len(tasks), "scenario"), j.Kept.Evaluation.Split)
		return nil, nil
	}
	if err := l.OpenModel(j.Host, &j.Config, j.Kept.Adapter, tasks, false); err != nil {
		return nil, err
	}
	measured, err := j.measure(ctx, l, tasks)
	l.users.say(j.Host)
	if err != nil {
		return nil, j.stoppedEvaluation(ctx, err)
	}
	measured.TrainedOn, measured.NearTrained = trainedOn, near
	if j.Dir != nil {
		err = j.reportEvaluation(l, trainedOn, near)
	}
	return measured, err
}

// ResumeEvaluation goes on with a stopped run of hone eval.
func ResumeEvaluation(ctx context.Context, e Env, path string, b Begun, from toolset.Source) (*Evaluated, error) {
	if b.Flags.Evaluation == nil {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "cannot resume the run", Where: path, Why: "the hone that began it did not keep how",
			Next: "give hone eval another --output-dir, such as " + run.Beside(path)}
	}
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

// measure evaluates the adapter or the base model, and where it is asked for both.
func (j *Job) measure(ctx context.Context, l *Episodes, tasks []scenario.Scenario) (*Evaluated, error) {
	out := &Evaluated{Comparison: eval.Comparison{Bootstrap: IntervalsOf(j.Config)}}
	j.Opens(out.Bootstrap)
	var log evaluationLog = unkept{l}
	if j.Path != "" {
		catalog, err := EncodeCatalog(l.Catalog)
		if err != nil {
			return nil, err
		}
		text, err := scenario.Encode(tasks, false)
		if err == nil {
			err = j.Begin(run.Input{Name: ScenariosFile, Data: text}, catalog)
		}
		if err != nil {
			return nil, err
		}
		log = Journal{Dir: j.Dir, Say: j.Say, Episodes: l}
	}
	system := func(name string) error {
		s, err := l.evaluate(ctx, j, name, tasks, log)
		out.Systems, out.Failed = append(out.Systems, s), append(out.Failed, l.unevaluated(s))
		return err
	}
	name := "model"
	if j.Kept.Adapter == "" {
		name = "base"
	} else if j.Kept.Evaluation.CompareBase {
		if err := l.Policy.Withdraw(); err != nil {
			return nil, err
		}
		if err := system("base"); err != nil {
			return nil, err
		}
		if err := recipe.Publish(l.Policy, "eval "+j.Kept.Adapter); err != nil {
			return nil, err
		}
	}
	if err := system(name); err != nil {
		return nil, err
	}
	if j.Dir != nil {
		j.Say("trajectories: %s", j.Trajectories())
	}
	return out, nil
}

// unevaluated is an error where no more than half of the episodes say anything about the policy.
func (l *Episodes) unevaluated(s eval.System) error {
	lost := s.NumExcluded()
	if lost == 0 || lost < len(s.Rows) {
		return nil
	}
	why := fmt.Sprint(s.Excluded)
	if first := s.FirstLost(); first != "" {
		why += "; the first: " + first
	}
	e := &fault.Error{Code: fault.CodeFailures, What: fmt.Sprintf("%d of %d episodes failed for reasons that are not the policy's", lost, lost+len(s.Rows)),
		Where: "eval " + s.Name, Why: why, Next: "hone doctor looks at servers and machine"}
	if len(s.Rows) == 0 && l.Lost() > 0 {
		e.Code, e.What = fault.CodeUnavailable, "no episode was answered by its MCP server"
	}
	return e
}

// evaluate runs one episode of each scenario under the sampler's present policy, as the stage eval_NAME of the log. That none of them
// says anything about the policy is no error here: it is one of the system.
func (l *Episodes) evaluate(ctx context.Context, j *Job, name string, tasks []scenario.Scenario, log evaluationLog) (eval.System, error) {
	report := j.Progress(l.Speaker.NumSlots())
	ts, err := recipe.Evaluate(ctx, "eval_"+name, 0, tasks, l.Evaluation(j.Config.Eval), l.Scorer, log, func(_ string, done, total int, note string) {
		report("eval "+name, done, total, note)
	})
	if ts == nil && err != nil {
		return eval.System{}, err
	}
	known := ByID(tasks)
	s := eval.NewSystem(name, ts, l.Criteria(known))
	for _, t := range ts {
		s.Episodes = append(s.Episodes, eval.Example{Trajectory: t, Scenario: known[t.ScenarioID]})
	}
	return s, nil
}

// evaluationLog is what an evaluation is kept in.
type evaluationLog interface {
	recipe.Episodes
	Finish(stage string) error
}

// unkept keeps no episodes; their records are stamped as those that are kept.
type unkept struct{ episodes *Episodes }

func (u unkept) Trajectory(_ string, _ int, t *trajectory.Trajectory) error {
	u.episodes.Stamp(t)
	return nil
}

func (unkept) Scores(string, trajectory.Group, []trajectory.Score) error { return nil }

func (unkept) Trajectories(string, int) ([]recipe.Kept, error) { return nil, nil }

func (unkept) Finish(string) error { return nil }

// Criteria tell success by the scenarios' own checks.
func (l *Episodes) Criteria(byID map[string]*scenario.Scenario) eval.Criteria {
	return eval.ByChecks(byID, l.Scorer.Defaults, eval.Known{Server: ServerOf(l.Catalog)})
}
