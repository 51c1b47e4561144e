package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// worlds are distributions of paired differences, with their means.
func worlds() map[string]struct {
	draw func(*rand.Rand) float64
	mean float64
} {
	type world = struct {
		draw func(*rand.Rand) float64
		mean float64
	}
	three := func(worse, better float64) func(*rand.Rand) float64 {
		return func(r *rand.Rand) float64 {
			switch u := r.Float64(); {
			case u < worse:
				return -1
			case u < worse+better:
				return 1
			}
			return 0
		}
	}
	return map[string]world{
		"A/A, half differ":     {three(0.25, 0.25), 0},
		"A/A, few differ":      {three(0.02, 0.02), 0},
		"A/A, all differ":      {three(0.5, 0.5), 0},
		"a gain":               {three(0.05, 0.2), 0.15},
		"nearly always better": {three(0, 0.95), 0.95},
		"four repeats": {func(r *rand.Rand) float64 {
			p, sum := r.Float64(), 0.0
			for range 4 {
				sum += (oneIf(r.Float64() < p) - oneIf(r.Float64() < p*p)) / 4
			}
			return sum
		}, 0.5 - 1./3},
	}
}

// misled is the share of sequences of n differences in which the mean lies outside at some time; an interval for a
// fixed number of scenarios, looked at each time, is measured beside it. Width is the mean last one.
func misled(num, n int, draw func(*rand.Rand) float64, mean float64) (sequence, fixed, width float64) {
	for e := range num {
		r := rand.New(rand.NewPCG(uint64(e), 5))
		s := NewSequence(Bootstrap{})
		out, outFixed := false, false
		var sum, squares float64
		for i := range n {
			x := draw(r)
			s.Add(x)
			got := s.Interval()
			out = out || got.Low > mean || got.High < mean
			sum, squares = sum+x, squares+x*x
			if k := float64(i + 1); k >= 10 {
				m := sum / k
				half := 1.96 * math.Sqrt(max(0, squares/k-m*m)/k)
				outFixed = outFixed || math.Abs(m-mean) > half
			}
		}
		i := s.Interval()
		width += (i.High - i.Low) / float64(num)
		sequence, fixed = sequence+oneIf(out)/float64(num), fixed+oneIf(outFixed)/float64(num)
	}
	return sequence, fixed, width
}

// Whoever looks after each scenario is misled in no more than 5% of all evaluations. Intervals for a fixed number
// mislead much more often, so what is asked of the sequence can fail.
func TestSequenceHoldsAtAllTimes(t *testing.T) {
	for name, w := range worlds() {
		got, fixed, width := misled(400, 200, w.draw, w.mean)
		if got > 0.05+2*math.Sqrt(0.05*0.95/400) {
			t.Errorf("%s: %v of the sequences miss the mean", name, got)
		}
		if fixed < 0.15 {
			t.Errorf("%s: intervals for a fixed number miss it in %v only: this shows nothing", name, fixed)
		}
		if width > 0.6 {
			t.Errorf("%s: after 200 scenarios the interval is %v wide", name, width)
		}
	}
}

// It comes to a verdict where there is one, and soon where the difference is large; not where there is none.
func TestSequenceDecides(t *testing.T) {
	for _, x := range []struct {
		worse, better float64
		within        int // scenarios, in nine of ten evaluations
	}{{0.02, 0.62, 30}, {0.05, 0.35, 100}, {0.5, 0.05, 60}} {
		decided := 0
		for e := range 200 {
			r := rand.New(rand.NewPCG(uint64(e), 6))
			s := NewSequence(Bootstrap{})
			for range x.within {
				u := r.Float64()
				s.Add(oneIf(u > 1-x.better) - oneIf(u < x.worse))
			}
			if i := s.Interval(); i.ExcludesZero() && (i.Low > 0) == (x.better > x.worse) {
				decided++
			}
		}
		if decided < 180 {
			t.Errorf("%+v: %d of 200 are decided", x, decided)
		}
	}
	if s := NewSequence(Bootstrap{}); s.Interval().ExcludesZero() ||
		s.Interval() != (Interval{Low: -1, High: 1, Method: BettingSequence}) {
		t.Errorf("nothing was added: %+v", s.Interval())
	}
}

