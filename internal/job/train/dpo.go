package train

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/data/dataset"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/job/records"
	"hone/internal/learn/batch"
	"hone/internal/recipe"
	"hone/internal/run"
	"hone/internal/run/metrics"
	"hone/internal/toolset"
)

// ResumeDPO goes on with a stopped run of hone dpo.
func ResumeDPO(ctx context.Context, e job.Env, path string, b job.Begun, _ toolset.Source) error {
	j := &job.Job{Env: e, Verb: "dpo", Path: path, Kept: b.Flags}
	defer j.Close()
	if over, err := j.Over(b, job.DPOStage, "final",
		func(final string) error { return sayNextDPO(j, final) }); over || err != nil {
		return err
	}
	if err := j.GoOn(); err != nil {
		return err
	}
	p, err := job.ReadPairs(e.Host, filepath.Join(path, job.PairsFile), true)
	if err == nil {
		err = toolset.RefuseFindings(j.Host, j.Config.MCP, p.Conversations().LintTools(p.Rows()), j.Kept.AllowFindings)
	}
	if err != nil {
		return err
	}
	return learnDPO(ctx, j, p)
}

// RunDPO is what hone dpo does.
func RunDPO(ctx context.Context, e job.Env, c config.Config, a DataAsked) error {
	if a.Data == "" {
		return &fault.Error{Code: fault.CodeUsage, What: "no pairs to learn from",
			Next: "name a file with --data; hone curate export --to pairs makes one of traces"}
	}
	if err := basemodel.CheckAway(c, job.DPOStage, a.Adapter, 0); err != nil {
		return err
	}
	if err := e.Free(a.Output); err != nil {
		return err
	}
	p, err := job.ReadPairs(e.Host, a.Data, a.SkipBad)
	if err == nil {
		a.Adapter, err = basemodel.AdapterFolder(e.Host, a.Adapter)
	}
	if err == nil {
		c, err = basemodel.StartFrom(e.Host, c, a.LoRA, a.Adapter, a.Base)
	}
	if err == nil {
		err = toolset.RefuseFindings(e.Host, c.MCP, p.Conversations().LintTools(p.Rows()), a.AllowFindings)
	}
	if err != nil {
		return err
	}
	j := &job.Job{Env: e, Verb: "dpo", Path: a.Output, Config: c,
		Kept: job.Kept{Adapter: a.Adapter, AllowFindings: a.AllowFindings}}
	defer j.Close()
	if e.DryRun {
		return rehearseDPO(ctx, j, p)
	}
	return learnDPO(ctx, j, p)
}

// dpoPlan is what DPO settles before a device is opened.
type dpoPlan struct {
	Plan
	stage recipe.DPO
	pairs []recipe.PreferencePair // that are learnt from
}

// rendered is a pair as the model is given it.
type rendered struct {
	task  dataset.Row
	sides recipe.PreferencePair
}

// resolveDPO renders pairs for the base model, and refuses what its positions or the memory do not hold. A pair of
// which a side is longer than the context, or cannot be rendered, is left out and named.
func resolveDPO(j *job.Job, p job.Pairs) (l dpoPlan, err error) {
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	if l.Plan, err = beginPlan(j, p.Path, p.Rows()); err != nil {
		return l, err
	}
	c := l.Config
	usable, err := l.render(j.Host, job.FreeMemory(), p.Path, p.List)
	if err != nil {
		return l, err
	}
	measurable, err := l.render(j.Host, job.FreeMemory(), p.Path, p.Validation)
	if err != nil {
		return l, err
	}
	if len(usable) == 0 {
		return l, &fault.Error{Code: fault.CodeUsage, What: "no pair can be learnt from", Where: p.Path,
			Why:  "each has a side that is too long, or that cannot be rendered; see above",
			Next: "raise model.context, list fewer tools, or give other pairs"}
	}
	if len(measurable) == 0 && len(p.Validation) > 0 {
		j.Say("note: no pair of the split validation fits model.context, so none is measured on")
	}
	h := job.Holding[rendered]{Stage: job.DPOStage, One: "pair", Share: c.DPO.Validation,
		Patience: c.DPO.Patience, Seed: c.Seed, Row: func(x rendered) dataset.Row { return x.task }}
	learnt, held, err := h.Part(j.Host, usable, measurable)
	if err != nil {
		return l, err
	}
	l.stage = job.DPOOf(c)
	l.pairs, l.Sequences = sidesOf(learnt)
	l.stage.Held, l.Held = sidesOf(held)
	var steps []batch.Batch
	for _, picked := range l.stage.SFT.Pass(len(l.pairs), 0) {
		steps = append(steps, recipe.RowsOf(l.pairs, picked))
	}
	c.SFT.BatchSize = 2 * c.DPO.BatchSize // rows of a step
	err = l.Fit(j, c, steps)
	return l, err
}

