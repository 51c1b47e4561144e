package stats

import "math"

// Sequence is a confidence sequence of a mean difference in [-1, 1]: intervals that hold all at once, however often one
// looks and whenever one stops. With a level of 0.95, the true mean lies in every one of its intervals with a
// probability of 0.95 or more. An interval for a fixed number of scenarios does not allow that: who looks after each
// scenario, and stops at the first interval without 0, finds a difference in far more than 5% of A/A comparisons.
//
// It is the hedged capital process of Waudby-Smith and Ramdas 2024 ("Estimating means of bounded random variables by
// betting"): for each mean m one bets that the next difference is above m, and another that it is below, with stakes
// that depend on the past alone. Were m the truth, the capital would stay below 2 / (1 - level) for ever with a
// probability of 1 - (1 - level) / 2; so what has earned more is no longer in the interval. One bet earns less the
// greater m is and the other more, so what is left is an interval.
//
// It asks that each difference has the same mean, whatever those before it were: scenarios must be drawn in a random
// order that no result changes. Differences of scenarios of one family must be one: their mean.
type Sequence struct {
	level     float64
	n         int
	sum       float64 // of the values in [0, 1]
	spread    float64 // sum of their squared distances from the mean at that time, and 1/4
	up, down  []float64
	low, high int // places of the grid: the ends of what is left
}

// BettingSequence is the method of a Sequence's intervals.
const BettingSequence = "betting confidence sequence"

// gridSize is how many steps the grid has over [-1, 1]. An interval's ends lie on it, one step outside what is left.
const gridSize = 1000

// NewSequence begins a sequence with the level of b; NumResamples and Seed say nothing here.
func NewSequence(b Bootstrap) *Sequence {
	s := &Sequence{level: b.level(), spread: 0.25, high: gridSize, up: make([]float64, gridSize+1),
		down: make([]float64, gridSize+1)}
	for i := range s.up {
		s.up[i], s.down[i] = 1, 1
	}
	return s
}

// Add takes the next difference, of one scenario (or family): what the new system did minus what the old one did, each
// a mean over repeats, in [-1, 1]. One outside is taken for the nearest end.
func (s *Sequence) Add(difference float64) {
	x := (max(-1, min(1, difference)) + 1) / 2
	t := float64(s.n + 1)
	alpha := 1 - s.level
	// The paper's predictable plug-in stakes: those of an empirical-Bernstein bound, predictable by the past, with the
	// truncation c / m that keeps capital positive.
	const c = 0.75
	stake := math.Sqrt(2 * math.Log(2/alpha) / (s.spread * math.Log(1+t)))
	for i := s.low; i <= s.high; i++ {
		m := float64(i) / gridSize
		s.up[i] *= 1 + min(stake, c/m)*(x-m)
		s.down[i] *= 1 - min(stake, c/(1-m))*(x-m)
	}
	for s.low <= s.high && s.up[s.low] >= 2/alpha {
		s.low++
	}
	for s.low <= s.high && s.down[s.high] >= 2/alpha {
		s.high--
	}
	s.sum, s.n = s.sum+x, s.n+1
	mean := (0.5 + s.sum) / (t + 1)
	s.spread += (x - mean) * (x - mean)
}

// Interval is what is known by now. Mean is the mean of the differences so far.
func (s *Sequence) Interval() Interval {
	if s.n == 0 {
		return Interval{Low: -1, High: 1, Method: BettingSequence}
	}
	at := func(i int) float64 { return 2*float64(max(0, min(gridSize, i)))/gridSize - 1 }
	out := Interval{Mean: 2*s.sum/float64(s.n) - 1, N: s.n, Method: BettingSequence, Low: at(s.low - 1),
		High: at(s.high + 1)}
	// A mean beyond the interval is rare, and one of the two is wrong; a plot of it should not be.
	out.Low, out.High = min(out.Low, out.High), max(out.Low, out.High)
	return out
}

// Sequential is the sequence's interval of what new does more than old, in whole episodes, by the episodes so far.
// order are the ids of the scenarios in the order in which they are run, those of one family together: fixed before the
// first episode, at random, and never by a result. What is run later is added behind what was there, so the intervals
// hold however often one looks. (A run that is resumed may fill in a unit that was lost, in its place: that it was lost
// is no result.) A unit of order is one difference, of the scenarios in it that both systems have: a family counts as
// much as a scenario in none. Compare instead gives it the weight of its scenarios.
func Sequential(order [][]string, old, new []Row, b Bootstrap) Interval {
	was, is := gather(old, Completion()), gather(new, Completion())
	s, n := NewSequence(b), 0
	for _, unit := range order {
		difference, both := 0.0, 0
		for _, id := range unit {
			if was[id] != nil && is[id] != nil {
				difference, both = difference+is[id].sum().mean()-was[id].sum().mean(), both+1
			}
		}
		if both > 0 {
			s.Add(difference / float64(both))
			n += both
		}
	}
	out := s.Interval()
	if out.N = n; s.n < n {
		out.Clusters = s.n
	}
	return out
}
