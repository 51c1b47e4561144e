package eval

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
)

// Bootstrap sets how intervals are computed. The zero value takes the defaults.
type Bootstrap struct {
	NumResamples int     // of a difference; 0: 10,000
	Level        float64 // coverage of both methods; 0: 0.95
	Seed         uint64  // of the resamples
}

// Methods of intervals.
const (
	Wilson          = "wilson"           // of one proportion
	PairedBootstrap = "paired bootstrap" // of a difference: percentiles
)

// Interval is an estimate with an interval around it.
//
// A bootstrap's is of zero width where all scenarios agree, for it knows no outcome it has not seen; Wilson's is not.
type Interval struct {
	Mean   float64 `json:"mean"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	N      int     `json:"n"` // scenarios
	Method string  `json:"method,omitempty"`
}

// PointsText is a difference of rates with its interval, in percentage points, or "-" where nothing was compared.
func (i Interval) PointsText() string {
	if i.N == 0 {
		return "-"
	}
	return fmt.Sprintf("%+.1f [%+.1f, %+.1f]", 100*i.Mean, 100*i.Low, 100*i.High)
}

// Estimate returns the mean of a metric that is 0 or 1, with Wilson's score interval (Wilson 1927, without continuity
// correction). The rows of one scenario are no independent evidence, so they count as one observation; where scenarios
// have unequally many rows, there are Kish's effective number of observations: (sum m)^2 / (sum m^2). That is exact
// where the rows of a scenario always agree, and too wide where they do not. An empty table gives zeros.
func Estimate(rows []Row, metric func(Row) float64, b Bootstrap) Interval {
	clusters := cluster(rows, metric)
	if len(clusters) == 0 {
		return Interval{}
	}
	var all sums
	squares := 0.0
	for _, id := range inOrder(clusters) {
		all.add(clusters[id])
		squares += clusters[id].num * clusters[id].num
	}
	out := Interval{Mean: all.mean(), N: len(clusters), Method: Wilson}
	n := all.num * all.num / squares
	z := math.Sqrt2 * math.Erfinv(b.level())
	centre := (out.Mean + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(out.Mean*(1-out.Mean)/n+z*z/(4*n*n))
	// In exact arithmetic both hold: the interval lies in [0, 1], and its ends are 0 and 1 where all failed and succeeded.
	out.Low, out.High = max(0, centre-half), min(1, centre+half)
	if all.total == 0 {
		out.Low = 0
	}
	if all.total == all.num {
		out.High = 1
	}
	return out
}

// Compare returns the mean of a metric on new minus that on old, over the scenarios both have, resampled in pairs: a
// scenario that is hard for both then does not blur the difference. The order of rows does not matter.
func Compare(old, new []Row, metric func(Row) float64, b Bootstrap) Interval {
	was, is := cluster(old, metric), cluster(new, metric)
	var pairs [][2]sums
	for _, id := range inOrder(was) { // a draw picks by place, so the places must not depend on which episode ended first
		if _, both := is[id]; both {
			pairs = append(pairs, [2]sums{was[id], is[id]})
		}
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

// cluster sums rows by scenario id.
func cluster(rows []Row, metric func(Row) float64) map[string]sums {
	out := map[string]sums{}
	for _, r := range rows {
		s := out[r.ScenarioID]
		s.add(sums{metric(r), 1})
		out[r.ScenarioID] = s
	}
	return out
}

func inOrder(clusters map[string]sums) []string { return slices.Sorted(maps.Keys(clusters)) }

func (b Bootstrap) level() float64 {
	if b.Level == 0 {
		return 0.95
	}
	return b.Level
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
	next := -1
	out := Interval{N: n, Method: PairedBootstrap, Mean: statistic(func() int { next++; return next })}
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
	tail := (1 - b.level()) / 2
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
