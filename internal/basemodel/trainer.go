package basemodel

import (
	"context"
	"slices"
	"time"

	"hone/internal/config"
	"hone/internal/host"
	"hone/internal/learn/batch"
	"hone/internal/learn/model"
	"hone/internal/learn/train"
	"hone/internal/recipe"
	"hone/internal/text/render"
)

// CompileNote is said before the silence in which an engine compiles; each program that takes long is told of when it
// is.
const CompileNote = "programs that are not kept yet are compiled"

// Rows are those of a trainer. Prefix is what all of them share: steps that shared more than that by chance would each
// be compiled anew. Varying tells that they share more on purpose, each step in its own way. Room is how many tokens
// behind the prefix one has at most, of episodes, of which nobody knows yet how long they will be; 0: the rows are
// known.
type Rows struct {
	Prefix  int
	Varying bool
	Room    int
}

// OpenTrainer has the adapter in folder, or a fresh one where that is empty.
func OpenTrainer(
	h *host.Host, m *Model, c config.Config, folder string, rows Rows,
) (*Trainer, model.LoRA, error) {
	state, lora, err := adapterOf(m, c, folder)
	if err != nil {
		return nil, lora, err
	}
	o := train.Options{
		LoRA:            lora,
		MicroBatch:      c.Engine.MicroBatch,
		Recompute:       RecomputeOf(c.Engine),
		KeepTokens:      c.Engine.KeepTokens,
		TreeTokens:      TreeTokensOf(c.Engine),
		RowMultiple:     c.Engine.RowMultiple,
		MaxPrefix:       max(1, rows.Prefix),
		VaryingPrefix:   rows.Varying,
		EightBitMoments: c.Engine.Moments == "8bit",
		Dropout:         c.LoRA.Dropout,
		Seed:            c.Seed,
		Notice:          func(text string) { h.Say("%s", text) },
	}
	if rows.Room > 0 {
		o.Lengths, o.LengthSteps = EpisodeLengths(m.Spec, c, m.Plugin.IsCUDA(), rows.Room)
	}
	h.Opens(o)
	h.Opens(state)
	t, err := train.New(m.Engine, m.Spec, m.Weights, state, o)
	if err != nil {
		return nil, lora, err
	}
	return newTrainer(t, m), lora, nil
}

// adapterOf is what a trainer begins with: the adapter in folder, or a fresh one.
func adapterOf(m *Model, c config.Config, folder string) (state train.State, lora model.LoRA, err error) {
	if folder != "" {
		lora, state.Adapter, err = model.LoadPEFT(folder, m.Spec)
		state.M, state.V = make([]float32, len(state.Adapter)), make([]float32, len(state.Adapter))
		return state, lora, err
	}
	if lora, err = m.LoRA(c.LoRA); err != nil {
		return state, lora, err
	}
	state = train.NewState(m.Spec, lora, c.Seed)
	return state, lora, lora.StartRows(m.Spec, m.File, state.Adapter)
}

// Steps takes the optimiser steps: a train.Trainer on this machine, or a tinker.Trainer at a server.
type Steps interface {
	recipe.Trainer
	PolicyVersion() int // optimiser steps taken
	// SaveAdapter writes the adapter alone, in PEFT's form, into a folder.
	SaveAdapter(dir string) error
}

// Trainer is one as a run has it: it saves what its adapter is prompted with, and tells of its work.
type Trainer struct {
	Steps
	*Spent
	renderer render.Renderer
	tell     []Observer
}

func newTrainer(s Steps, m *Model) *Trainer {
	spent := &Spent{}
	return &Trainer{Steps: s, Spent: spent, renderer: m.Renderer, tell: []Observer{spent.observe}}
}

// Work is what a trainer does.
type Work int

// The kinds of work: an optimiser step or its gradient; logprobs and entropies of the policy as it is; logprobs of the
// policy that is kept for comparison.
const (
	Learning Work = iota
	Scoring
	Referring
)

// Observer is told that work begins. What it returns is called at its end, with the tokens that were computed for a
// gradient.
type Observer func(Work) (end func(tokens int))

// Spent is what learning took.
type Spent struct {
	Seconds float64
	Tokens  int // computed, a shared prefix counted once a step
}

// observe implements Observer.
func (s *Spent) observe(w Work) func(tokens int) {
	began := time.Now()
	return func(tokens int) {
		if w == Learning {
			s.Seconds, s.Tokens = s.Seconds+time.Since(began).Seconds(), s.Tokens+tokens
		}
	}
}

// With is the same trainer, which tells one observer more.
func (l *Trainer) With(o Observer) *Trainer {
	also := *l
	also.tell = append(slices.Clone(l.tell), o)
	return &also
}

// begin tells all observers.
func (l *Trainer) begin(w Work) (end func(tokens int)) {
	var ends []func(int)
	for _, o := range l.tell {
		ends = append(ends, o(w))
	}
	return func(tokens int) {
		for _, end := range ends {
			end(tokens)
		}
	}
}

// Save implements recipe.Trainer.
func (l *Trainer) Save(dir string) error { return SaveState(dir, l.Steps, l.renderer) }

// Prepare implements recipe.Trainer.
func (l *Trainer) Prepare(batches []batch.Batch, o batch.Objective) {
	defer l.begin(Learning)(0)
	l.Steps.Prepare(batches, o)
}

// Gradient implements recipe.Trainer.
func (l *Trainer) Gradient(ctx context.Context, b batch.Batch, o batch.Objective) (batch.StepStats, error) {
	end := l.begin(Learning)
	stats, err := l.Steps.Gradient(ctx, b, o)
	end(stats.NumTokens)
	return stats, err
}

// Apply implements recipe.Trainer.
func (l *Trainer) Apply(u batch.Update) (float64, error) {
	defer l.begin(Learning)(0)
	return l.Steps.Apply(u)
}

// Score implements recipe.Trainer.
func (l *Trainer) Score(ctx context.Context, b batch.Batch, temperature float64) ([][]float32, error) {
	defer l.begin(Scoring)(0)
	return l.Steps.Score(ctx, b, temperature)
}

// Entropies implements recipe.Trainer.
func (l *Trainer) Entropies(ctx context.Context, b batch.Batch, temperature float64) ([][]float32, error) {
	defer l.begin(Scoring)(0)
	return l.Steps.Entropies(ctx, b, temperature)
}

// ScoreReference implements recipe.Trainer.
func (l *Trainer) ScoreReference(ctx context.Context, b batch.Batch, temperature float64) ([][]float32, error) {
	defer l.begin(Referring)(0)
	return l.Steps.ScoreReference(ctx, b, temperature)
}

// Measure is what a row of SFT takes, and what it took before to compile the rows' programs, in seconds: the gradient
// of some is computed and not applied, so that nothing is learnt from it.
func (l *Trainer) Measure(ctx context.Context, rows []batch.Sequence) (row, compiling float64, err error) {
	l.CompileStats()
	began := time.Now()
	if _, err := l.Steps.Gradient(ctx, batch.New(rows), batch.Objective{}); err != nil {
		return 0, 0, err
	}
	_, compiling = l.CompileStats()
	return (time.Since(began).Seconds() - compiling) / float64(len(rows)), compiling, nil
}
