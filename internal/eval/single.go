package eval

import "math"

// Estimate returns a metric of some rows with an interval. No rows give zeros.
//
// Each scenario counts alike: its total and its count are divided by how many episodes it has. A sum over all episodes would give a
// scenario that kept four episodes four times the weight of one that lost three of them to a server. A system whose servers fail in hard
// scenarios would seem better than it is. That an episode is lost must be no matter of what the model did, else nothing mends it:
// see System.WorstCase. Of a share of calls it stays a share of calls: two calls an episode weigh twice as much as one.
//
// That of a share is Wilson's score interval (Wilson 1927, without continuity correction) for the effective number of observations
//
//	n = mean (1 - mean) / v (z / t)^2,  v: variance among clusters, t: of its freedom, see Compare
//
// (Korn and Graubard 1998, "Confidence intervals for proportions with small expected number of positive counts"): repeats of a
// scenario, and scenarios of a family, are less evidence the more alike they are. It is at least Kish's number for
// clusters that always agree, (sum m)^2 / (sum m^2): no rows are less evidence than that. Where successes are rare, few clusters show how
// alike their rows are, and v alone covers down to 86% of families; so two more clusters that always agree are added to it, and
// it covers 96% in the mean of our simulations, and at least 90%. An amount has mean +- t sqrt(v); of one cluster nothing is known, and both ends are the mean.
func Estimate(rows []Row, m Metric, b Bootstrap) Interval {
	return estimate(gather(rows, m), m.Scale, b)
}

func estimate(units map[string]*unit, scale Scale, b Bootstrap) Interval {
	cells, n := merge(units)
	return around(cells, n, scale, b)
}

// around puts an interval around the mean of n scenarios in clusters.
func around(cells []sums, n int, scale Scale, b Bootstrap) Interval {
	if len(cells) == 0 {
		return Interval{}
	}
	out := Interval{N: n, Method: Wilson}
	if len(cells) < n {
		out.Clusters = len(cells)
	}
	var all sums
	squares := 0.0
	for _, c := range cells {
		all.add(c)
		squares += c.count * c.count
	}
	out.Mean = all.mean()
	variance, df := among(cells, all)
	t := studentQuantile((1+b.level())/2, df)
	if scale == Amount {
		half := t * math.Sqrt(variance)
		out.Low, out.High, out.Method = out.Mean-half, out.Mean+half, Student
		return out
	}
	z := normalQuantile((1 + b.level()) / 2)
	k := all.count * all.count / squares
	binomial, m := out.Mean*(1-out.Mean), float64(len(cells))
	if v := (m*variance + 2*binomial/k) / (m + 2); v > 0 {
		k = max(k, binomial/v*z*z/(t*t))
	}
	out.Low, out.High = wilson(out.Mean, k, z)
	// In exact arithmetic both hold: the ends are 0 and 1 where all failed and succeeded.
	if all.total == 0 {
		out.Low = 0
	}
	if all.total == all.count {
		out.High = 1
	}
	return out
}

// among is the variance of a mean by what clusters differ, and its freedom; 0 and 1 of one cluster.
func among(cells []sums, all sums) (variance, df float64) {
	leverages := make([]float64, len(cells))
	for i, c := range cells {
		leverages[i] = c.count / all.count
		if len(cells) > 1 {
			residual := (c.total - all.mean()*c.count) / all.count
			variance += residual * residual / (1 - leverages[i])
		}
	}
	return variance, freedom(leverages)
}

// wilson is the score interval of a share p of n observations, in [0, 1].
func wilson(p, n, z float64) (low, high float64) {
	centre := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, centre-half), min(1, centre+half)
}
