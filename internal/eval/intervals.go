package eval

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// Bootstrap sets how intervals are computed. The zero value takes the defaults.
type Bootstrap struct {
	NumResamples int     // of a difference; 0: 10,000
	Level        float64 // coverage of all methods; 0: 0.95
	Seed         uint64  // of the resamples
}

// Methods of intervals.
const (
	Wilson          = "wilson"           // of one proportion
	PairedBootstrap = "paired bootstrap" // of a difference: percentiles
	Student         = "clustered t"      // of a mean
	Woodruff        = "woodruff"         // of a quantile
)

// Interval is an estimate with an interval around it.
type Interval struct {
	Mean     float64 `json:"mean"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	N        int     `json:"n"`                  // scenarios
	Clusters int     `json:"clusters,omitempty"` // pieces of evidence they are: families count once; 0 where each scenario is one
	Method   string  `json:"method,omitempty"`
}

// PointsText is a difference of rates with its interval, in percentage points, or "-" where nothing was compared.
func (i Interval) PointsText() string {
	if i.N == 0 {
		return "-"
	}
	return fmt.Sprintf("%+.1f [%+.1f, %+.1f]", 100*i.Mean, 100*i.Low, 100*i.High)
}

func (b Bootstrap) level() float64 {
	if b.Level == 0 {
		return 0.95
	}
	return b.Level
}

// Estimate returns a metric of some rows. An interval of a share is Wilson's score interval (Wilson 1927, without continuity
// correction). The rows of one cluster are no independent evidence, so they count as one observation; where clusters
// have unequally many rows, there are Kish's effective number of observations: (sum m)^2 / (sum m^2). That is exact
// where the rows of a cluster always agree, and too wide where they do not. No rows give zeros.
func Estimate(rows []Row, m Metric, b Bootstrap) Interval {
	return estimate(gather(rows, m), m.Scale, b)
}

func estimate(units map[string]*unit, scale Scale, b Bootstrap) Interval {
	if len(units) == 0 {
		return Interval{}
	}
	cells, n := merge(units)
	var all sums
	squares := 0.0
	for _, c := range cells {
		all.add(c)
		squares += c.count * c.count
	}
	out := Interval{Mean: all.mean(), N: n, Method: Wilson}
	if len(cells) < n {
		out.Clusters = len(cells)
	}
	if scale == Amount {
		return clustered(cells, out, b)
	}
	k := all.count * all.count / squares
	z := math.Sqrt2 * math.Erfinv(b.level())
	centre := (out.Mean + z*z/(2*k)) / (1 + z*z/k)
	half := z / (1 + z*z/k) * math.Sqrt(out.Mean*(1-out.Mean)/k+z*z/(4*k*k))
	// In exact arithmetic both hold: the interval lies in [0, 1], and its ends are 0 and 1 where all failed and succeeded.
	out.Low, out.High = max(0, centre-half), min(1, centre+half)
	if all.total == 0 {
		out.Low = 0
	}
	if all.total == all.count {
		out.High = 1
	}
	return out
}

// Compare returns a metric of new minus that of old, over the scenarios that both have it of, resampled in pairs: a
// scenario that is hard for both then does not blur the difference. The order of rows does not matter.
func Compare(old, new []Row, m Metric, b Bootstrap) Interval {
	pairs, n := paired(gather(old, m), gather(new, m))
	out := b.interval(len(pairs), func(pick func() int) float64 {
		var was, is sums
		for range pairs {
			p := pairs[pick()]
			was.add(p[0])
			is.add(p[1])
		}
		return is.mean() - was.mean()
	})
	if out.N = n; len(pairs) < n {
		out.Clusters = len(pairs)
	}
	return out
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
