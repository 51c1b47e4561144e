// Package train does what hone sft, hone dpo and hone train do: plan what is asked, open it, run the recipe.
package train

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/data/dataset"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/job/records"
	"hone/internal/mcp/scan"
	"hone/internal/run"
	"hone/internal/run/metrics"
	"hone/internal/toolset"
)

// DataAsked is what the user asks of hone sft. What is empty is the configuration's.
type DataAsked struct {
	LoRA          basemodel.GivenLoRA
	Base, Adapter string // base model; adapter to start from, "" for a fresh one
	Data, Catalog string // conversations; tools of rows that name none
	Output        string // run directory
	Steps         int    // in place of sft.epochs; 0: what the keys say
	SkipBad       bool   // rows that cannot be read or rendered are left out
	AllowFindings scan.Allowed
}

// RunSFT is what hone sft does.
func RunSFT(ctx context.Context, e job.Env, c config.Config, a DataAsked) error {
	if a.Data == "" {
		return &fault.Error{Code: fault.CodeUsage, What: "no conversations to learn from",
			Next: "name a file with --data; hone collect makes one"}
	}
	err := c.TakeSteps(a.Steps)
	if err == nil {
		err = e.Free(a.Output)
	}
	if err != nil {
		return err
	}
	if a.Adapter, err = basemodel.AdapterFolder(e.Host, a.Adapter); err != nil {
		return err
	}
	if err := basemodel.CheckAway(c, job.SFTStage, a.Adapter, 0); err != nil {
		return err
	}
	from, err := job.LocalData(e.Host, a.Data)
	if err != nil {
		return err
	}
	d, err := job.ReadConversations(e.Host, from[0], a.Catalog, a.SkipBad)
	if err != nil {
		return err
	}
	d.HoldOut(e.Host, nil)
	if c, err = basemodel.StartFrom(e.Host, c, a.LoRA, a.Adapter, a.Base); err != nil {
		return err
	}
	rows, err := d.Demonstrations(e.Host, c)
	if err == nil {
		err = toolset.RefuseFindings(e.Host, c.MCP, d.LintTools(rows), a.AllowFindings)
	}
	if err != nil {
		return err
	}
	j := &job.Job{Env: e, Verb: "sft", Path: a.Output, Config: c,
		Kept: job.Kept{Adapter: a.Adapter, Data: a.Data, AllowFindings: a.AllowFindings}, SkipBad: a.SkipBad}
	defer j.Close()
	if e.DryRun {
		return rehearseSFT(ctx, j, d, rows)
	}
	return learnSFT(ctx, j, d, rows)
}

// ResumeSFT goes on with a stopped run of hone sft.
func ResumeSFT(ctx context.Context, e job.Env, path string, b job.Begun, _ toolset.Source) error {
	j := &job.Job{Env: e, Verb: "sft", Path: path, Kept: b.Flags, SkipBad: true} // what the run began without
	defer j.Close()
	if over, err := j.Over(b, job.SFTStage, "final",
		func(final string) error { return sayNextSFT(j, final) }); over || err != nil {
		return err
	}
	if err := j.GoOn(); err != nil {
		return err
	}
	d, err := job.ReadConversations(j.Host, filepath.Join(path, job.ConversationsFile), "", true)
	if err != nil {
		return err
	}
	rows, err := d.Demonstrations(j.Host, j.Config)
	if err == nil {
		err = toolset.RefuseFindings(j.Host, j.Config.MCP, d.LintTools(rows), j.Kept.AllowFindings)
	}
	if err != nil {
		return err
	}
	return learnSFT(ctx, j, d, rows)
}

// rehearseSFT is an error where sft would be one before it opens a device, or where the plug-in cannot be used.
func rehearseSFT(ctx context.Context, j *job.Job, d job.Conversations, rows []dataset.Row) error {
	l, err := ResolveSFT(j, d, rows)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := l.Rehearse(ctx, j, job.SFTStage); err != nil {
		return err
	}
	longest, trained := 0, 0
	for _, s := range l.Sequences {
		longest, trained = max(longest, len(s.IDs)), trained+s.NumTrained()
	}
	j.Say("would take %s over %s of at most %s, %d of them trained, in %s",
		fault.Count(job.SFTOf(l.Config).NumSteps(len(l.Sequences)), "step"), fault.Count(len(l.Sequences), "row"),
		fault.Count(longest, "token"), trained, j.Path)
	return nil
}

