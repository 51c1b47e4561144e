package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// simulated draws two systems of a design: each scenario's rate is of a beta distribution with the rate's mean and the
// correlation Within; a scenario's place in it is the same for both systems, or with a chance of 1 - Across / Within
// another.
func simulated(r *rand.Rand, d Design, difference float64) func(scenarios, repeats int) (old, new []Row) {
	was, is := hard(d.Rate, d.Within), hard(d.Rate+difference, d.Within)
	return func(scenarios, repeats int) (old, new []Row) {
		for s := range scenarios {
			u := r.IntN(len(was))
			v := u
			if d.Within > 0 && r.Float64() > d.Across/d.Within {
				v = r.IntN(len(is))
			}
			for k := range repeats {
				id := fmt.Sprint(s)
				old = append(old, Row{ScenarioID: id, Repeat: k, Episode: r.Float64() < was[u]})
				new = append(new, Row{ScenarioID: id, Repeat: k, Episode: r.Float64() < is[v]})
			}
		}
		return old, new
	}
}

// hard are quantiles of a beta distribution with a mean and an intraclass correlation, evenly spaced.
func hard(mean, correlation float64) []float64 {
	out := make([]float64, 500)
	total := 1/correlation - 1
	for i := range out {
		u := (float64(i) + 0.5) / float64(len(out))
		low, high := 0.0, 1.0
		for range 40 {
			if mid := (low + high) / 2; correlation > 0 && incompleteBeta(mean*total, (1-mean)*total, mid) < u ||
				correlation == 0 && mid < mean {
				low = mid
			} else {
				high = mid
			}
		}
		out[i] = (low + high) / 2
	}
	return out
}

// With as many scenarios as the table says, the interval of the difference lies beyond 0 as often as the table says.
func TestPowerBySimulation(t *testing.T) {
	const experiments = 400
	for _, x := range []struct {
		design     Design
		difference float64
		repeats    int
		power      float64
	}{
		{Design{Rate: 0.5, Within: 0.4, Across: 0.4}, 0.15, 1, 0.8},
		{Design{Rate: 0.5, Within: 0.4, Across: 0.4}, 0.15, 4, 0.9},
		{Design{Rate: 0.2, Within: 0.6, Across: 0.3}, 0.2, 2, 0.8},
		{Design{Rate: 0.8, Within: 0.3, Across: 0.3}, -0.15, 2, 0.9},
		{Design{Rate: 0.6, Within: 0, Across: 0}, 0.2, 1, 0.8},
	} {
		n := x.design.Scenarios(x.difference, x.power, x.repeats)
		found, draw := 0, simulated(rand.New(rand.NewPCG(3, 8)), x.design, x.difference)
		for e := range experiments {
			old, new := draw(n, x.repeats)
			if i := Compare(old, new, Completion(), Bootstrap{Seed: uint64(e), NumResamples: 500}); i.Low > 0 &&
				x.difference > 0 || i.High < 0 && x.difference < 0 {
				found++
			}
		}
		near(t, fmt.Sprintf("power of %+v with %d scenarios", x, n), float64(found)/experiments, x.power, 0.06)
	}
}

// familial draws two systems of scenarios in families of size: the new system does a family's scenarios with a rate of
// 0.6 in half of the families, and else, as the old one does, with 0.2.
func familial(r *rand.Rand, size int) func(scenarios, repeats int) (old, new []Row) {
	return func(scenarios, repeats int) (old, new []Row) {
		rate := 0.0
		for s := range scenarios {
			if s%size == 0 {
				if rate = 0.2; r.Float64() < 0.5 {
					rate = 0.6
				}
			}
			for k := range repeats {
				row := Row{ScenarioID: fmt.Sprint(s), Family: fmt.Sprint(s / size), Repeat: k}
				row.Episode = r.Float64() < 0.2
				old = append(old, row)
				row.Episode = r.Float64() < rate
				new = append(new, row)
			}
		}
		return old, new
	}
}

// A gain that whole families of scenarios share takes more scenarios, and the more the larger families are: an
// evaluation says how many, and that many find it as often as the table says.
func TestPowerOfFamilies(t *testing.T) {
	const size, gain, experiments = 6, 0.2, 400
	old, new := familial(rand.New(rand.NewPCG(2, 8)), size)(6000, 3)
	d, _ := Observe(old, new, Bootstrap{})
	near(t, "family size", d.FamilySize, size, 1e-9)
	near(t, "correlation in families", d.Family, 0.2*0.2/(0.16+0.5*0.16+0.5*0.24+0.2*0.2), 0.02)
	for _, repeats := range []int{1, 2} {
		n := d.Scenarios(gain, 0.8, repeats)
		alone := d
		alone.FamilySize, alone.Family = 0, 0
		if least := alone.Scenarios(gain, 0.8, repeats); float64(n) < 1.4*float64(least) {
			t.Errorf("%d scenarios of families, and %d others, find as much", n, least)
		}
		n = (n + size - 1) / size * size
		found, draw := 0, familial(rand.New(rand.NewPCG(3, 8)), size)
		for e := range experiments {
			old, new := draw(n, repeats)
			if Compare(old, new, Completion(), Bootstrap{Seed: uint64(e), NumResamples: 500}).Low > 0 {
				found++
			}
		}
		near(t, fmt.Sprintf("power of %d scenarios, %d repeats", n, repeats), float64(found)/experiments, 0.8, 0.07)
		if x, _ := d.Detectable(n, 0.8, repeats); x > gain {
			t.Errorf("%d scenarios find a gain of %v, not %v", n, x, gain)
		}
	}
}

