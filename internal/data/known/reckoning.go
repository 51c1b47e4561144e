package known

import (
	"math"
	"slices"
)

// perUnit are how many of one unit another has: of time, of sizes, of money and of shares.
var perUnit = []float64{7, 12, 24, 60, 100, 365, 1000, 1024, 3600, 86400, 1e6, 1 << 20, 1e9, 1 << 30}

// leadsTo reports whether a number of an answer may be reckoned from what was shown and asked: as a count, a rounded
// number, in another unit, of two numbers, of a column or a part of it, or as the time between two dates.
func (r *reckoner) leadsTo(v *value) bool {
	r.read()
	if r.tried++; r.vast || r.tried > mostTried {
		return true
	}
	if math.IsNaN(v.number) {
		return false
	}
	n := v.number
	if v.whole() && (n <= float64(r.items) || n < 1<<31 && r.counts[int(n)]) {
		return true
	}
	return r.isConverted(v) || r.isShare(v) || r.isOfTwo(v) || r.isOfThree(v) || r.isOfColumn(v) || r.isBetweenDates(v)
}

// is reports whether a number that was reckoned is the answer's, rounded as it is there.
func (v *value) is(x float64) bool {
	unit := v.unit()
	return math.Abs(x-v.number) <= unit/2+1e-9*math.Abs(x) && (v.decimals > 0 || v.near || isWhole(x)) ||
		math.Abs(x-v.number) <= 1e-9*math.Abs(x)
}

// isPart is is of what a division gave, whose rest may be left out.
func (v *value) isPart(x float64) bool {
	unit := v.unit()
	return v.is(x) || math.Abs(math.Round(x/unit)*unit-v.number) < unit*1e-6 ||
		math.Abs(math.Floor(x/unit)*unit-v.number) < unit*1e-6
}

func isWhole(x float64) bool { return x == math.Trunc(x) }

// isConverted reports whether it is a number in another unit, or rounded.
func (r *reckoner) isConverted(v *value) bool {
	return slices.ContainsFunc(r.order, func(x float64) bool {
		return v.isPart(x) || v.is((x-32)/1.8) || v.is(x*1.8+32) || slices.ContainsFunc(perUnit, func(by float64) bool {
			return v.is(x*by) || v.isPart(x/by)
		})
	})
}

// isShare reports whether it is a share of counts or of a number, or a number for each of a count.
func (r *reckoner) isShare(v *value) bool {
	const most, few = 100, 12 // a number times any of many counts is any number
	for all := 1; all <= min(r.items, most); all++ {
		if all > 1 && all <= few && slices.ContainsFunc(r.order, func(x float64) bool {
			return v.isPart(x/float64(all)) || v.is(x*float64(all))
		}) {
			return true
		}
		for some := 1; some <= all && (v.percent || v.decimals > 0); some++ {
			if share := float64(some) / float64(all); v.percent && v.isPart(100*share) || v.is(share) {
				return true
			}
		}
	}
	return false
}

func (r *reckoner) isOfTwo(v *value) bool {
	few := len(r.order) <= allSubsets
	for i, x := range r.order {
		for _, y := range r.order[:i] {
			if v.is(x+y) || v.is(x-y) || v.is(y-x) || v.is(x*y) || v.is(x/y) || v.is(y/x) {
				return true
			}
			if few && (v.isPart(x/y) || v.isPart(y/x) || v.is(math.Mod(x, y)) || v.is(math.Mod(y, x))) {
				return true
			}
			if (v.percent || r.percents) && (v.isPercentOf(x, y) || v.isPercentOf(y, x)) {
				return true
			}
		}
	}
	return false
}

// isPercentOf reports whether it is what x percent of y make of it, or which share or growth x is of y.
func (v *value) isPercentOf(x, y float64) bool {
	if v.percent {
		return v.isPart(100*x/y) || v.isPart(math.Abs(100*(x-y)/y))
	}
	return x < 100 && (v.is(x*y/100) || v.is(y*(1+x/100)) || v.is(y*(1-x/100)))
}

// isOfThree tries what few numbers come to by two steps.
func (r *reckoner) isOfThree(v *value) bool {
	if len(r.order) > allTriples {
		return false
	}
	for i, x := range r.order {
		for j, y := range r.order {
			for k, z := range r.order {
				if i == j || j == k || i == k {
					continue
				}
				for _, two := range []float64{x + y, x - y, x * y, x / y} {
					if v.is(two+z) || v.is(two-z) || v.is(z-two) || v.is(two*z) || v.isPart(two/z) || v.isPart(z/two) ||
						v.percent && v.isPart(100*two/z) {
						return true
					}
				}
			}
		}
	}
	return false
}

func (r *reckoner) isOfColumn(v *value) bool {
	for _, column := range r.columns {
		if v.isOf(column) {
			return true
		}
	}
	for key, column := range r.across { // of a long list of a text's numbers, some come to any number
		if len(column) > 1 && (key != inText || len(column) <= allSubsets) && v.isOf(column) {
			return true
		}
	}
	return false
}

// isOf reports whether it is the sum, the mean or the median of a column or of some of it. Of a long one it is taken
// for such where it lies between the smallest number and the sum of all.
func (v *value) isOf(column []float64) bool {
	sum, least, decimals := 0.0, math.Inf(1), 0
	for _, x := range column {
		sum, least = sum+x, min(least, x)
		if !isWhole(x) {
			decimals = 2
		}
	}
	sorted := slices.Sorted(slices.Values(column))
	middle := (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
	if v.isPart(sum) || v.isPart(sum/float64(len(column))) || v.is(middle) || v.is(sorted[len(sorted)-1]-least) {
		return true
	}
	if len(column) > allSubsets {
		return v.number >= least && v.number <= sum && (v.decimals <= decimals+2)
	}
	for some := 1; some < 1<<len(column); some++ {
		part, of := 0.0, 0.0
		for i, x := range column {
			if some>>i&1 == 1 {
				part, of = part+x, of+1
			}
		}
		if v.is(part) || v.is(sum-2*part) || v.isPart(part/of) || v.percent && v.isPart(100*part/sum) {
			return true
		}
	}
	return false
}

// isBetweenDates reports whether it is the time between two of them.
func (r *reckoner) isBetweenDates(v *value) bool {
	for i, a := range r.instants {
		for _, b := range r.instants[:i] {
			seconds := 0.0
			switch {
			case a.month > 0 && b.month > 0 && a.year > 0 && b.year > 0:
				seconds = float64(a.days()-b.days()) * 86400
				months := math.Abs(float64(12*(a.year-b.year) + a.month - b.month))
				if v.is(months) || v.is(max(0, months-1)) || v.isPart(math.Abs(seconds)/86400/365.25) {
					return true
				}
			case a.clock < 0 || b.clock < 0:
				continue
			}
			if a.clock >= 0 && b.clock >= 0 {
				seconds += float64(a.clock - b.clock)
			}
			seconds = math.Abs(seconds)
			for _, unit := range []float64{1, 60, 3600, 86400, 7 * 86400} {
				if v.isPart(seconds/unit) || v.is(seconds/unit+1) || v.isPart(math.Mod(seconds, unit*60)/unit) {
					return true
				}
			}
		}
	}
	return false
}
