package recipe

import (
	"context"
	"errors"

	"hone/internal/episode/trajectory"
	"hone/internal/learn/batch"
)

// objective is the loss of a step's tokens.
func (r *running) objective() batch.Objective {
	return batch.Objective{Loss: r.Loss, Clip: r.Clip, KL: r.KL, OffPolicy: r.OffPolicy, Temperature: r.Temperature, Bonus: r.exploring.bonus()}
}

// ofAll reports whether tokens without an advantage have a gradient too.
func (g GRPO) ofAll() bool { return g.KL.Beta > 0 || g.Entropy.On() }

// chooses reports whether the policy learns at a share of the tokens alone, by their entropy.
func (g GRPO) chooses() bool { return g.TopEntropy > 0 && g.TopEntropy < 1 }

// rows are those of a step: one an episode, with its advantage, and those of earlier successes.
func (g GRPO) rows(groups []trajectory.Group, earlier ...batch.Earlier) (batch.Batch, batch.Stats) {
	return batch.FromGroups(groups, batch.Options{Earlier: earlier, Advantage: g.Advantage, Credit: g.Credit, Negative: g.Negative, Reduction: g.Loss.Reduction(), Length: g.Length, MaskTruncated: g.MaskTruncated,
		KeepAlike: g.ofAll() || g.chooses()})
}

// compared adds to the rows what the policy is compared with, as it is before the step's first update: its own logprobs, by which the
// difference of its sampler is corrected, and those of the reference.
func (g GRPO) compared(ctx context.Context, rows batch.Batch, trainer Trainer) (batch.Batch, map[string]float64, error) {
	metrics := map[string]float64{}
	if g.Correction.On() || g.Loss == batch.LossGSPO {
		old, err := trainer.Score(ctx, rows, g.Temperature)
		if err != nil {
			return rows, nil, err
		}
		if rows, err = g.corrected(rows, old, metrics); err != nil {
			return rows, nil, err
		}
	}
	if g.KL.Beta > 0 {
		reference, err := trainer.ScoreReference(ctx, rows, g.Temperature)
		if err != nil {
			return rows, nil, err
		}
		rows = rows.With(batch.ColumnReferenceLogprobs, reference)
	}
	if g.chooses() {
		entropies, err := trainer.Entropies(ctx, rows, g.Temperature)
		if err != nil {
			return rows, nil, err
		}
		if rows, err = rows.TopEntropy(entropies, g.TopEntropy); err != nil {
			return rows, nil, err
		}
		if !g.ofAll() {
			rows = rows.WithAdvantage()
		}
	}
	if g.Entropy.On() {
		rows = rows.Exploring()
	}
	return rows, metrics, nil
}

// corrected takes ratios against the trainer's own old logprobs. GSPO does so without a correction too: its usual bounds (3e-4) are as small
// as what sampler and trainer round apart, so rows would be clipped before the policy has moved.
func (g GRPO) corrected(rows batch.Batch, old [][]float32, metrics map[string]float64) (batch.Batch, error) {
	if !g.Correction.On() {
		return rows.With(batch.ColumnOldLogprobs, old), nil
	}
	rows, s, err := rows.Correct(g.Correction, old)
	if err != nil {
		return rows, err
	}
	for name, x := range map[string]float64{"min": s.Min, "mean": s.Mean, "max": s.Max} {
		metrics["sampling/importance_sampling_ratio/"+name] = x
	}
	metrics["sampling/importance_sampling_masked"] = s.Masked
	return rows, nil
}

// update takes the optimiser steps on the batch that groups became, unless the rows teach nothing or refused says why the first must not be taken. Where
// it fails, the steps before this one are kept, unless the trainer cannot be put back to where they left it. More are metrics of what the rows
// were compared with.
func (r *running) update(ctx context.Context, rows batch.Batch, groups []trajectory.Group, u batch.Update, step int, stale bool) (s batch.StepStats, more map[string]float64, refused, err error) {
	trainer := r.trainer
	if rows.NumTrained() > 0 {
		if rows, more, err = r.compared(ctx, rows, trainer); err != nil {
			return s, nil, nil, stopped(err, r.Stage, step, trainer, r.log)
		}
	}
	if rows.NumTrained() == 0 { // the groups are all alike
		return s, more, nil, nil
	}
	parts, passes := rows.Split(r.Minibatches), max(1, r.Iterations)
	restore := func() error { return nil }
	if passes*len(parts) > 1 {
		if restore, err = trainer.Snapshot(); err != nil {
			return s, nil, nil, stopped(err, r.Stage, step, trainer, r.log)
		}
	}
	first, told, refused, err := r.guarded(ctx, &parts, groups, step, stale, more)
	if err != nil {
		return s, nil, nil, stopped(err, r.Stage, step, trainer, r.log)
	}
	if refused != nil {
		return first, more, refused, nil
	}
	each := make([]batch.StepStats, 0, passes*len(parts))
	for i := range passes * len(parts) {
		x, err := first, error(nil)
		if i > 0 {
			x, err = trainer.Gradient(ctx, parts[i%len(parts)], r.objective())
		}
		if err == nil {
			x.GradNorm, err = trainer.Apply(u)
		}
		if err != nil {
			if failed := restore(); failed != nil {
				return x, nil, nil, errors.Join(err, failed)
			}
			return x, nil, nil, stopped(err, r.Stage, step, trainer, r.log)
		}
		each = append(each, x)
	}
	if told != "" {
		r.log.Notice(told)
	}
	return ofIterations(each), more, nil, nil
}

// ofIterations are the statistics of optimiser steps on one batch: what was computed is added up, loss, gradient's norm and entropy are means, how far
// trainer and sampler are apart is the first's, as the policy has not moved yet, and the share of clipped ratios and the divergence are the last's.
func ofIterations(each []batch.StepStats) batch.StepStats {
	s, n := each[0], float64(len(each))
	s.EntropyChosen *= float64(s.NumChosen)
	for _, x := range each[1:] {
		s.Loss, s.GradNorm, s.Entropy = s.Loss+x.Loss, s.GradNorm+x.GradNorm, s.Entropy+x.Entropy
		s.EntropyChosen, s.NumChosen = s.EntropyChosen+x.EntropyChosen*float64(x.NumChosen), s.NumChosen+x.NumChosen
		s.NumTokens, s.NumPadded = s.NumTokens+x.NumTokens, s.NumPadded+x.NumPadded
	}
	s.EntropyChosen /= float64(max(1, s.NumChosen)) // parts choose more tokens or fewer
	last := each[len(each)-1]
	s.Loss, s.GradNorm, s.Entropy, s.Clipped, s.KL = s.Loss/n, s.GradNorm/n, s.Entropy/n, last.Clipped, last.KL
	return s
}
