package main

import (
	"context"

	"github.com/spf13/pflag"

	"hone/internal/config"
	"hone/internal/job"
	"hone/internal/job/train"
	"hone/internal/toolset"
)

// dataFlags registers the flags of the verbs that train on data.
func dataFlags(a *app, flags *pflag.FlagSet, f *train.DataAsked, resume *bool) {
	flags.StringVar(&f.Base, "base-model", "", "base model: a .gguf file, its folder, or an installed name")
	flags.StringVar(&f.Adapter, "adapter", "", "start from this adapter instead of a fresh one")
	flags.StringVar(&f.Output, "output-dir", "", "run directory; the adapter ends up in its folder final")
	flags.BoolVar(resume, "resume", false, "go on with the run in --output-dir, by what it was begun with")
	flags.BoolVar(&f.SkipBad, "skip-bad", false, "leave out rows that cannot be read")
	allowFindingsFlag(flags, &f.AllowFindings)
	a.trainingFlags(flags, &f.LoRA)
}

// runOnData begins such a verb, or goes on with its run.
func runOnData(
	ctx context.Context, a *app, f train.DataAsked, resume bool,
	verb func(context.Context, job.Env, config.Config, train.DataAsked) error,
) error {
	if f.Output == "" {
		return noOutput()
	}
	if resume {
		return a.resume(ctx, toolset.Source{}, f.Output)
	}
	c, err := a.config()
	if err != nil {
		return err
	}
	return verb(ctx, a.jobs(c), c, f)
}
