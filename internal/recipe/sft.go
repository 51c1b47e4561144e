package recipe

import (
	"context"
	"fmt"

	"hone/internal/learn/batch"
)

// SFT is supervised fine-tuning on demonstrations: each step lowers the mean negative log-likelihood of the assistant's
// tokens over one random batch. Batches are random and never sorted by length, which halves what is learnt from few
// rows; within a step rows are sorted to save padding, which changes nothing.
type SFT struct {
	Stage           string // name in the run directory: "sft"
	Epochs          int
	BatchSize       int
	Rate            float64
	CheckpointEvery int // steps
	Seed            uint64
}

// NumSteps is the number of optimiser steps over n rows.
func (s SFT) NumSteps(n int) int { return s.Epochs * ((n + s.BatchSize - 1) / s.BatchSize) }

// Run trains on rows, resuming after the newest checkpoint of the stage, and leaves the adapter published.
func (s SFT) Run(ctx context.Context, rows []batch.Sequence, trainer Trainer, log Log, progress Progress) error {
	start, err := resume(s.Stage, trainer, log)
	if err != nil {
		return err
	}
	total := s.NumSteps(len(rows))
	perEpoch := total / s.Epochs
	for step := start; step < total; step++ {
		order := shuffled(len(rows), s.Seed, step/perEpoch)
		first := step % perEpoch * s.BatchSize
		var picked []batch.Sequence
		for _, i := range order[first:min(first+s.BatchSize, len(rows))] {
			picked = append(picked, rows[i])
		}
		rate := Rate(s.Rate, step, total)
		stats, err := trainer.Supervised(ctx, batch.New(picked), rate)
		if err != nil {
			return err
		}
		metrics := map[string]float64{"loss": stats.Loss, "grad_norm": stats.GradNorm, "learning_rate": rate,
			"num_tokens": float64(stats.NumTokens)}
		if err := log.Metrics(s.Stage, step, metrics); err != nil {
			return err
		}
		if (step+1)%s.CheckpointEvery == 0 || step+1 == total {
			if err := log.Checkpoint(s.Stage, step+1, trainer.Save); err != nil {
				return err
			}
		}
		progress(s.Stage, step+1, total, fmt.Sprintf("loss %.3f", stats.Loss))
	}
	return trainer.Publish()
}
