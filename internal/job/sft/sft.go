// Package sft does what hone sft does.
package sft

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/data/dataset"
	"hone/internal/engine"
	"hone/internal/fault"
	"hone/internal/job"
	"hone/internal/job/inputs"
	"hone/internal/job/journal"
	"hone/internal/job/settings"
	"hone/internal/mcp/scan"
	"hone/internal/run"
	"hone/internal/run/metrics"
	"hone/internal/toolset"
)

// Asked is what the user asks of hone sft. What is empty is the configuration's.
type Asked struct {
	LoRA          basemodel.GivenLoRA
	Base, Adapter string // base model; adapter to start from, "" for a fresh one
	Data, Catalog string // conversations; tools of rows that name none
	Output        string // run directory
	Steps         int    // in place of sft.epochs; 0: what the keys say
	SkipBad       bool   // rows that cannot be read or rendered are left out
	AllowFindings scan.Allowed
}

// Run is what hone sft does.
func Run(ctx context.Context, e job.Env, c config.Config, a Asked) error {
	if a.Data == "" {
		return &fault.Error{Code: fault.CodeUsage, What: "no conversations to learn from", Next: "name a file with --data; hone collect makes one"}
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
	from, err := inputs.LocalData(e.Host, a.Data)
	if err != nil {
		return err
	}
	d, err := inputs.ReadConversations(from[0], a.Catalog)
	if err == nil {
		err = inputs.Unread(e.Host, &d.Report, a.SkipBad)
	}
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
	j := &job.Job{Env: e, Verb: "sft", Path: a.Output, Config: c, Kept: job.Kept{Adapter: a.Adapter, Data: a.Data, AllowFindings: a.AllowFindings}, SkipBad: a.SkipBad}
	defer j.Close()
	if e.DryRun {
		return rehearse(j, d, rows)
	}
	return learn(ctx, j, d, rows)
}

// Resume goes on with a stopped run of hone sft.
func Resume(ctx context.Context, e job.Env, path string, b job.Begun, _ toolset.Source) error {
	j := &job.Job{Env: e, Verb: "sft", Path: path, Kept: b.Flags, SkipBad: true} // what the run began without
	defer j.Close()
	if over, err := j.Over(b, settings.SFTStage, "final", func(final string) error { return sayTuned(j, final) }); over || err != nil {
		return err
	}
	if err := j.GoOn(); err != nil {
		return err
	}
	d, err := inputs.ReadConversations(filepath.Join(path, job.ConversationsFile), "")
	if err == nil {
		err = inputs.Unread(j.Host, &d.Report, true)
	}
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
	return learn(ctx, j, d, rows)
}

// rehearse is an error where sft would be one before it opens a device, or where the plug-in cannot be used.
func rehearse(j *job.Job, d inputs.Conversations, rows []dataset.Row) error {
	l, err := Resolve(j, d, rows)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := engine.CheckDevices(l.Model.Plugin.Path, l.Config.Engine.Devices); err != nil {
		return err
	}
	if l.Model.Plugin.Path != "" {
		if _, err := engine.Probe(l.Model.Plugin.Path); err != nil {
			return err
		}
	}
	longest, trained := 0, 0
	for _, s := range l.Sequences {
		longest, trained = max(longest, len(s.IDs)), trained+s.NumTrained()
	}
	j.Say("would take %s over %s of at most %s, %d of them trained, in %s", fault.Count(settings.SFTOf(l.Config).NumSteps(len(l.Sequences)), "step"),
		fault.Count(len(l.Sequences), "row"), fault.Count(longest, "token"), trained, j.Path)
	return nil
}

// learn runs what is left of SFT on rows.
func learn(ctx context.Context, j *job.Job, d inputs.Conversations, rows []dataset.Row) (err error) {
	l, err := Resolve(j, d, rows)
	if err != nil {
		return err
	}
	defer l.Close()
	j.Config = l.Config
	m := l.Model
	if err := m.Load(basemodel.Loader(j.Config.Engine)); err != nil {
		return err
	}
	j.Say("model %s on %s; %s", m.Spec.Name, m.Engine.Description(), basemodel.CompileNote)
	trainer, _, err := basemodel.OpenTrainer(j.Host, m, j.Config, j.Kept.Adapter, l.Prefix)
	if err != nil {
		return err
	}
	text, err := d.Lines()
	if err != nil {
		return err
	}
	inputs := []run.Input{{Name: job.ConversationsFile, Data: text}}
	if d.Catalog != nil {
		catalog, err := job.EncodeCatalog(d.Catalog)
		if err != nil {
			return err
		}
		inputs = append(inputs, catalog)
	}
	if err := j.Begin(inputs...); err != nil {
		return err
	}
	s := l.stage(j.Config)
	track := journal.StartTracking(j.Env, j.Config.Metrics, j.Dir, journal.Tracked{Main: s.Stage, Engine: m.Engine})
	defer func() { track.Close(err) }()
	log := journal.Journal{Dir: j.Dir, Say: j.Say, Track: track}
	j.Opens(s)
	err = s.Run(ctx, l.Sequences, track.Trainer(trainer, metrics.Eval), nil, log, track.Progress(j.Progress(1)))
	if err := journal.Ended(ctx, j, s.Stage, err); err != nil {
		return err
	}
	if err := journal.TakeBest(j, log, s.Stage, trainer); err != nil {
		return err
	}
	final := j.Final()
	if err := basemodel.SaveAdapter(final, trainer.Trainer, m.Renderer); err != nil {
		return err
	}
	basemodel.SayPrograms(j.Host, m.Engine)
	if err := track.Tell(j.Dir); err != nil {
		return err
	}
	return sayTuned(j, final)
}

// sayTuned tells where the adapter is and what can be done with it.
func sayTuned(j *job.Job, final string) error {
	j.Say("adapter: %s", final)
	next := "hone serve --model " + final
	if _, err := os.Stat(j.Config.Scenarios.File); err == nil {
		next += fmt.Sprintf(", or hone train --adapter %s --dataset %s --output-dir %s", final, j.Config.Scenarios.File, run.FreeFolder("train"))
	}
	j.Say("next: %s", next)
	return nil
}
