package stats

import "math"

// Saving is the share of an amount that new needs less than old: 1 minus new's mean by old's, over the scenarios that
// both have it of. Its interval is of the paired bootstrap: clusters are drawn with replacement, each with the rows of
// both systems, as in Compare, and the percentiles of the shares are taken, as far out as Compare takes those of the
// difference.
func Saving(old, new []Row, m Metric, b Bootstrap) Interval {
	pairs, n := pairByCluster(gather(old, m), gather(new, m))
	if len(pairs) == 0 {
		return Interval{}
	}
	out := Interval{N: n, Method: PairedBootstrap, TooFew: len(pairs) < fewClusters}
	if len(pairs) < n {
		out.Clusters = len(pairs)
	}
	var was, is sums
	for _, p := range pairs {
		was.add(p[0])
		is.add(p[1])
	}
	if was.total == 0 {
		return Interval{}
	}
	out.Mean = 1 - is.mean()/was.mean()
	// The share is 0 at (mean - share) of the linearised residual new - (1-share)*old, whose difference resample draws.
	residuals := make([][2]sums, len(pairs))
	for i, p := range pairs {
		residuals[i] = [2]sums{{p[0].total * (1 - out.Mean), p[0].count}, p[1]}
	}
	p := pairing(residuals)
	if p.spread < 1e-24 {
		out.Low, out.High = out.Mean, out.Mean
		return out
	}
	tail := normalTail(-studentQuantile((1+b.level())/2, p.freedom) * math.Sqrt(p.variance/p.spread))
	differences := b.resample(residuals)
	out.Low, out.High =
		out.Mean-quantile(differences, 1-tail)/was.mean(), out.Mean-quantile(differences, tail)/was.mean()
	return out
}

// Requests is how often the model of a system was asked: the turns but for those that an initial call answered.
func Requests() Metric {
	return Metric{"requests", "requests to the model", Amount, "", -1, func(r Row) (float64, float64) {
		return float64(r.NumTurns - r.NumInitialCalls), 1
	}}
}

// Tokens are those that the model of a system read and wrote; what an initial call took of its own model is not among
// them.
func Tokens() Metric {
	return Metric{"tokens", "tokens read and written", Amount, "tokens", -1, func(r Row) (float64, float64) {
		return float64(r.NumPromptTokens + r.NumCompletionTokens), 1
	}}
}
