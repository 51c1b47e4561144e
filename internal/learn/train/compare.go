package train

import (
	"math"
	"slices"

	"hone/internal/learn/batch"
	"hone/internal/learn/objective"
)

// compare adds to the statistics how far the trainer's logprobs [m] are from the sampler's, from the old ones, and from
// the reference's.
func (x padded) compare(logp []float32, o goal, stats *batch.StepStats) {
	old, reference :=
		slices.Index(o.columns, batch.ColumnOldLogprobs), slices.Index(o.columns, batch.ColumnReferenceLogprobs)
	var ratios []float64 // their logarithms
	if old >= 0 {
		ratios = x.logRatios(logp, x.columns[old], o.settings.Loss.RatioByRow())
	}
	for i, s := range x.sampler[:x.used] {
		if old >= 0 && o.settings.Clip.Cuts(math.Exp(ratios[i])) {
			stats.Clipped++
		}
		if reference >= 0 && x.columns[reference][i] < batch.NoReference {
			stats.NumReferred++
			stats.KL += objective.Estimate(o.settings.KL.Estimator, float64(logp[i])-float64(x.columns[reference][i]))
		}
		if !x.sampled[i] {
			continue
		}
		delta := float64(logp[i]) - float64(s)
		stats.NumSampled++
		stats.MeanRatio += math.Exp(delta)
		stats.Mismatch += math.Exp(delta) - 1 - delta
		stats.MaxDelta = max(stats.MaxDelta, math.Abs(delta))
	}
}

// logRatios are the logarithms of the ratios to the old policy of each token used, or of its row: the mean of its
// tokens'.
func (x padded) logRatios(logp, old []float32, byRow bool) []float64 {
	out, sums, counts := make([]float64, x.used), make([]float64, x.n), make([]float64, x.n)
	for i := range out {
		out[i] = float64(logp[i]) - float64(old[i])
		sums[x.row[i]], counts[x.row[i]] = sums[x.row[i]]+out[i], counts[x.row[i]]+1
	}
	for i := range out {
		if row := x.row[i]; byRow {
			out[i] = sums[row] / counts[row]
		}
	}
	return out
}

// explore adds the entropies [m] to the statistics.
func (x padded) explore(entropies []float32, o goal, stats *batch.StepStats) {
	weights := x.columns[slices.Index(o.columns, batch.ColumnBonus)]
	for i, h := range entropies[:x.used] {
		if x.sampled[i] {
			stats.Entropy += float64(h)
		}
		if weights[i] > 0 {
			stats.EntropyChosen, stats.NumChosen = stats.EntropyChosen+float64(h), stats.NumChosen+1
		}
	}
}
