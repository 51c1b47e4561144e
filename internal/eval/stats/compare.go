package stats

import (
	"math"
	"slices"
)

// fewClusters is below how many clusters a resample takes too few values for its percentiles to be an interval.
const fewClusters = 12

// Compare returns a metric of new minus that of old, over the scenarios that both have it of: a scenario that is hard
// for both then does not blur the difference. The order of rows does not matter. Each scenario counts alike, as in
// Estimate, however many of its episodes either system lost. Episodes are not paired by their repeats: one that the
// other system lacks still tells of its scenario.
//
// The interval is of the paired bootstrap: clusters (a family of scenarios, or a scenario that is in none) are drawn
// with replacement, each with the rows of both systems, and the percentiles of the differences are taken. Percentiles
// at 2.5 and 97.5 cover too little: 92 to 96% in our simulations, the least with few families of unequal size. So they
// are taken further out, at
//
//	Phi(-t sqrt(v / w)) and 1 minus that,  t: quantile of Student's t with the clusters' freedom, v and w: variances below
//
// the expanded percentiles of Hesterberg 2015 ("What Teachers Should Know about the Bootstrap", arXiv 1411.5279) with
// freedom and variance for clusters of unequal size in the place of n - 1 and n / (n - 1). They cover 95 to 96%, for
// rates near 0, 0.5 and 1, with several repeats and with families; more where outcomes are so rare that hardly a
// scenario differs. BCa intervals cover 91 to 95%, bootstrap-t 89 to 95%.
//
// Of fewer than 12 clusters the interval is mean +- t sqrt(v), by the same t and v. Where no cluster differs from
// another there is no variance to go by, and of a share the interval is Bonett and Price's (2012, "Adjusted Wald
// confidence interval for a difference of binomial proportions based on paired data"): that of the clusters and two
// more, one won and one lost. Of one cluster of a share nothing is known, and the interval is all of [-1, 1].
//
// Where fewer than 6 clusters differ between the systems they are TooFew, at 95%: were the systems alike, 5 that differ
// would all favour one of them in 2 / 2^5 = 6% of the comparisons, so none that is right in 95% can call that a
// difference (the sign test). Intervals then cover 98 to 99%, and no other can do better.
func Compare(old, new []Row, m Metric, b Bootstrap) Interval {
	pairs, n := pairByCluster(gather(old, m), gather(new, m))
	return compare(pairs, n, m.Scale, b)
}

// compare puts an interval around the difference of n scenarios in clusters.
func compare(pairs [][2]sums, n int, scale Scale, b Bootstrap) Interval {
	if len(pairs) == 0 {
		return Interval{}
	}
	out := Interval{N: n, Method: PairedStudent}
	if len(pairs) < n {
		out.Clusters = len(pairs)
	}
	p := pairing(pairs)
	out.Mean, out.TooFew = p.difference, len(pairs) < 2
	reach := math.Inf(1)
	if scale != Amount {
		reach = 1
		out.TooFew = tooFewDiffer(pairs, b)
	}
	t := studentQuantile((1+b.level())/2, p.freedom)
	switch {
	case len(pairs) == 1:
		out.Low, out.High = out.Mean, out.Mean
		if scale != Amount {
			out.Low, out.High = -1, 1
		}
		return out
	case p.spread < 1e-24:
		if out.Low, out.High = out.Mean, out.Mean; scale != Amount {
			out.Low, out.High = unanimousInterval(out.Mean, len(pairs), b)
		}
	case len(pairs) < fewClusters:
		half := t * math.Sqrt(p.variance)
		out.Low, out.High = out.Mean-half, out.Mean+half
	default:
		out.Method = PairedBootstrap
		differences := b.resample(pairs)
		tail := normalTail(-t * math.Sqrt(p.variance/p.spread))
		out.Low, out.High = quantile(differences, tail), quantile(differences, 1-tail)
	}
	out.Low, out.High = max(-reach, min(out.Low, out.Mean)), min(reach, max(out.High, out.Mean))
	return out
}

// tooFewDiffer reports whether a sign test of the clusters in which two systems differ finds nothing, even if all
// favour one of them.
func tooFewDiffer(pairs [][2]sums, b Bootstrap) bool {
	differ := 0
	for _, p := range pairs {
		if math.Abs(p[0].total*p[1].count-p[1].total*p[0].count) > 1e-12*p[0].count*p[1].count {
			differ++
		}
	}
	return math.Pow(2, float64(1-differ)) > 1-b.level()
}

