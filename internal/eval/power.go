package eval

import (
	"maps"
	"math"
	"slices"
)

// Design says what an evaluation is like whose power is asked for. Attempts at one scenario are alike: Within is the correlation
// of two attempts of one system, Across that of attempts of two systems. 0 is scenarios that are all equally hard; 1 is
// scenarios that are always done or never. What is shared across systems cancels in a paired difference, what is not stays.
type Design struct {
	Rate   float64 `json:"rate"`            // of the old system, in (0, 1)
	Within float64 `json:"within"`          // in [0, 1]
	Across float64 `json:"across"`          // in [0, Within]
	Level  float64 `json:"level,omitempty"` // of the interval; 0: 0.95
}

// PowerRow is how many scenarios find a difference.
type PowerRow struct {
	Difference float64 `json:"difference"` // new minus old rate
	Repeats    int     `json:"repeats"`    // episodes of each scenario and system
	Power      float64 `json:"power"`      // probability that the interval lies on the right side of 0
	Scenarios  int     `json:"scenarios"`  // 0 where the new rate would not be in [0, 1]
}

// Variance is that of one scenario's difference of two means over repeats, where the new rate is Rate + difference:
//
//	v0 (w + (1 - w) / k) + v1 (w + (1 - w) / k) - 2 a sqrt(v0 v1),  v = rate (1 - rate), w = Within, a = Across, k = repeats
//
// It is at least difference (1 - difference) / k: so much differs between two rates whatever is shared.
func (d Design) Variance(difference float64, repeats int) float64 {
	p, k := d.Rate+difference, float64(repeats)
	v0, v1 := d.Rate*(1-d.Rate), max(0, p*(1-p))
	within := d.Within + (1-d.Within)/k
	size := math.Abs(difference)
	return max((v0+v1)*within-2*d.Across*math.Sqrt(v0*v1), size*(1-size)/k)
}

// Scenarios is how many scenarios find a difference other than 0 with a probability of power: the smallest n with
//
//	|difference| >= (t(1 - alpha/2) + t(power)) sqrt(variance / n),  t of n - 1 degrees of freedom
//
// 0 where the new rate would lie outside [0, 1].
func (d Design) Scenarios(difference, power float64, repeats int) int {
	if p := d.Rate + difference; difference == 0 || p < 0 || p > 1 {
		return 0
	}
	variance := d.Variance(difference, repeats)
	enough := func(n int) bool { return d.reach(n, power)*math.Sqrt(variance/float64(n)) <= math.Abs(difference) }
	high := 2
	for !enough(high) {
		high *= 2
	}
	low := high / 2
	for high-low > 1 {
		if mid := (low + high) / 2; enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// reach is how many standard errors a difference must be away from 0.
func (d Design) reach(n int, power float64) float64 {
	df := float64(max(1, n-1))
	return studentQuantile((1+Bootstrap{Level: d.Level}.level())/2, df) + studentQuantile(power, df)
}

// Detectable is the smallest gain that n scenarios find with a probability of power; the largest there is, 1 - Rate, and false, where
// they find not even that.
func (d Design) Detectable(n int, power float64, repeats int) (difference float64, found bool) {
	found = false
	low, high := 0.0, 1-d.Rate
	enough := func(x float64) bool {
		return n > 1 && d.reach(n, power)*math.Sqrt(d.Variance(x, repeats)/float64(n)) <= x
	}
	if !enough(high) {
		return high, false
	}
	for high-low > 1e-6 {
		if mid := (low + high) / 2; enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high, true
}

// PowerTable is a row for each difference, number of repeats and power, in this order.
func PowerTable(d Design, differences []float64, repeats []int, powers []float64) []PowerRow {
	var out []PowerRow
	for _, x := range differences {
		for _, k := range repeats {
			for _, p := range powers {
				out = append(out, PowerRow{x, k, p, d.Scenarios(x, p, k)})
			}
		}
	}
	return out
}

// Observe estimates a design from two systems' episodes: Rate is that of old, over the scenarios that both have. Within is
// 1 minus the mean variance among the repeats of a scenario, unbiased, over that of all (one-way analysis of variance); it is
// false where no scenario has two repeats, and then Across stands for it. Across is the covariance of the scenarios'
// rates over the geometric mean of the variances. Both are brought into [0, 1].
func Observe(old, new []Row, b Bootstrap) (d Design, repeated bool) {
	was, is := gather(old, Completion()), gather(new, Completion())
	var rates [2][]float64
	var all [2]sums
	inside, numInside := 0.0, 0.0
	for _, id := range slices.Sorted(maps.Keys(was)) {
		if is[id] == nil {
			continue
		}
		for i, u := range []*unit{was[id], is[id]} {
			s := u.sum()
			rates[i] = append(rates[i], s.mean())
			all[i].add(s)
			if k := float64(u.numRows); k > 1 {
				inside, numInside = inside+k/(k-1)*s.mean()*(1-s.mean()), numInside+1
			}
		}
	}
	d = Design{Level: b.Level}
	if len(rates[0]) == 0 {
		return d, false
	}
	d.Rate = all[0].mean()
	v0, v1 := d.Rate*(1-d.Rate), all[1].mean()*(1-all[1].mean())
	if both := math.Sqrt(v0 * v1); both > 0 && len(rates[0]) > 1 {
		d.Across = inUnit(covariance(rates[0], rates[1]) / both)
	}
	if repeated = numInside > 0 && v0+v1 > 0; repeated {
		d.Within = inUnit(1 - inside/numInside/((v0+v1)/2))
	} else {
		d.Within = d.Across
	}
	d.Within = max(d.Within, d.Across)
	return d, repeated
}

func inUnit(x float64) float64 { return max(0, min(1, x)) }

// covariance is the unbiased one of two lists of equal length, at least 2.
func covariance(a, b []float64) float64 {
	var ma, mb, sum float64
	for i := range a {
		ma, mb = ma+a[i]/float64(len(a)), mb+b[i]/float64(len(b))
	}
	for i := range a {
		sum += (a[i] - ma) * (b[i] - mb)
	}
	return sum / float64(len(a)-1)
}
