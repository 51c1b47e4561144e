package train

import (
	"errors"
	"slices"

	"hone/internal/basemodel"
	"hone/internal/chat"
	"hone/internal/config"
	"hone/internal/data/dataset"
	"hone/internal/fault"
	"hone/internal/host"
	"hone/internal/job"
	"hone/internal/learn/batch"
	"hone/internal/recipe"
)

// Plan is what SFT settles before a device is opened.
type Plan struct {
	Config    config.Config // the job's, with what adapter, rows and memory settle
	Model     *basemodel.Model
	Sequences []batch.Sequence
	Held      []batch.Sequence // that are measured and not learnt from
	Prefix    int              // tokens that all Sequences begin with
	// rows are what Sequences and Held are rendered from
	rows, held []dataset.Row
}

// ResolveSFT finds the base model, renders rows for it, and refuses what its positions or the memory do not hold. No
// device is opened and no weight read. The plan is to be closed, unless there is an error.
func ResolveSFT(j *job.Job, d job.Conversations, rows []dataset.Row) (l Plan, err error) {
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	if l, err = beginPlan(j, d.Path, rows); err != nil {
		return l, err
	}
	c := l.Config
	validation, err := d.Validation()
	if err != nil {
		return l, err
	}
	rows, held, err := job.Holding[dataset.Row]{Stage: job.SFTStage, One: "row", Share: c.SFT.Validation,
		Patience: c.SFT.Patience, Seed: c.Seed, Row: func(r dataset.Row) dataset.Row { return r }}.Part(j.Host,
		rows, validation)
	if err != nil {
		return l, err
	}
	sequences := func(rows []dataset.Row) ([]batch.Sequence, error) {
		return job.SequencesOf(j.Host, l.Model, d.Path, dataset.Unroll(c.SFT.Unroll, rows),
			c.Model.Context, j.SkipBad)
	}
	if l.Sequences, err = sequences(rows); err == nil && len(held) > 0 {
		l.Held, err = sequences(held)
		if why, is := errors.AsType[job.TooLong](err); is && len(validation) > 0 && c.SFT.Patience == 0 {
			j.Say("note: the loss is measured on nothing: of the split validation, %v", why)
			err = nil
		}
	}
	if f, is := err.(*fault.Error); is && f.What == job.Unrendered {
		err = job.OrSkip(err)
	}
	if err != nil {
		return l, err
	}
	for _, choice := range c.SettleEpochs(len(l.Sequences)) {
		j.Say("%s", choice)
	}
	l.rows, l.held, l.Config = rows, held, c
	var steps []batch.Batch
	for _, picked := range l.stage(c).Pass(len(l.Sequences), 0) {
		steps = append(steps, batch.New(pick(l.Sequences, picked)))
	}
	multiple := l.fewPrograms(&c, steps)
	if err = l.Fit(j, c, steps); err != nil && multiple > 0 { // for want of memory, of which longer rows take more
		c, multiple = l.Config, 0
		err = l.Fit(j, c, steps)
	}
	if multiple > 0 {
		j.Say("rows are padded to a multiple of %d tokens: so few steps are not worth compiling programs of more "+
			"lengths (engine.row_multiple)", multiple)
	}
	if l.compiles() {
		l.sayTime(j, steps)
	}
	return l, err
}

// pack puts the rows of steps behind what all begin with, and settles whether they are worth packing: with how many
// tokens, and how many apart.
func (l *Plan) pack(c *config.Config, steps []batch.Batch) (packed, apart int) {
	l.Prefix = l.beforeTask(batch.New(l.Sequences).Prefix)
	for i := range steps {
		steps[i] = steps[i].Shorten(max(1, l.Prefix))
	}
	packed, apart = basemodel.CountPacking(c.Engine, l.Model.Plugin.IsCUDA(), steps)
	if c.Engine.Packing == "auto" && float64(packed) > (1-worthPacking)*float64(apart) {
		c.Engine.Packing = "off"
	}
	return packed, apart
}

// beforeTask is how many tokens of what all rows begin with come before their tasks.
func (l *Plan) beforeTask(prefix []int32) int {
	if len(l.rows) == 0 { // of pairs
		return len(prefix)
	}
	r := l.rows[0]
	to := slices.IndexFunc(r.Messages, func(m chat.Message) bool { return m.Role == chat.User }) + 1
	cut, err := l.Model.BeforeTask(prefix, r.Tools, r.Messages[:to])
	if err != nil { // a template that writes no such prompt
		return len(prefix)
	}
	return len(cut)
}

// beginPlan finds the base model that conversations are rendered for, and settles what it is prompted with.
func beginPlan(j *job.Job, path string, rows []dataset.Row) (Plan, error) {
	if err := basemodel.CheckShards(j.Config.Engine); err != nil {
		return Plan{}, err
	}
	c, trained, err := basemodel.AdapterPrompting(j.Host, j.Config, j.Kept.Adapter, true)
	if err != nil {
		return Plan{}, err
	}
	c.Rollout.System = systemOf(j.Host, path, rows, c.Rollout.System)
	find := c
	if c.Trainer.Away() {
		find.Engine.Backend, find.Engine.Plugin = "go", "" // no device is needed
	}
	m, err := basemodel.Find(j.Host, find, c.Model.Base, trained)
	if err == nil {
		m.WarnUntrainedTokens(c.LoRA, j.Kept.Adapter, true)
	}
	return Plan{Config: c, Model: m}, err
}

// worthPacking is which share of the tokens of a pass rows as trees save at least, where hone chooses: a tree's rows
// are held against each other in attention, and its programs are others, which are compiled too.
const worthPacking = 1. / 3

// Fit settles how the rows are computed: with c's engine, and as the steps of the first pass have them.
func (l *Plan) Fit(j *job.Job, c config.Config, steps []batch.Batch) (err error) {
	if c.Trainer.Away() {
		return l.Model.FitRowsAway(slices.Concat(l.Sequences, l.Held))
	}
	packed, apart := l.pack(&c, steps)
	if l.Config.Engine, err = l.Model.FitRows(c, j.Kept.Adapter, l.Prefix,
		slices.Concat(l.Sequences, l.Held)); err == nil && j.Verbose && l.Config.Engine.Packing == "tree" {
		j.Say("a pass computes %d tokens, not %d: what rows of a step begin with is computed once (engine.packing)",
			packed, apart)
	}
	return err
}

// stage is the one of the rows.
func (l *Plan) stage(c config.Config) recipe.SFT {
	s := job.SFTOf(c)
	s.Held = l.Held
	for _, r := range l.Sequences {
		s.Together = append(s.Together, r.Group)
	}
	return s
}

func pick(rows []batch.Sequence, which []int) (picked []batch.Sequence) {
	for _, i := range which {
		picked = append(picked, rows[i])
	}
	return picked
}

// systemOf is the system message that all rows begin with: what is learnt under it is to be served under it. Where they
// begin with several, or some with none, it is the one given, which those without one take.
func systemOf(h *host.Host, path string, rows []dataset.Row, given string) string {
	own := map[string]int{}
	for _, r := range rows {
		system := given
		if len(r.Messages) > 0 && r.Messages[0].Role == chat.System {
			system = r.Messages[0].Content
		}
		own[system]++
	}
	if len(own) == 1 {
		for system := range own {
			return system
		}
	}
	h.Say("the conversations of %s begin with %d different system messages: requests without one are served under %q",
		path, len(own), given)
	return given
}

// Close gives the model back, where there is one.
func (l Plan) Close() {
	if l.Model != nil {
		l.Model.Close()
	}
}
