package eval

import (
	"cmp"
	"fmt"
	"slices"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/job/episodes"
	"hone/internal/mcp/scan"
	"hone/internal/toolset"
)

// Asked is what the user asks of hone eval. What is empty or 0 is the configuration's.
type Asked struct {
	Model, Base    string // as SystemsOf has it; base model
	Dataset, Split string
	Judge          episodes.GivenJudge // of scenarios without checks
	Output         string              // run directory; "" keeps nothing
	Compare        []string
	CompareBase    bool
	Repeats        int
	Limit          int // most scenarios; those that are drawn by the seed
	FailOnError    string
	StopEarly      float64 // percentage points
	Reuse          []string
	TokenBudget    int
	InitialCall    string  // adapter folder, before Model, which is an endpoint's
	Calibrate      float64 // share of right calls that initial calls of Model are to have; 0: it is not calibrated
	SkipBad        bool    // rows that cannot be read are left out
	AllowFindings  scan.Allowed
}

// Job is the job that is asked for, and its scenarios. Nothing is begun yet.
func (a Asked) Job(e job.Env, c config.Config, from toolset.Source) (*job.Job, []scenario.Scenario, error) {
	var err error
	if a.Dataset, err = job.Dataset(a.Dataset, c); err != nil {
		return nil, nil, err
	}
	a.Split = cmp.Or(a.Split, c.Eval.Split)
	if a.Split != scenario.Train && a.Split != scenario.Validation && a.Split != scenario.Test {
		return nil, nil, &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("there is no split %q", a.Split),
			Where: "--split", Next: "give train, validation or test"}
	}
	c.Eval.Repeats, c.Eval.FailOnError =
		cmp.Or(a.Repeats, c.Eval.Repeats), cmp.Or(config.FailOnError(a.FailOnError), c.Eval.FailOnError)
	c.Eval.StopEarly = cmp.Or(a.StopEarly, c.Eval.StopEarly)
	if err := c.Validate(); err != nil {
		return nil, nil, &fault.Error{Code: fault.CodeUsage, What: "a flag has a value that cannot be used", Err: err,
			Next: "hone eval --help"}
	}
	if a.Output != "" {
		if err := e.Free(a.Output); err != nil {
			return nil, nil, err
		}
	}
	if err := a.Judge.Apply(&c); err != nil {
		return nil, nil, err
	}
	asRemembered := c.Judge.Model == "" && episodes.RememberJudge(&c, basemodel.AdapterAt(a.Model))
	tasks, err := job.Scenarios(e.Host, a.Dataset, c.Judge.Model, a.SkipBad)
	if err != nil {
		return nil, nil, err
	}
	if asRemembered && scenario.NeedsJudge(tasks) {
		e.Say("scenarios without checks are judged by %s, as in the run of %s", c.Judge.Model, a.Model)
	}
	if tasks, err = job.OfSplit(tasks, a.Split, a.Dataset); err != nil {
		return nil, nil, err
	}
	all := len(tasks)
	if tasks, err = sampleScenarios(tasks, a.Limit, c.Seed); err != nil {
		return nil, nil, err
	}
	if a.CompareBase && a.Model != "" && a.Model != job.BaseName && !slices.Contains(a.Compare, job.BaseName) {
		a.Compare = slices.Concat([]string{job.BaseName}, a.Compare)
	}
	systems, err := SystemsOf(c, a.Model, a.Compare)
	if err == nil {
		systems, err = a.initialCalls(c, systems)
	}
	if err == nil {
		err = a.enoughToCalibrate(len(tasks) * max(1, c.Eval.Repeats))
	}
	if err != nil {
		return nil, nil, err
	}
	if c, err = a.settle(e.Host, c, systems); err != nil {
		return nil, nil, err
	}
	adapter := "" // as which the base model is prompted too
	if a.Model != "" {
		adapter = systems[len(systems)-1].Adapter
	}
	j := &job.Job{Env: e, Verb: "eval", Path: a.Output,
		Config: c, Kept: job.Kept{Adapter: adapter, AllowFindings: a.AllowFindings,
			Evaluation: &job.Evaluation{Dataset: a.Dataset, Split: a.Split, Systems: systems, Reuse: a.Reuse,
				TokenBudget: a.TokenBudget}}}
	if len(tasks) < all {
		j.Kept.Evaluation.DrawnFrom = all
	}
	j.Kept.Keep(e.Host, c, from)
	return j, tasks, nil
}