// What is left are the means on which no bet has earned 2 / alpha; and intervals only ever shrink.
func TestSequenceIsWhatBetsLeave(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Float64Range(-1, 1), 1, 60).Draw(t, "differences")
		level := rapid.SampledFrom([]float64{0.8, 0.95, 0.99}).Draw(t, "level")
		s := NewSequence(Bootstrap{Level: level})
		last := s.Interval()
		alpha := 1 - level
		capital := func(m float64, upTo int) float64 { // of the better bet on mean m in [0, 1]
			up, down, sum, spread := 1.0, 1.0, 0.5, 0.25
			most := 1.0
			for i, d := range list[:upTo] {
				x, n := (d+1)/2, float64(i+1)
				stake := math.Sqrt(2 * math.Log(2/alpha) / (spread / n * n * math.Log(n+1)))
				up *= 1 + min(stake, 0.75/m)*(x-m)
				down *= 1 - min(stake, 0.75/(1-m))*(x-m)
				sum += x
				spread += math.Pow(x-sum/(n+1), 2)
				most = max(most, up, down)
			}
			return most
		}
		for i, d := range list {
			s.Add(d)
			got := s.Interval()
			if got.Low < last.Low || got.High > last.High || got.N != i+1 {
				t.Fatalf("%+v after %+v", got, last)
			}
			last = got
		}
		const step = 2. / gridSize
		for _, x := range []struct {
			at   float64
			left bool
			name string
		}{
			{last.Low - step, false, "below"},
			{last.Low + step, true, "low end"},
			{last.High - step, true, "high end"},
			{last.High + step, false, "above"},
		} {
			if x.at <= -1 || x.at >= 1 || last.High-last.Low < 4*step {
				continue
			}
			if left := capital((x.at+1)/2, len(list)) < 2/alpha; left != x.left {
				t.Fatalf("%s (%v) of %+v: left %v", x.name, x.at, last, left)
			}
		}
	})
}

// Sequential adds what is run later behind what was there: whatever comes, no interval gets wider, and each is that of
// the differences by hand. A unit is one difference, of the scenarios that both systems have.
func TestSequential(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var order [][]string
		var old, new []Row
		by := NewSequence(Bootstrap{})
		last := Interval{Low: -1, High: 1}
		scenarios := 0
		for u := range rapid.IntRange(1, 40).Draw(t, "units") {
			var unit []string
			var sum, both float64
			for s := range rapid.IntRange(1, 3).Draw(t, "scenarios") {
				id := fmt.Sprint((u*7)%41, "/", s) // names in no order
				unit = append(unit, id)
				was, is := rapid.SliceOfN(rapid.Bool(), 0, 3).Draw(t, "old"), rapid.SliceOfN(rapid.Bool(), 0,
					3).Draw(t, "new")
				mean := func(rows *[]Row, done []bool) (m float64) {
					for k, d := range done {
						*rows = append(*rows, Row{ScenarioID: id, Repeat: k, Episode: d})
						m += oneIf(d) / float64(len(done))
					}
					return m
				}
				a, b := mean(&old, was), mean(&new, is)
				if len(was) > 0 && len(is) > 0 {
					sum, both = sum+b-a, both+1
				}
			}
			order = append(order, unit)
			if both > 0 {
				by.Add(sum / both)
				scenarios += int(both)
			}
			got, want := Sequential(order, old, new, Bootstrap{}), by.Interval()
			if got.N != scenarios || got.Low != want.Low || got.High != want.High ||
				math.Abs(got.Mean-want.Mean) > 1e-12 || got.Low < last.Low || got.High > last.High {
				t.Fatalf("%+v after %+v, by hand %+v", got, last, want)
			}
			if got.Clusters > 0 != (want.N < scenarios) {
				t.Fatalf("%+v of %d units", got, want.N)
			}
			last = got
			// What is still to come changes nothing.
			if whole := Sequential(append(order[:len(order):len(order)], []string{"later"}), old, new,
				Bootstrap{}); whole != got {
				t.Fatalf("%+v, with what is still to come %+v", got, whole)
			}
		}
	})
}

// Intervals that hold together have the chance to miss split among them, and are wider than one alone.
func TestJointly(t *testing.T) {
	near(t, "level of six", Bootstrap{Level: 0.9}.Jointly(6).Level, 1-0.1/6, 1e-15)
	near(t, "level of none", Bootstrap{}.Jointly(0).Level, 0.95, 1e-15)
	wide, narrow := NewSequence(Bootstrap{}.Jointly(6)), NewSequence(Bootstrap{})
	for range 9 {
		wide.Add(1)
		narrow.Add(1)
	}
	if wide.Interval().Low >= narrow.Interval().Low {
		t.Errorf("%+v is no wider than %+v", wide.Interval(), narrow.Interval())
	}
}

func ExampleSequence() {
	s := NewSequence(Bootstrap{})
	for range 12 {
		s.Add(1) // the new system does what the old one does not
		s.Add(0)
	}
	i := s.Interval()
	fmt.Printf("%.2f [%.2f, %.2f] after %d, decided: %v\n", i.Mean, i.Low, i.High, i.N, i.ExcludesZero())
	// Output: 0.50 [0.18, 0.81] after 24, decided: true
}