// render renders pairs; those of which a side is nil are left out. It is an error where what is free, in bytes, will
// not hold them.
func (l dpoPlan) render(h *host.Host, free int64, path string, list []dataset.Pair) (out []rendered, err error) {
	held := job.Rendering{One: "pair", All: len(list), Free: free}
	for i, x := range list {
		if err := held.Refuse(i, path); err != nil {
			return nil, err
		}
		sides := recipe.PreferencePair{Chosen: l.side(h, x.Chosen), Rejected: l.side(h, x.Rejected)}
		if sides.Chosen != nil && sides.Rejected != nil {
			out = append(out, rendered{x.Chosen, sides})
			for _, r := range slices.Concat(sides.Chosen, sides.Rejected) {
				held.Tokens += len(r.IDs)
			}
		}
	}
	return out, nil
}

// sidesOf are pairs, and the rows of all their sides.
func sidesOf(list []rendered) (pairs []recipe.PreferencePair, rows []batch.Sequence) {
	for _, x := range list {
		pairs, rows = append(pairs, x.sides), append(append(rows, x.sides.Chosen...), x.sides.Rejected...)
	}
	return pairs, rows
}

// side renders one completion of a pair; nil where the context does not hold it, or where it is no text that the
// template could have been answered with: of sides that failed some hold half a call, which is read as none.
func (l dpoPlan) side(h *host.Host, r dataset.Row) (rows []batch.Sequence) {
	rendered, err := l.Model.Renderer.Sequences(r.Messages, r.Opening, r.Tools)
	if err != nil {
		why, _, _ := strings.Cut(err.Error(), "\n")
		h.Say("left out the pair %s: a side cannot be rendered: %s", job.Where(&r), why)
		return nil
	}
	for _, s := range rendered {
		if len(s.IDs) > l.Config.Model.Context {
			h.Say("left out the pair %s: a side has %d tokens, more than model.context", job.Where(&r), len(s.IDs))
			return nil
		}
		rows = append(rows, batch.Sequence{IDs: s.IDs, Trained: s.Trained, Place: job.Where(&r)})
	}
	return rows
}

func rehearseDPO(ctx context.Context, j *job.Job, p job.Pairs) error {
	l, err := resolveDPO(j, p)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := l.Rehearse(ctx, j, job.DPOStage); err != nil {
		return err
	}
	j.Say("would take %s over %s in %s", fault.Count(l.stage.SFT.NumSteps(len(l.pairs)), "step"),
		fault.Count(len(l.pairs), "pair"), j.Path)
	return nil
}

// learnDPO runs what is left of DPO on pairs.
func learnDPO(ctx context.Context, j *job.Job, p job.Pairs) error {
	l, err := resolveDPO(j, p)
	if err != nil {
		return err
	}
	defer l.Close()
	d := l.stage
	kept := []run.Input{{Name: job.PairsFile, Data: dataset.EncodePairs(slices.Concat(p.List, p.Validation))}}
	steps := func(t *basemodel.Trainer, log records.Journal) error {
		d.Examiner = log.Track.Trainer(t, metrics.Eval)
		j.Opens(d)
		return d.Run(ctx, l.pairs, log.Track.Trainer(t, metrics.Train), nil, log, log.Track.Progress(j.Progress(1)))
	}
	say := func(_ *basemodel.Trainer, log records.Journal) error { return sayMargins(j, log, d.SFT) }
	if err := l.Learn(ctx, j, d.SFT.Stage, kept, steps, say); err != nil {
		return err
	}
	return sayNextDPO(j, j.Final())
}

// sayNextDPO tells where the adapter is and what can be done with it.
func sayNextDPO(j *job.Job, final string) error {
	j.Say("adapter: %s", final)
	j.Say("next: hone eval --model %s --compare-base, or hone serve --model %s", final, final)
	return nil
}

// sayMargins tells how the policy's preference moved.
func sayMargins(j *job.Job, log records.Journal, s recipe.SFT) error {
	_, last, err := log.Latest(s.Stage)
	if err != nil || last == 0 {
		return err
	}
	m, ok, err := log.StepMetrics(s.Stage, last-1)
	if ok && err == nil {
		j.Say("in the last step the preferred side was preferred in %.0f%% of the pairs, "+
			"by a margin of %.3f (rewards/margins)", 100*m["rewards/accuracies"], m["rewards/margins"])
	}
	return err
}
