package stats

import (
	"cmp"
	"sort"
)

// Quantile returns the time that a share q of the episodes does not exceed, with Woodruff's interval (Woodruff 1952,
// "Confidence intervals for medians and other position measures"): the share of episodes that do not exceed the
// estimate has an interval itself, clustered as that of any share, and its ends are read off the sorted times. Each
// scenario counts alike, as in Estimate. With few scenarios the upper end of a high quantile is the longest time that
// was seen; the true one may be longer.
func Quantile(rows []Row, q float64, b Bootstrap) Interval {
	if len(rows) == 0 {
		return Interval{}
	}
	times := timesOf(rows)
	at := times.atShare(q)
	i := estimate(gather(rows,
		Metric{Of: func(r Row) (float64, float64) { return oneIf(cmp.Compare(r.Seconds, at) <= 0), 1 }}), Rate, b)
	// Many episodes may take the same time: the interval of the share lies around the one it has, and q is what is
	// asked.
	shift := q - i.Mean
	return Interval{Mean: at, Low: times.atShare(max(0, i.Low+shift)), High: times.atShare(min(1, i.High+shift)),
		N: i.N, Clusters: i.Clusters, Method: Woodruff}
}

// times are those of episodes, the shortest first, with their weights: of a scenario's episodes together 1.
type times []struct{ seconds, weight float64 }

func timesOf(rows []Row) times {
	episodes := map[string]float64{}
	for _, r := range rows {
		episodes[r.ScenarioID]++
	}
	out := make(times, len(rows))
	for i, r := range rows {
		out[i].seconds, out[i].weight = r.Seconds, 1/episodes[r.ScenarioID]
	}
	sort.Slice(out, func(i, j int) bool {
		return cmp.Or(cmp.Compare(out[i].seconds, out[j].seconds), cmp.Compare(out[i].weight, out[j].weight)) < 0
	})
	return out
}

// atShare is the shortest time that a share q of the episodes does not exceed.
func (t times) atShare(q float64) float64 {
	all := 0.0
	for _, x := range t {
		all += x.weight
	}
	const rounding = 1e-9
	upTo := 0.0
	for _, x := range t {
		if upTo += x.weight; upTo >= all*(q-rounding) {
			return x.seconds
		}
	}
	return t[len(t)-1].seconds
}
