package recipe

import (
	"context"
	"errors"
	"fmt"

	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/learn/batch"
)

// objective is the loss of a step's tokens.
func (g GRPO) objective() batch.Objective {
	return batch.Objective{Loss: g.Loss, Clip: g.Clip, KL: g.KL, OffPolicy: g.OffPolicy, Temperature: g.Temperature}
}

// rows are those of a step: one an episode, with its advantage.
func (g GRPO) rows(groups []trajectory.Group) (batch.Batch, batch.Stats) {
	return batch.FromGroups(groups, batch.Options{Advantage: g.Advantage, Reduction: g.Loss.Reduction(), Length: g.Length, MaskTruncated: g.MaskTruncated,
		KeepAlike: g.KL.Beta > 0})
}

// compared adds to the rows what the policy is compared with, as it is before the step's first update: its own logprobs, by which the
// difference of its sampler is corrected, and those of the reference.
func (g GRPO) compared(ctx context.Context, rows batch.Batch, trainer Trainer) (batch.Batch, map[string]float64, error) {
	metrics := map[string]float64{}
	if g.Correction.On() {
		old, err := trainer.Score(ctx, rows, g.Temperature)
		if err != nil {
			return rows, nil, err
		}
		var s batch.CorrectionStats
		if rows, s, err = rows.Corrected(g.Correction, old); err != nil {
			return rows, nil, err
		}
		for name, x := range map[string]float64{"min": s.Min, "mean": s.Mean, "max": s.Max} {
			metrics["sampling/importance_sampling_ratio/"+name] = x
		}
		metrics["sampling/importance_sampling_masked"] = s.Masked
	}
	if g.KL.Beta > 0 {
		reference, err := trainer.ScoreReference(ctx, rows, g.Temperature)
		if err != nil {
			return rows, nil, err
		}
		rows = rows.With(batch.ColumnReferenceLogprobs, reference)
	}
	return rows, metrics, nil
}

// update takes the optimiser steps on a batch, unless the rows teach nothing or refused says why the first must not be taken. Where it
// fails, the steps before this one are kept, unless the trainer cannot be put back to where they left it. More are metrics of what the rows
// were compared with.
func (g GRPO) update(ctx context.Context, rows batch.Batch, u batch.Update, step int, trainer Trainer, log Log) (s batch.StepStats, more map[string]float64, refused, err error) {
	if rows.NumTrained() == 0 { // the groups are all alike
		return s, nil, nil, nil
	}
	if rows, more, err = g.compared(ctx, rows, trainer); err != nil {
		return s, nil, nil, stopped(err, g.Stage, step, trainer, log)
	}
	n := max(1, g.Iterations)
	restore := func() error { return nil }
	if n > 1 {
		if restore, err = trainer.Snapshot(); err != nil {
			return s, nil, nil, stopped(err, g.Stage, step, trainer, log)
		}
	}
	var each []batch.StepStats
	for i := range n {
		x, err := trainer.Gradient(ctx, rows, g.objective())
		if err == nil && i == 0 && !(x.Mismatch <= g.MaxMismatch) { // a NaN is refused too
			return x, more, g.mismatch(step, x), nil
		}
		if err == nil {
			x.GradNorm, err = trainer.Apply(u)
		}
		if err != nil {
			if failed := restore(); failed != nil {
				return x, nil, nil, errors.Join(err, failed)
			}
			return x, nil, nil, stopped(err, g.Stage, step, trainer, log)
		}
		each = append(each, x)
	}
	return ofIterations(each), more, nil, nil
}

// ofIterations are the statistics of optimiser steps on one batch: what was computed is added up, loss and gradient's norm are means, how far
// trainer and sampler are apart is the first's, as the policy has not moved yet, and the share of clipped ratios and the divergence are the last's.
func ofIterations(each []batch.StepStats) batch.StepStats {
	s, n := each[0], float64(len(each))
	for _, x := range each[1:] {
		s.Loss, s.GradNorm = s.Loss+x.Loss, s.GradNorm+x.GradNorm
		s.NumTokens, s.NumPadded = s.NumTokens+x.NumTokens, s.NumPadded+x.NumPadded
		s.NumPrograms, s.CompileSeconds = s.NumPrograms+x.NumPrograms, s.CompileSeconds+x.CompileSeconds
	}
	last := each[len(each)-1]
	s.Loss, s.GradNorm, s.Clipped, s.KL = s.Loss/n, s.GradNorm/n, last.Clipped, last.KL
	return s
}

func (g GRPO) mismatch(step int, s batch.StepStats) error {
	return &fault.Error{Code: fault.CodeError, What: "the trainer does not see the policy that was sampled from",
		Where: fmt.Sprintf("%s step %d", g.Stage, step),
		Why: fmt.Sprintf("the mean mismatch KL is %.2g nats a token, the bound is %.2g; the largest difference of a logprob is %.2g",
			s.Mismatch, g.MaxMismatch, s.MaxDelta),
		Next: "the steps before are kept, and hone runs show names their checkpoint; engine.dtype: f32 has sampler and trainer round alike"}
}
