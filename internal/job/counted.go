package job

import (
	"context"
	"time"

	"hone/internal/basemodel"
	"hone/internal/config"
	"hone/internal/host"
	"hone/internal/learn/batch"
	"hone/internal/learn/model"
	"hone/internal/learn/train"
	"hone/internal/text/render"
)

// trainerOf has the adapter in folder, or a fresh one where that is empty. prefix is what all rows share: steps that shared
// more than that by chance would each be compiled anew.
func trainerOf(h *host.Host, m *basemodel.Model, c config.Config, folder string, prefix int) (*train.Trainer, model.LoRA, error) {
	lora := basemodel.LoRAOf(c.LoRA)
	state := train.NewState(m.Spec, lora, c.Seed)
	if folder != "" {
		var err error
		if lora, state.Adapter, err = model.LoadPEFT(folder, m.Spec); err != nil {
			return nil, lora, err
		}
		state.M, state.V = make([]float32, len(state.Adapter)), make([]float32, len(state.Adapter))
	}
	o := train.Options{LoRA: lora, MicroBatch: c.Engine.MicroBatch, Recompute: basemodel.RecomputeOf(c.Engine), TreeTokens: basemodel.TreeTokensOf(c.Engine),
		RowMultiple: c.Engine.RowMultiple, MaxPrefix: max(1, prefix), EightBitMoments: c.Engine.Moments == "8bit",
		Dropout: c.LoRA.Dropout, Seed: c.Seed, Notice: func(text string) { h.Say("%s", text) }}
	h.Opens(o)
	h.Opens(state)
	t, err := train.New(m.Engine, m.Spec, m.Weights, state, o)
	return t, lora, err
}

// Trainer is one that counts what training costs, and saves what its adapter is prompted with.
type Trainer struct {
	*train.Trainer
	renderer render.Renderer
	Seconds  float64
	Tokens   int // computed, a shared prefix counted once a step
}

// Save implements recipe.Trainer.
func (l *Trainer) Save(dir string) error { return basemodel.SaveState(dir, l.Trainer, l.renderer) }

// Gradient implements recipe.Trainer.
func (l *Trainer) Gradient(ctx context.Context, b batch.Batch, o batch.Objective) (batch.StepStats, error) {
	began := time.Now()
	stats, err := l.Trainer.Gradient(ctx, b, o)
	l.Seconds += time.Since(began).Seconds()
	l.Tokens += stats.NumTokens
	return stats, err
}

// Apply implements recipe.Trainer.
func (l *Trainer) Apply(u batch.Update) (float64, error) {
	began := time.Now()
	norm, err := l.Trainer.Apply(u)
	l.Seconds += time.Since(began).Seconds()
	return norm, err
}

// Measure is what a row of SFT takes, and what it took before to compile the rows' programs, in seconds: the gradient of some is computed and not
// applied, so that nothing is learnt from it.
func (l *Trainer) Measure(ctx context.Context, rows []batch.Sequence) (row, compiling float64, err error) {
	l.Made()
	began := time.Now()
	if _, err := l.Trainer.Gradient(ctx, batch.New(rows), batch.Objective{}); err != nil {
		return 0, 0, err
	}
	_, compiling = l.Made()
	return (time.Since(began).Seconds() - compiling) / float64(len(rows)), compiling, nil
}
