package main

import (
	"context"

	"hone/internal/config"
	"hone/internal/demo"
	"hone/internal/env"
	"hone/internal/job"
	"hone/internal/job/train"
	"hone/internal/proxy/sidecar"
	"hone/internal/run"
	"hone/internal/run/report"
	"hone/internal/toolset"
	"hone/internal/view"
)

// verbs are all that begin runs.
func (a *app) verbs() job.Verbs {
	return job.Verbs{
		{Name: "collect", Finished: job.HasFinished}, // which scenarios it is given is not kept
		{Name: "sft", Finished: job.HasAdapter, Resume: train.ResumeSFT},
		{Name: "dpo", Finished: job.HasAdapter, Resume: train.ResumeDPO},
		{Name: "train", Finished: job.HasAdapter, Resume: train.ResumeGRPO},
		{Name: "eval", Finished: job.EvaluationHasEnded, Resume: a.resumeEval},
		{Name: sidecar.TrainVerb, Finished: job.HasAdapter, Resume: sidecar.Resume},
		{Name: env.Verb, Finished: func(run.Summary, job.Begun) bool { return false }},
		{Name: "demo", Finished: demo.HasEnded, Resume: demo.Resume},
		{Name: "demo learn", GoesOn: "hone-learn --resume --output-dir "},
	}
}

// jobs is what verbs begin runs in; today is the configuration as it is now.
func (a *app) jobs(today config.Config) job.Env {
	e := job.Env{Host: a.Host, Table: a.verbs(), Reopen: a.reopen, Today: today, Accept: a.accept}
	e.Show = func(path string, p report.Page, n report.Numbers) error { return view.WriteReport(e, path, p, n) }
	return e
}

// resume goes on with the run in path by the verb that began it. from names its servers, where the run cannot know its
// own.
func (a *app) resume(ctx context.Context, from toolset.Source, path string) error {
	today, err := a.config()
	if err != nil {
		return err
	}
	return a.jobs(today).Resume(ctx, path, from)
}