// pairedSums are what intervals of a difference are made of.
type pairedSums struct {
	difference float64
	spread     float64 // variance of the resamples' differences: the sum of squared residuals
	variance   float64 // the same, each square divided by 1 minus its cluster's leverage
	freedom    float64
}

// pairing linearises the difference of two ratios: a cluster's residual is what it adds to the difference beyond its
// share of the rows, (total - mean x count) / all counts of the new system minus that of the old one.
func pairing(pairs [][2]sums) pairedSums {
	var was, is sums
	for _, p := range pairs {
		was.add(p[0])
		is.add(p[1])
	}
	out := pairedSums{difference: is.mean() - was.mean()}
	leverages := make([]float64, len(pairs))
	for i, p := range pairs {
		residual := (p[1].total-is.mean()*p[1].count)/is.count - (p[0].total-was.mean()*p[0].count)/was.count
		leverages[i] = (p[1].count/is.count + p[0].count/was.count) / 2
		out.spread += residual * residual
		out.variance += residual * residual / (1 - leverages[i])
	}
	out.freedom = freedom(leverages)
	return out
}

// freedom is Bell and McCaffrey's number of degrees of freedom of the variance among clusters, each residual over the
// root of 1 minus its cluster's leverage (2002, "Bias reduction in standard errors for linear regression with
// multi-stage samples"): the one that gives a chi-squared variable its mean and variance, were rows independent. Of
// equal clusters it is their number less 1. Leverages are the clusters' shares of all rows, which sum to 1. It is 1 of
// one cluster.
func freedom(leverages []float64) float64 {
	if len(leverages) < 2 {
		return 1
	}
	// With c = 1 / (1 - h) and cluster totals of variance h, the quadratic form has the matrix
	// sqrt(c_g c_k) (h_g [g = k] - h_g h_k), whose trace and whose square's trace are these sums.
	var trace, squares, off float64
	for _, h := range leverages {
		c := 1 / (1 - h)
		trace += c * (h - h*h)
		squares += c * c * ((h-h*h)*(h-h*h) - h*h*h*h)
		off += c * h * h
	}
	return trace * trace / (squares + off*off)
}

// unanimousInterval is the interval of n differences that are all alike.
func unanimousInterval(difference float64, n int, b Bootstrap) (low, high float64) {
	m := float64(n + 2)
	centre := difference * float64(n) / m
	variance := (float64(n)*math.Pow(difference-centre, 2) + math.Pow(1-centre, 2) + math.Pow(-1-centre, 2)) / m
	half := studentQuantile((1+b.level())/2, m-1) * math.Sqrt(variance/m)
	return centre - half, centre + half
}

// resample draws as many clusters as there are with replacement, many times, and returns the sorted differences.
func (b Bootstrap) resample(pairs [][2]sums) []float64 {
	num := b.NumResamples
	if num == 0 {
		num = 10_000
	}
	out := make([]float64, num)
	n := len(pairs)
	differences := evenly(pairs)
	for r := range out {
		state := mix(mix(b.Seed+0x9e3779b97f4a7c15) ^ uint64(r))
		var was, is sums
		sum := 0.0
		for k := 0; k < n; k += 2 {
			i, j := places(&state, n)
			if k+1 == n {
				j = n // nothing
			}
			if differences != nil {
				sum += differences[i] + differences[j]
				continue
			}
			two := [2]int{i, j}
			for _, at := range two[:min(2, n-k)] {
				p := &pairs[at]
				was.total, was.count = was.total+p[0].total, was.count+p[0].count
				is.total, is.count = is.total+p[1].total, is.count+p[1].count
			}
		}
		if out[r] = sum / float64(n); differences == nil {
			out[r] = is.mean() - was.mean()
		}
	}
	slices.Sort(out)
	return out
}

// evenly are the clusters' differences, and a 0 behind them, where all clusters count as much, in both systems: then a
// resample's difference is their mean, which is found in a third of the time. It is nil elsewhere.
func evenly(pairs [][2]sums) []float64 {
	out := make([]float64, len(pairs)+1)
	for i, p := range pairs {
		if p[0].count != pairs[0][0].count || p[1].count != pairs[0][0].count {
			return nil
		}
		out[i] = p[1].mean() - p[0].mean()
	}
	return out
}
