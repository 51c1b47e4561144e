package job

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/data/dataset"
	"hone/internal/data/formats"
	"hone/internal/engine"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/learn/batch"
	"hone/internal/recipe"
	"hone/internal/run"
	"hone/internal/run/metrics"
	"hone/internal/toolset"
)

// PairsFile is the pairs that a run of hone dpo learns from.
const PairsFile = "pairs.jsonl"

// ResumeDPO goes on with a stopped run of hone dpo.
func ResumeDPO(ctx context.Context, e Env, path string, b Begun, _ toolset.Source) error {
	j := &Job{Env: e, Verb: "dpo", Path: path, Kept: b.Flags}
	defer j.Close()
	if over, err := j.over(b, dpoStage, "final", j.sayPreferred); over || err != nil {
		return err
	}
	if err := j.GoOn(); err != nil {
		return err
	}
	p, err := readPairs(e.Host, filepath.Join(path, PairsFile), true)
	if err == nil {
		err = toolset.RefuseFindings(j.Host, j.Config.MCP, p.conversations().LintTools(p.rows()), j.Kept.AllowFindings)
	}
	if err != nil {
		return err
	}
	return j.DPO(ctx, p)
}

// DPO is what hone dpo does.
func (e Env) DPO(ctx context.Context, c config.Config, a SFTAsked) error {
	if a.Data == "" {
		return &fault.Error{Code: fault.CodeUsage, What: "no pairs to learn from", Next: "name a file with --data; hone curate export --to pairs makes one of traces"}
	}
	if err := e.Free(a.Output); err != nil {
		return err
	}
	p, err := readPairs(e.Host, a.Data, a.SkipBad)
	if err == nil {
		a.Adapter, err = basemodel.AdapterFolder(e.Host, a.Adapter)
	}
	if err == nil {
		c, err = startFrom(e.Host, c, a.LoRA, a.Adapter, a.Base)
	}
	if err == nil {
		err = toolset.RefuseFindings(e.Host, c.MCP, p.conversations().LintTools(p.rows()), a.AllowFindings)
	}
	if err != nil {
		return err
	}
	j := &Job{Env: e, Verb: "dpo", Path: a.Output, Config: c, Kept: Kept{Adapter: a.Adapter, AllowFindings: a.AllowFindings}}
	defer j.Close()
	if e.DryRun {
		return j.rehearseDPO(p)
	}
	return j.DPO(ctx, p)
}

// pairs are those of a data file or folder that may be learnt from, and those of its split validation.
type pairs struct {
	path             string
	list, validation []formats.Pair
}

func readPairs(h *host.Host, path string, skip bool) (pairs, error) {
	if err := uncurated(path); err != nil {
		return pairs{}, err
	}
	list, report, err := formats.LoadPairs([]string{path})
	if err == nil {
		err = unread(h, &report, skip)
	}
	p := pairs{path: path}
	rows := make([]*dataset.Row, len(list))
	for i := range list {
		rows[i] = &list[i].Chosen // which says the split of both
	}
	holdOut(h, path, rows, nil)
	others := 0
	for _, x := range list {
		switch {
		case x.Chosen.ToLearnFrom():
			p.list = append(p.list, x)
		case x.Chosen.Split == "validation":
			p.validation = append(p.validation, x)
		default:
			others++
		}
	}
	if others > 0 {
		h.Say("left out %s of the split test: what is learnt from cannot be measured on", fault.Count(others, "pair"))
	}
	if err == nil && len(p.list) == 0 {
		err = &fault.Error{Code: fault.CodeUsage, What: "no pair may be learnt from", Where: path, Why: "all are of other splits than train", Next: "give pairs of the split train"}
	}
	return p, err
}

// rows are both sides of the pairs that may be learnt from, the preferred one first.
func (p pairs) rows() (rows []dataset.Row) {
	for _, x := range p.list {
		rows = append(rows, x.Chosen, x.Rejected)
	}
	return rows
}

func (p pairs) conversations() Conversations { return Conversations{path: p.path} }

// dpoPlan is what DPO settles before a device is opened.
type dpoPlan struct {
	SFTPlan
	stage recipe.DPO
	pairs []recipe.PreferencePair // that are learnt from
}

// rendered is a pair as the model is given it.
type rendered struct {
	task  dataset.Row
	sides recipe.PreferencePair
}

// planDPO renders pairs for the base model, and refuses what its positions or the memory do not hold. A pair of which a side is longer than
// the context, or cannot be rendered, is left out and named.
func (j *Job) planDPO(p pairs) (l dpoPlan, err error) {
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	if l.Model, err = j.baseOf(p.path, p.rows()); err != nil {
		return l, err
	}
	usable, err := j.render(freeMemory(), l.Model, p.path, p.list)
	if err != nil {
		return l, err
	}
	measurable, err := j.render(freeMemory(), l.Model, p.path, p.validation)
	if err != nil {
		return l, err
	}
	if len(usable) == 0 {
		return l, &fault.Error{Code: fault.CodeUsage, What: "no pair can be learnt from", Where: p.path,
			Why: "each has a side that is too long, or that cannot be rendered; see above", Next: "raise model.context, list fewer tools, or give other pairs"}
	}
	if len(measurable) == 0 && len(p.validation) > 0 {
		j.Say("note: no pair of the split validation fits model.context, so none is measured on")
	}
	h := holding[rendered]{"dpo", "pair", j.Config.DPO.Validation, j.Config.DPO.Patience, j.Config.Seed, func(x rendered) dataset.Row { return x.task }}
	learnt, held, err := h.part(j.Host, usable, measurable)
	if err != nil {
		return l, err
	}
	l.stage = DPOOf(j.Config)
	l.pairs, l.Sequences = sidesOf(learnt)
	l.stage.Held, l.Held = sidesOf(held)
	var steps []batch.Batch
	for _, picked := range l.stage.SFT.Pass(len(l.pairs), 0) {
		steps = append(steps, recipe.RowsOf(l.pairs, picked))
	}
	c := j.Config
	c.SFT.BatchSize = 2 * c.DPO.BatchSize // rows of a step
	return l, l.fit(j, c, steps)
}

