package recipe

import (
	"context"
	"fmt"
	"time"

	"hone/internal/fault"
	"hone/internal/learn/batch"
)

// SFT is supervised fine-tuning on demonstrations: each step lowers the mean negative log-likelihood of the assistant's
// tokens over one batch, at temperature 1 whatever rollouts are sampled at. Batches are random, not of rows of like length, which are often of one kind; within a step the
// trainer sorts rows to save padding, which changes nothing.
type SFT struct {
	Stage           string // name in the run directory: "sft"
	Epochs          int
	BatchSize       int
	Optimizer       Optimizer
	Steps           int // instead of Epochs: as many passes over the rows as they take
	CheckpointEvery int // steps; 0: at the end only
	Seed            uint64
}

// NumSteps is the number of optimiser steps over n rows.
func (s SFT) NumSteps(n int) int {
	if s.Steps > 0 {
		return s.Steps
	}
	return s.Epochs * s.perEpoch(n)
}

func (s SFT) perEpoch(n int) int { return (n + s.BatchSize - 1) / s.BatchSize }

// Run trains on rows, resuming after the newest checkpoint of the stage, and leaves the adapter published; a nil publisher says that
// nobody samples.
func (s SFT) Run(ctx context.Context, rows []batch.Sequence, trainer Trainer, publisher Publisher, log Log, progress Progress) error {
	if len(rows) == 0 || s.BatchSize < 1 || s.NumSteps(len(rows)) < 1 {
		return &fault.Error{Code: fault.CodeUsage, What: "there is nothing to train on", Where: s.Stage,
			Why:  fmt.Sprintf("%s in batches of %d, for %d epochs or %s", fault.Count(len(rows), "row"), s.BatchSize, s.Epochs, fault.Count(s.Steps, "step")),
			Next: "give at least one row, and one step"}
	}
	start, err := resume(s.Stage, trainer, log)
	if err != nil {
		return err
	}
	clock := clock{began: time.Now()}
	total := s.NumSteps(len(rows))
	perEpoch := s.perEpoch(len(rows))
	for step := start; step < total; step++ {
		order := shuffled(len(rows), s.Seed, step/perEpoch)
		first := step % perEpoch * s.BatchSize
		var picked []batch.Sequence
		for _, i := range order[first:min(first+s.BatchSize, len(rows))] {
			picked = append(picked, rows[i])
		}
		update := s.Optimizer.Update(step, total)
		stats, err := trainer.Gradient(ctx, batch.New(picked), batch.Objective{})
		if err == nil {
			stats.GradNorm, err = trainer.Apply(update)
		}
		if err != nil {
			return stopped(err, s.Stage, step, trainer, log)
		}
		metrics := map[string]float64{"loss": stats.Loss, "grad_norm": stats.GradNorm, "learning_rate": update.Rate,
			"num_tokens": float64(stats.NumTokens), "padding": padding(stats)}
		clock.step(metrics, stats)
		if err := log.Metrics(s.Stage, step, metrics); err != nil {
			return stopped(err, s.Stage, step+1, trainer, log) // the step is taken, whatever is known of it
		}
		if checkpointDue(step, total, s.CheckpointEvery) {
			if err := log.Checkpoint(s.Stage, step+1, trainer.Save); err != nil {
				return err
			}
		}
		progress(s.Stage, step+1, total, fmt.Sprintf("loss %.3f", stats.Loss))
	}
	return finish(s.Stage, publisher, log)
}