// learnSFT runs what is left of SFT on rows.
func learnSFT(ctx context.Context, j *job.Job, d job.Conversations, rows []dataset.Row) error {
	l, err := ResolveSFT(j, d, rows)
	if err != nil {
		return err
	}
	defer l.Close()
	text, err := d.Lines()
	if err != nil {
		return err
	}
	kept := []run.Input{{Name: job.ConversationsFile, Data: text}}
	if d.Catalog != nil {
		catalog, err := job.EncodeCatalog(d.Catalog)
		if err != nil {
			return err
		}
		kept = append(kept, catalog)
	}
	s := l.stage(l.Config)
	steps := func(t *basemodel.Trainer, log records.Journal) error {
		j.Opens(s)
		return s.Run(ctx, l.Sequences, log.Track.Trainer(t, metrics.Eval), nil, log, log.Track.Progress(j.Progress(1)))
	}
	little := false
	look := func(t *basemodel.Trainer, _ records.Journal) (err error) {
		little, err = l.sayFirstTurns(ctx, j, t)
		return err
	}
	if err := l.Learn(ctx, j, s.Stage, kept, steps, look); err != nil {
		return err
	}
	if little {
		j.Say("adapter: %s", j.Final())
		j.Say("next: %s; too little is learnt to use it", moreSFT(j))
		return nil
	}
	return sayNextSFT(j, j.Final())
}

// Learn opens the model of the plan and its trainer, begins the run, which keeps some inputs, and has steps take those
// of a stage. What was best becomes the final adapter, or the last of an SFT that nothing ends early: its rate has come
// down to 0 by then, and the held-out loss of made tasks does not tell what passes on people's.
// look tells how that did, and may be nil.
func (l Plan) Learn(
	ctx context.Context, j *job.Job, stage string, kept []run.Input,
	steps, look func(*basemodel.Trainer, records.Journal) error,
) (err error) {
	j.Config = l.Config
	m := l.Model
	trainer, end, err := l.open(ctx, j, stage)
	if err != nil {
		return err
	}
	defer end()
	if err := j.Begin(kept...); err != nil {
		return err
	}
	track := records.StartTracking(j.Env, j.Config.Metrics, j.Dir, records.Tracked{Main: stage, Engine: m.Engine})
	defer func() { track.Close(err) }()
	log := records.Journal{Dir: j.Dir, Say: j.Say, Track: track}
	if err := records.Conclude(ctx, j, stage, steps(trainer, log)); err != nil {
		return err
	}
	take := func() error { return log.TakeBest(stage, trainer, nil) }
	if stage == job.SFTStage && j.Config.SFT.Patience == 0 {
		take = func() error { return log.TakeLast(stage) }
	}
	if err := take(); err != nil {
		return err
	}
	if err := basemodel.SaveAdapter(j.Final(), trainer.Steps, m.Renderer); err != nil {
		return err
	}
	basemodel.SayPrograms(j.Host, m.Engine)
	if err := track.Tell(j.Dir); err != nil || look == nil {
		return err
	}
	return look(trainer, log)
}

// sayNextSFT tells where the adapter is and what can be done with it.
func sayNextSFT(j *job.Job, final string) error {
	j.Say("adapter: %s", final)
	next := "hone serve --model " + final
	if _, err := os.Stat(j.Config.Scenarios.File); err == nil {
		next = fmt.Sprintf("hone train --adapter %s --dataset %s --output-dir %s; without a GPU "+
			"hone eval --model %[1]s --dataset %[2]s --split test --compare-base --output-dir %[4]s",
			final, j.Config.Scenarios.File, run.FreeFolder("out"), run.FreeFolder("evaluated"))
	}
	j.Say("next: %s", next)
	return nil
}
