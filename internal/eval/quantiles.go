package eval

import (
	"cmp"
	"math"
	"slices"
)

// Quantile returns the time that a share q of the episodes does not exceed, with Woodruff's interval (Woodruff 1952, "Confidence
// intervals for medians and other position measures"): the share of episodes that do not exceed the estimate has an interval itself,
// clustered as that of any share, and its ends are read off the sorted times. With few scenarios the upper end of a high
// quantile is the longest time that was seen; the true one may be longer.
func Quantile(rows []Row, q float64, b Bootstrap) Interval {
	if len(rows) == 0 {
		return Interval{}
	}
	seconds := make([]float64, len(rows))
	for i, r := range rows {
		seconds[i] = r.Seconds
	}
	slices.Sort(seconds)
	at := atShare(seconds, q)
	i := estimate(gather(rows, Metric{Of: func(r Row) (float64, float64) { return oneIf(cmp.Compare(r.Seconds, at) <= 0), 1 }}), Rate, b)
	// Many episodes may take the same time: the interval of the share lies around the one it has, and q is what is asked.
	shift := q - i.Mean
	return Interval{Mean: at, Low: atShare(seconds, max(0, i.Low+shift)), High: atShare(seconds, min(1, i.High+shift)), N: i.N, Clusters: i.Clusters, Method: Woodruff}
}

// atShare is the smallest of some sorted values that a share q of them does not exceed.
func atShare(sorted []float64, q float64) float64 {
	const rounding = 1e-9
	return sorted[max(0, min(len(sorted)-1, int(math.Ceil(q*float64(len(sorted))-rounding))-1))]
}
