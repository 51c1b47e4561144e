package stats

import (
	"maps"
	"math"
	"slices"
)

// Design says what an evaluation is like whose power is asked for. Attempts at one scenario are alike: Within is the
// correlation of two attempts of one system, Across that of attempts of two systems. 0 is scenarios that are all
// equally hard; 1 is scenarios that are always done or never. What is shared across systems cancels in a paired
// difference, what is not stays.
type Design struct {
	Rate   float64 `json:"rate"`            // of the old system, in (0, 1)
	Within float64 `json:"within"`          // in [0, 1]
	Across float64 `json:"across"`          // in [0, Within]
	Level  float64 `json:"level,omitempty"` // of the interval; 0: 0.95

	// Families of scenarios are one piece of evidence, the more the alike their differences are: a gain that one
	// scenario of a template shows, the others show too. FamilySize is how many scenarios a scenario's family has in
	// the mean, itself among them: of families of m scenarios sum m^2 / sum m; 0 and 1 are no families. Family is the
	// correlation of the differences of two scenarios of one family, each of one episode of both systems.
	FamilySize float64 `json:"family_size,omitempty"`
	Family     float64 `json:"family,omitempty"` // in [0, 1]
}

// MinDifference is the least difference that is asked for: a smaller one takes hundreds of millions of scenarios.
const MinDifference = 1e-4

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

// designEffect is Variance times the design effect of families (Kish 1965, "Survey Sampling": 1 + (size - 1)
// correlation). What scenarios of a family have in common is not made less by repeats, so the correlation is the
// greater the more repeats there are, up to 1.
func (d Design) designEffect(difference float64, repeats int) float64 {
	v := d.Variance(difference, repeats)
	return v + (d.familySize()-1)*min(v, d.Family*d.Variance(difference, 1))
}

func (d Design) familySize() float64 { return max(1, d.FamilySize) }

// Scenarios is how many scenarios find a difference of MinDifference or more with a probability of power: the smallest
// n with
//
//	|difference| >= (t(1 - alpha/2) + t(power)) sqrt(variance / n),  t of n / FamilySize - 1 degrees of freedom
//
// where variance is that of a scenario's difference times the design effect of families. 0 where the new rate would lie
// outside [0, 1], and for a smaller difference.
func (d Design) Scenarios(difference, power float64, repeats int) int {
	if p := d.Rate + difference; math.Abs(difference) < MinDifference || p < 0 || p > 1 {
		return 0
	}
	variance := d.designEffect(difference, repeats)
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
	df := max(1, float64(n)/d.familySize()-1)
	return studentQuantile((1+Bootstrap{Level: d.Level}.level())/2, df) + studentQuantile(power, df)
}

// Detectable is the smallest gain that n scenarios find with a probability of power; the largest there is, 1 - Rate,
// and false, where they find not even that.
func (d Design) Detectable(n int, power float64, repeats int) (difference float64, found bool) {
	found = false
	low, high := 0.0, 1-d.Rate
	enough := func(x float64) bool {
		return n > 1 && d.reach(n, power)*math.Sqrt(d.designEffect(x, repeats)/float64(n)) <= x
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

// Observe estimates a design from two systems' episodes: Rate is that of old, over the scenarios that both have. Within
// is 1 minus the mean variance among the repeats of a scenario, unbiased, over that of all (one-way analysis of
// variance); it is false where no scenario has two repeats, and then Across stands for it. Across is the covariance of
// the scenarios' rates over the geometric mean of the variances. Family is the covariance of the differences of two
// scenarios of one family over Variance at one repeat. All three are brought into [0, 1].
func Observe(old, new []Row, b Bootstrap) (d Design, repeated bool) {
	was, is := gather(old, Completion()), gather(new, Completion())
	var rates [2][]float64
	var families []string // of the scenarios, by their clusters' names
	var all [2]sums
	inside, numInside := 0.0, 0.0
	for _, id := range slices.Sorted(maps.Keys(was)) {
		if is[id] == nil {
			continue
		}
		families = append(families, was[id].cluster(id))
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
	d.observeFamilies(families, rates)
	return d, repeated
}

// PagePower is the probability with which a difference is to be found, in what a page says of it.
const PagePower = 0.8

// ObservedPower is how small a difference the evaluation can find, and how many scenarios smaller ones take, by what
// was seen of two systems: the first and the last.
type ObservedPower struct {
	Old        string     `json:"old"`
	New        string     `json:"new"`
	Rate       float64    `json:"rate"`                  // of Old, see Design
	Within     float64    `json:"within"`                // correlation of two attempts of one system at a scenario
	Across     float64    `json:"across"`                // and of two systems
	FamilySize float64    `json:"family_size,omitempty"` // scenarios of a family, see Design; 0 without families
	Family     float64    `json:"family,omitempty"`      // correlation of the differences of two of them
	Repeated   bool       `json:"repeated"`
	Scenarios  int        `json:"scenarios"`  // that both have
	Repeats    int        `json:"repeats"`    // of each
	Detectable float64    `json:"detectable"` // the smallest gain that is found with a probability of 0.8
	Found      bool       `json:"found"`      // false: not even the largest gain there can be is
	Rows       []PowerRow `json:"rows"`
}

// ObservedPower is nil without two systems, and where the old one does all scenarios or none: how scenarios differ is
// not known then.
func (c Comparison) ObservedPower() *ObservedPower {
	if len(c.Systems) < 2 {
		return nil
	}
	old, new := c.Systems[0], c.Systems[len(c.Systems)-1]
	d, repeated := Observe(old.Rows, new.Rows, c.Bootstrap)
	n := Compare(old.Rows, new.Rows, Completion(), Bootstrap{NumResamples: 1}).N
	if d.Rate <= 0 || d.Rate >= 1 || n == 0 {
		return nil
	}
	out := ObservedPower{Old: old.Name, New: new.Name, Rate: d.Rate, Within: d.Within, Across: d.Across,
		FamilySize: d.FamilySize, Family: d.Family, Repeated: repeated, Scenarios: n, Repeats: max(1, new.NumRepeats())}
	out.Detectable, out.Found = d.Detectable(n, PagePower, out.Repeats)
	repeats := []int{1, 2, 4, out.Repeats}
	slices.Sort(repeats)
	out.Rows = PowerTable(d, []float64{0.01, 0.02, 0.05, 0.1, 0.2}, slices.Compact(repeats), []float64{PagePower})
	return &out
}

// observeFamilies sets FamilySize and Family by the rates of scenarios in both systems. Differences are taken from
// their mean, of which each is a part: two that have nothing in common would have the covariance -variance / n, which
// is added.
func (d *Design) observeFamilies(families []string, rates [2][]float64) {
	type family struct{ sum, size float64 }
	by := map[string]family{}
	n, mean, squares, sizes := float64(len(families)), 0.0, 0.0, 0.0
	for i := range families {
		mean += (rates[1][i] - rates[0][i]) / n
	}
	for i, name := range families {
		x := rates[1][i] - rates[0][i] - mean
		by[name] = family{by[name].sum + x, by[name].size + 1}
		squares += x * x
	}
	products := -squares // of two scenarios of a family, each pair twice
	for _, name := range slices.Sorted(maps.Keys(by)) {
		products += by[name].sum * by[name].sum
		sizes += by[name].size * by[name].size
	}
	if sizes == n {
		return
	}
	d.FamilySize = sizes / n
	if v := d.Variance(mean, 1); v > 0 {
		d.Family = inUnit((products/(sizes-n) + squares/(n*n)) / v)
	}
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