// render renders pairs; those of which a side is nil are left out. It is an error where what is free, in bytes, will not hold them.
func (j *Job) render(free int64, m *basemodel.Model, path string, list []formats.Pair) (out []rendered, err error) {
	held := rendering{one: "pair", all: len(list), free: free}
	for i, x := range list {
		if err := held.refuse(i, path); err != nil {
			return nil, err
		}
		sides := recipe.PreferencePair{Chosen: j.sideOf(m, x.Chosen), Rejected: j.sideOf(m, x.Rejected)}
		if sides.Chosen != nil && sides.Rejected != nil {
			out = append(out, rendered{x.Chosen, sides})
			for _, r := range slices.Concat(sides.Chosen, sides.Rejected) {
				held.tokens += len(r.IDs)
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

// sideOf renders one completion of a pair; nil where the context does not hold it, or where it is no text that the template could have
// been answered with: of sides that failed some hold half a call, which is read as none.
func (j *Job) sideOf(m *basemodel.Model, r dataset.Row) (rows []batch.Sequence) {
	rendered, err := m.Renderer.Sequences(r.Messages, r.Opening, r.Tools)
	if err != nil {
		why, _, _ := strings.Cut(err.Error(), "\n")
		j.Say("left out the pair %s: a side cannot be rendered: %s", where(&r), why)
		return nil
	}
	for _, s := range rendered {
		if len(s.IDs) > j.Config.Model.Context {
			j.Say("left out the pair %s: a side has %d tokens, more than model.context", where(&r), len(s.IDs))
			return nil
		}
		rows = append(rows, batch.Sequence{IDs: s.IDs, Trained: s.Trained})
	}
	return rows
}

func (j *Job) rehearseDPO(p pairs) error {
	l, err := j.planDPO(p)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := engine.CheckDevices(l.Model.Plugin.Path, j.Config.Engine.Devices); err != nil {
		return err
	}
	j.Say("would take %s over %s in %s", fault.Count(l.stage.SFT.NumSteps(len(l.pairs)), "step"), fault.Count(len(l.pairs), "pair"), j.Path)
	return nil
}

// DPO runs what is left of DPO on pairs.
func (j *Job) DPO(ctx context.Context, p pairs) (err error) {
	l, err := j.planDPO(p)
	if err != nil {
		return err
	}
	defer l.Close()
	m := l.Model
	if err := m.Load(basemodel.Loader(j.Config.Engine)); err != nil {
		return err
	}
	j.Say("model %s on %s; %s", m.Spec.Name, m.Engine.Description(), compiling(m.Engine))
	trainer, _, err := trainerOf(j.Host, m, j.Config, j.Kept.Adapter, l.prefix)
	if err != nil {
		return err
	}
	if err := j.Begin(run.Input{Name: PairsFile, Data: formats.EncodePairs(slices.Concat(p.list, p.validation))}); err != nil {
		return err
	}
	d := l.stage
	track := j.StartTracking(j.Config.Metrics, j.Dir, Tracked{Main: d.SFT.Stage, Engine: m.Engine})
	defer func() { track.Close(err) }()
	log := Journal{Dir: j.Dir, Say: j.Say, Track: track}
	saved := newTrainer(trainer, m.Renderer)
	d.Examiner = track.Trainer(saved, metrics.Eval)
	j.Opens(d)
	err = d.Run(ctx, l.pairs, track.Trainer(saved, metrics.Train), nil, log, track.Progress(j.Progress(1)))
	if err := j.Ended(ctx, d.SFT.Stage, err); err != nil {
		return err
	}
	if err := j.takeBest(log, d.SFT.Stage, saved); err != nil {
		return err
	}
	final := j.final()
	if err := basemodel.SaveAdapter(final, trainer, m.Renderer); err != nil {
		return err
	}
	basemodel.SayPrograms(j.Host, m.Engine)
	if err := j.sayMargins(log, d.SFT); err != nil {
		return err
	}
	if err := track.Tell(j.Dir); err != nil {
		return err
	}
	return j.sayPreferred(final)
}

// sayPreferred tells where the adapter is and what can be done with it.
func (j *Job) sayPreferred(final string) error {
	j.Say("adapter: %s", final)
	j.Say("next: hone eval --model %s --compare-base, or hone serve --model %s", final, final)
	return nil
}

// sayMargins tells how the policy's preference moved.
func (j *Job) sayMargins(log Journal, s recipe.SFT) error {
	_, last, err := log.Latest(s.Stage)
	if err != nil || last == 0 {
		return err
	}
	m, ok, err := log.Recorded(s.Stage, last-1)
	if ok && err == nil {
		j.Say("in the last step the preferred side was preferred in %.0f%% of the pairs, by a margin of %.3f (rewards/margins)", 100*m["rewards/accuracies"], m["rewards/margins"])
	}
	return err
}