// By hand: of two families of four, three and one scenario are gained. From the mean of 1/2 the products of two of a
// family add up to 0, and two scenarios that have nothing in common would have -2/64, where the variance is 1/4.
func TestObserveFamilies(t *testing.T) {
	rows := func(wins string, family func(i int) int) (old, new []Row) {
		old, new = table(strings.Repeat("0", len(wins))), table(wins)
		for i := range old {
			old[i].Family, new[i].Family = fmt.Sprint(family(i)), fmt.Sprint(family(i))
		}
		return old, new
	}
	old, new := rows("11100001", func(i int) int { return i / 4 })
	d, _ := Observe(old, new, Bootstrap{})
	near(t, "correlation", d.Family, 2./64*4, 1e-12)
	near(t, "size", d.FamilySize, 4, 1e-12)
	old, new = rows("1100", func(i int) int { return min(i, 1) })
	d, _ = Observe(old, new, Bootstrap{})
	near(t, "size of one and three", d.FamilySize, (1+9)/4., 1e-12)
	old, new = rows("1100", func(i int) int { return i })
	if d, _ = Observe(old, new, Bootstrap{}); d.FamilySize != 0 || d.Family != 0 {
		t.Errorf("no families: %+v", d)
	}
}

// Scenarios of families that have nothing in common are as those in none; and what is too small to be found ends at
// once.
func TestPowerAtTheEnds(t *testing.T) {
	old, new := simulated(rand.New(rand.NewPCG(1, 9)), Design{Rate: 0.5, Within: 0.5, Across: 0.25}, 0.1)(3000, 2)
	for i := range old {
		old[i].Family, new[i].Family = fmt.Sprint(i/2%600), fmt.Sprint(i/2%600)
	}
	if d, _ := Observe(old, new, Bootstrap{}); d.FamilySize != 5 || d.Family > 0.02 {
		t.Errorf("%+v", d)
	}
	d := Design{Rate: 0.5, Within: 0.5, Across: 0.5}
	for _, x := range []float64{0, 1e-12, -1e-12, 9e-5} {
		if n := d.Scenarios(x, 0.8, 1); n != 0 {
			t.Errorf("%v: %d scenarios", x, n)
		}
	}
	if n := d.Scenarios(MinDifference, 0.9, 1); n < 1e8 {
		t.Errorf("%d scenarios", n)
	}
	// Few families leave few degrees of freedom, even where their scenarios have nothing in common.
	few := Design{Rate: 0.5, FamilySize: 10}
	if n := few.Scenarios(0.4, 0.8, 1); n < 2*(Design{Rate: 0.5}).Scenarios(0.4, 0.8, 1) {
		t.Errorf("%d scenarios of few families", n)
	}
	one := d
	one.FamilySize, one.Family = 1, 0.9
	if one.Scenarios(0.1, 0.8, 1) != d.Scenarios(0.1, 0.8, 1) {
		t.Error("a family of one is a family")
	}
}

// The textbook's numbers: with independent attempts (1.96 + 0.84)^2 (p q + p' q') / d^2, Fleiss, Levin and Paik 2003;
// and what the table is made of agrees with itself.
func TestPowerTable(t *testing.T) {
	d := Design{Rate: 0.5}
	if n := d.Scenarios(0.1, 0.8, 1); math.Abs(float64(n)-math.Pow(1.959964+0.841621, 2)*(0.25+0.24)/0.01) > 3 {
		t.Errorf("%d scenarios", n)
	}
	d = Design{Rate: 0.5, Within: 0.5, Across: 0.5}
	rows := PowerTable(d, []float64{0.05, 0.2, 0.6}, []int{1, 4}, []float64{0.8, 0.9})
	if len(rows) != 12 || rows[0].Scenarios < 300 || rows[1].Scenarios <= rows[0].Scenarios ||
		rows[2].Scenarios >= rows[0].Scenarios || rows[4].Scenarios >= rows[0].Scenarios || rows[8].Scenarios != 0 {
		t.Errorf("%+v", rows)
	}
	for _, r := range rows[:8] {
		x, found := d.Detectable(r.Scenarios, r.Power, r.Repeats)
		if near(t, fmt.Sprintf("what %+v finds", r), x, r.Difference, 0.05*r.Difference); !found || x > r.Difference {
			t.Errorf("%+v: %v, %v", r, x, found)
		}
	}
	if _, found := d.Detectable(3, 0.9, 1); found {
		t.Error("three scenarios find something")
	}
}

func TestObserve(t *testing.T) {
	for _, want := range []Design{
		{Rate: 0.3, Within: 0.6, Across: 0.6},
		{Rate: 0.7, Within: 0.5, Across: 0.25},
		{Rate: 0.5},
	} {
		old, new := simulated(rand.New(rand.NewPCG(1, 9)), want, 0.1)(3000, 3)
		got, repeated := Observe(old, new, Bootstrap{})
		near(t, "rate", got.Rate, want.Rate, 0.02)
		near(t, "within", got.Within, want.Within, 0.03)
		near(t, "across", got.Across, want.Across, 0.04)
		if !repeated {
			t.Error("three repeats are none")
		}
	}
	old, new := simulated(rand.New(rand.NewPCG(1, 9)), Design{Rate: 0.5, Within: 0.5, Across: 0.5}, 0)(2000, 1)
	if got, repeated := Observe(old, new, Bootstrap{}); repeated || got.Within != got.Across ||
		math.Abs(got.Across-0.5) > 0.05 {
		t.Errorf("one repeat: %+v, %v", got, repeated)
	}
	if got, repeated := Observe(nil, new, Bootstrap{}); repeated || got != (Design{}) {
		t.Errorf("nothing in common: %+v", got)
	}
}
