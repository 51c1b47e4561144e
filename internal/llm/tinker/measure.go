package tinker

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"hone/internal/learn/batch"
	"hone/internal/learn/objective"
)

// learning is what a step would learn of one row.
type learning struct {
	Row
	slopes []float32 // derivative of the step's loss by each logprob
}

// learn computes a batch's loss and its derivative by each logprob, given those of each row's IDs but the first.
func learn(b batch.Batch, o batch.Objective, rows []Row, logprobs [][]float32) (
	step []learning, stats batch.StepStats, err error,
) {
	loss, err := objective.Of(o)
	if err != nil {
		return nil, stats, err
	}
	columns := loss.Columns()
	stats.NumTrained = b.NumTrained()
	share := 1 / float64(cmp.Or(b.Normaliser, stats.NumTrained))
	for i, r := range b.Rows {
		stats.NumTokens += len(rows[i].IDs)
		own, at, err := tokensOf(r, columns, logprobs[i][len(rows[i].IDs)-len(r.IDs)-1:], share)
		if err != nil {
			return nil, stats, fmt.Errorf("row %d of %d (episode %d of group %d): the loss %s: %w", i+1, len(b.Rows),
				r.Episode, r.Group, o.Loss, err)
		}
		value, slopes := loss.Reference(own)
		stats.Loss += value
		compare(r, at, own, columns, o, &stats)
		step = append(step, learning{Row: Row{IDs: rows[i].IDs}, slopes: make([]float32, len(logprobs[i]))})
		for j, n := range at {
			step[i].slopes[len(rows[i].IDs)-len(r.IDs)+n-1] = float32(slopes[j])
		}
	}
	n, sampled := float64(stats.NumTrained), float64(max(1, stats.NumSampled))
	stats.Mismatch, stats.MeanRatio, stats.Clipped, stats.KL = stats.Mismatch/sampled, stats.MeanRatio/sampled,
		stats.Clipped/n, stats.KL/float64(max(1, stats.NumReferred))
	return step, stats, nil
}

// tokensOf are a row's trained tokens as a loss sees them, and where they are in it. logprobs are of the row's IDs, the
// first one's among them.
func tokensOf(r batch.Sequence, columns []batch.Column, logprobs []float32, share float64) (
	own objective.Row, at []int, err error,
) {
	own.Columns = make([][]float64, len(columns))
	for k, c := range columns {
		if n := len(r.Column(c)); n != len(r.IDs) {
			return own, nil, fmt.Errorf("the column %s has %d numbers for %d tokens", c, n, len(r.IDs))
		}
		for j, trained := range r.Trained {
			if trained {
				own.Columns[k] = append(own.Columns[k], float64(r.Column(c)[j]))
			}
		}
	}
	if n := len(r.Weights); n != 0 && n != len(r.IDs) {
		return own, nil, fmt.Errorf("there are %d weights for %d tokens", n, len(r.IDs))
	}
	for j, trained := range r.Trained {
		if !trained {
			continue
		}
		weight := share
		if r.Weights != nil {
			weight *= float64(r.Weights[j])
		}
		at, own.Logprobs = append(at, j), append(own.Logprobs, float64(logprobs[j]))
		own.Weights = append(own.Weights, weight)
	}
	return own, at, nil
}

// compare adds to the statistics how far the logprobs of a row's trained tokens are from the sampler's, from the old
// ones, and from the reference's.
func compare(
	r batch.Sequence, at []int, own objective.Row, columns []batch.Column, o batch.Objective, stats *batch.StepStats,
) {
	old, reference :=
		slices.Index(columns, batch.ColumnOldLogprobs), slices.Index(columns, batch.ColumnReferenceLogprobs)
	moved := 0. // the mean of the logarithms of ratios
	for i := range at {
		if old >= 0 {
			moved += (own.Logprobs[i] - own.Columns[old][i]) / float64(len(at))
		}
	}
	for i, n := range at {
		logprob := own.Logprobs[i]
		if old >= 0 {
			ratio := logprob - own.Columns[old][i]
			if o.Loss.RatioByRow() {
				ratio = moved
			}
			if o.Clip.Cuts(math.Exp(ratio)) {
				stats.Clipped++
			}
		}
		if reference >= 0 && own.Columns[reference][i] < float64(batch.NoReference) {
			stats.NumReferred++
			stats.KL += objective.Estimate(o.KL.Estimator, logprob-own.Columns[reference][i])
		}
		if r.SamplerLogprobs == nil || r.Scored {
			continue
		}
		delta := logprob - float64(r.SamplerLogprobs[n])
		stats.NumSampled++
		stats.MeanRatio += math.Exp(delta)
		stats.Mismatch += math.Exp(delta) - 1 - delta
		stats.MaxDelta = max(stats.MaxDelta, math.Abs(delta))
	}
}
