package stats

import (
	"fmt"
	"math"
)

// Bootstrap sets how intervals are computed. The zero value takes the defaults.
type Bootstrap struct {
	NumResamples int     // of a difference; 0: 10,000
	Level        float64 // coverage of all methods; 0: 0.95
	Seed         uint64  // of the resamples
}

// Methods of intervals.
const (
	Wilson          = "wilson"           // of a share
	PairedBootstrap = "paired bootstrap" // of a difference: expanded percentiles
	PairedStudent   = "paired t"         // of a difference of few clusters, or of clusters that are all alike
	Student         = "clustered t"      // of a mean
	Woodruff        = "woodruff"         // of a quantile
)

// Interval is an estimate with an interval around it.
type Interval struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	N    int     `json:"n"` // scenarios
	// pieces of evidence they are: families count once; 0 where each scenario is one
	Clusters int    `json:"clusters,omitempty"`
	Method   string `json:"method,omitempty"`
	// TooFew: the outcomes are too few for an interval that covers as often as it says, see Estimate and Compare. It
	// covers more.
	TooFew bool `json:"too_few,omitempty"`
}

// RateText is a share with its interval, in percent.
func (i Interval) RateText() string {
	return fmt.Sprintf("%.1f%% [%.1f, %.1f]%s", 100*i.Mean, 100*i.Low, 100*i.High, i.doubt())
}

// PointsText is a difference of rates with its interval, in percentage points, or "-" where nothing was compared.
func (i Interval) PointsText() string {
	if i.N == 0 {
		return "-"
	}
	return fmt.Sprintf("%+.1f [%+.1f, %+.1f]%s", 100*i.Mean, 100*i.Low, 100*i.High, i.doubt())
}

func (i Interval) doubt() string {
	if i.TooFew {
		return " too few"
	}
	return ""
}

// ExcludesZero reports whether it leaves out 0: whether a difference is known to be above it, or below.
func (i Interval) ExcludesZero() bool { return i.N > 0 && (i.Low > 0 || i.High < 0) }

// Jointly is b for each of n intervals that are to hold together: all of them with the probability b.Level. The chance
// to miss is split evenly (Bonferroni's inequality), whatever the intervals have in common.
func (b Bootstrap) Jointly(n int) Bootstrap {
	b.Level = 1 - (1-b.level())/float64(max(1, n))
	return b
}

func (b Bootstrap) level() float64 {
	if b.Level == 0 {
		return 0.95
	}
	return b.Level
}

// places draws two of n places: multiplying 32 random bits by n leaves a place in the high word, with a bias below n /
// 2^32.
func places(state *uint64, n int) (i, j int) {
	*state += 0x9e3779b97f4a7c15
	x := mix(*state)
	return int(x >> 32 * uint64(n) >> 32), int(x & 0xffffffff * uint64(n) >> 32)
}

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood 2014).
func mix(x uint64) uint64 {
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
