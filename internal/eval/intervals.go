package eval

import (
	"math"
	"math/bits"
	"slices"
)

// Bootstrap sets how intervals are computed. The zero value takes the defaults.
type Bootstrap struct {
	NumResamples int     // 0: 10,000
	Level        float64 // 0: 0.95
	Seed         uint64
}

// Interval is an estimate with its percentile bootstrap interval.
//
// It is of zero width where all scenarios agree (all solved, or none): a bootstrap knows no outcome it has not seen.
type Interval struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	N    int     `json:"n"` // scenarios, the units that were resampled
}

// Estimate returns the mean of a metric over rows. The rows of one scenario are resampled together (clustered), for
// they are no independent evidence. An empty table gives zeros.
func Estimate(rows []Row, metric func(Row) float64, b Bootstrap) Interval {
	clusters, _ := cluster(rows, metric)
	return b.interval(len(clusters), func(pick func() int) float64 {
		var s sums
		for range clusters {
			s.add(clusters[pick()])
		}
		return s.mean()
	})
}

// Compare returns the mean of a metric on new minus that on old, over the scenarios both have, resampled in pairs: a
// scenario that is hard for both then does not blur the difference.
func Compare(old, new []Row, metric func(Row) float64, b Bootstrap) Interval {
	oldBy, index := cluster(old, metric)
	newBy, newIndex := cluster(new, metric)
	var pairs [][2]sums
	for _, r := range old { // in the order of old, each scenario once
		i, fresh := index[r.ScenarioID]
		k, both := newIndex[r.ScenarioID]
		if fresh && both {
			pairs = append(pairs, [2]sums{oldBy[i], newBy[k]})
		}
		delete(index, r.ScenarioID)
	}
	return b.interval(len(pairs), func(pick func() int) float64 {
		var was, is sums
		for range pairs {
			p := pairs[pick()]
			was.add(p[0])
			is.add(p[1])
		}
		return is.mean() - was.mean()
	})
}

// sums are the total and number of one scenario's rows.
type sums struct{ total, num float64 }

func (s *sums) add(o sums)   { s.total += o.total; s.num += o.num }
func (s sums) mean() float64 { return s.total / s.num }

// cluster sums rows by scenario, in order of first appearance, and gives each scenario's place.
func cluster(rows []Row, metric func(Row) float64) ([]sums, map[string]int) {
	var out []sums
	index := map[string]int{}
	for _, r := range rows {
		i, ok := index[r.ScenarioID]
		if !ok {
			i = len(out)
			index[r.ScenarioID] = i
			out = append(out, sums{})
		}
		out[i].add(sums{metric(r), 1})
	}
	return out, index
}

// interval computes a statistic of n units as they are, and its percentiles over resamples of n units drawn with
// replacement. The statistic draws its units by pick, n times.
func (b Bootstrap) interval(n int, statistic func(pick func() int) float64) Interval {
	if n == 0 {
		return Interval{}
	}
	if b.NumResamples == 0 {
		b.NumResamples = 10_000
	}
	if b.Level == 0 {
		b.Level = 0.95
	}
	next := -1
	out := Interval{N: n, Mean: statistic(func() int { next++; return next })}
	values := make([]float64, b.NumResamples)
	for r := range values {
		draw := uint64(0)
		values[r] = statistic(func() int {
			draw++
			// Multiplying into the high word maps 64 random bits to [0, n) with a bias below n / 2^64.
			high, _ := bits.Mul64(random(b.Seed, uint64(r), draw), uint64(n))
			return int(high)
		})
	}
	slices.Sort(values)
	tail := (1 - b.Level) / 2
	out.Low, out.High = quantile(values, tail), quantile(values, 1-tail)
	return out
}

// random is a counter-based generator: its value depends on its arguments alone. Each argument passes through the
// finaliser of SplitMix64 before the next one is mixed in.
func random(seed, resample, draw uint64) uint64 {
	return mix(mix(mix(seed+0x9e3779b97f4a7c15)^resample) ^ draw)
}

func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// quantile interpolates linearly between order statistics, as numpy does by default. sorted is not empty.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	low := int(math.Floor(at))
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}
