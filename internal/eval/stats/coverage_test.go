package stats

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// world is a population of scenarios, easy and hard ones, of which comparisons are simulated. Its truth is known
// exactly.
type world struct {
	scenarios, repeats int
	families           bool    // of 1 to 10 scenarios, of which seven in ten are as hard as each other
	rate, shift        float64 // of the old system; new minus old
}

func (w world) String() string {
	return fmt.Sprintf("%d scenarios, %d repeats, families %v, rate %v, shift %v",
		w.scenarios, w.repeats, w.families, w.rate, w.shift)
}

// draw simulates one evaluation: the sums of the clusters. An easy scenario is done with a rate of 1 - (1 - rate) / 3,
// a hard one with rate / 3; the new system does only the hard ones better, or only the easy ones worse.
func (w world) draw(r *rand.Rand) (pairs [][2]sums) {
	easy, hard := 1-(1-w.rate)/3, w.rate/3
	share := (w.rate - hard) / (easy - hard)
	left, alike := 0, false
	for range w.scenarios {
		if left == 0 {
			pairs = append(pairs, [2]sums{})
			for left = 1; w.families && left < 10 && r.Float64() < 2./3; left++ {
			}
			alike = r.Float64() < share
		}
		left--
		isEasy := alike
		if !w.families || r.Float64() > 0.7 {
			isEasy = r.Float64() < share
		}
		was, is := hard, hard+max(0, w.shift)/(1-share)
		if isEasy {
			was, is = easy, easy+min(0, w.shift)/share
		}
		p := &pairs[len(pairs)-1]
		for range w.repeats {
			p[0].add(sums{oneIf(r.Float64() < was), 1})
			p[1].add(sums{oneIf(r.Float64() < is), 1})
		}
	}
	return pairs
}

// miss counts intervals of a difference, and of the new system's rate, that lie above and below the truth, and those
// that say that outcomes are too few.
type miss struct{ above, below, rateAbove, rateBelow, few, rateFew, n float64 }

func (m miss) covered() float64     { return 1 - (m.above+m.below)/m.n }
func (m miss) rateCovered() float64 { return 1 - (m.rateAbove+m.rateBelow)/m.n }

func (m *miss) add(o miss) {
	m.above, m.below, m.rateAbove, m.rateBelow =
		m.above+o.above, m.below+o.below, m.rateAbove+o.rateAbove, m.rateBelow+o.rateBelow
	m.few, m.rateFew, m.n = m.few+o.few, m.rateFew+o.rateFew, m.n+o.n
}

// missed simulates evaluations.
func (w world) missed(num int, seed uint64, resamples int) (m miss) {
	r := rand.New(rand.NewPCG(seed, 11))
	for e := range num {
		pairs := w.draw(r)
		i := compare(pairs, w.scenarios, Rate, Bootstrap{NumResamples: resamples, Seed: uint64(e)})
		var cells []sums
		for _, p := range pairs {
			cells = append(cells, p[1])
		}
		rate := around(cells, w.scenarios, Rate, Bootstrap{})
		const rounding = 1e-9
		truth := w.rate + w.shift
		m.add(miss{
			oneIf(i.Low > w.shift+rounding), oneIf(i.High < w.shift-rounding), oneIf(rate.Low > truth+rounding),
			oneIf(rate.High < truth-rounding), oneIf(i.TooFew), oneIf(rate.TooFew), 1,
		})
	}
	return m
}

// worldsOf are all combinations of some properties, half of them A/A.
func worldsOf(scenarios, repeats []int, families []bool, rates []float64) (out []world) {
	for _, n := range scenarios {
		for _, k := range repeats {
			for _, f := range families {
				for _, p := range rates {
					shift := 0.1
					if p > 0.6 {
						shift = -0.1
					}
					out = append(out, world{n, k, f, p, 0}, world{n, k, f, p, shift})
				}
			}
		}
	}
	return out
}

// Of evaluations whose truth is known, 5% of the intervals miss it, and about as many on each side: of A/A comparisons
// and of shifted ones, also where scenarios come in few families of unequal sizes. The draws are fixed, so this is no
// game of chance. Plain percentiles cover 92% here, and intervals that take scenarios of one family for independent
// 85%. make soak has more, and tighter bounds.
func TestCoverage(t *testing.T) {
	for name, x := range map[string]struct {
		worlds []world
		each   int
	}{
		"families":                {worldsOf([]int{45}, []int{1, 4}, []bool{true}, []float64{0.1, 0.5, 0.9}), 400},
		"scenarios by themselves": {worldsOf([]int{40}, []int{1, 4}, []bool{false}, []float64{0.1, 0.5, 0.9}), 400},
	} {
		for _, shifted := range []bool{false, true} {
			var all miss
			for i, w := range x.worlds {
				if (w.shift != 0) == shifted {
					all.add(w.missed(x.each, uint64(i), 400))
				}
			}
			what := fmt.Sprintf("%s, shifted %v: ", name, shifted)
			near(t, what+"coverage", all.covered(), 0.95, 0.015)
			near(t, what+"above less below", (all.above-all.below)/all.n, 0, 0.015)
			near(t, what+"coverage of the rate", all.rateCovered(), 0.965, 0.025)
		}
	}
}

// Of rare successes and failures in families with repeats, where few clusters show how alike their rows are, the
// interval of a rate covers as often too. By the variance of the clusters as they are it covers 85%, and with two more
// that always agree 90%.
func TestCoverageOfRareRates(t *testing.T) {
	for i, w := range []world{
		{120, 4, true, 0.03, 0},
		{200, 4, true, 0.03, 0},
		{120, 4, true, 0.97, 0},
		{200, 4, true, 0.97, 0},
	} {
		if m := w.missed(1000, uint64(i), 1); m.rateCovered() < 0.935 {
			t.Errorf("%s: coverage of the rate %v", w, m.rateCovered())
		}
	}
}

// Where outcomes are too few an interval says so: fewer than 5 pieces of evidence with a success, or with a failure;
// and of a difference fewer than 6 in which the systems differ, so that they cannot be told apart even if all favour
// one.
func TestTooFew(t *testing.T) {
	ones := func(n, of int) []Row { return table(strings.Repeat("1", n) + strings.Repeat("0", of-n)) }
	family := func(rows []Row, size int) []Row {
		for i := range rows {
			rows[i].Family = fmt.Sprint(i / size)
		}
		return rows
	}
	seconds := Metric{Of: func(r Row) (float64, float64) { return r.Seconds, 1 }}
	for name, x := range map[string]struct {
		got  Interval
		want bool
	}{
		"no success":                 {Estimate(ones(0, 100), Completion(), Bootstrap{}), true},
		"4 successes":                {Estimate(ones(4, 100), Completion(), Bootstrap{}), true},
		"5 successes":                {Estimate(ones(5, 100), Completion(), Bootstrap{}), false},
		"4 failures":                 {Estimate(ones(96, 100), Completion(), Bootstrap{}), true},
		"5 failures":                 {Estimate(ones(95, 100), Completion(), Bootstrap{}), false},
		"10 successes in 4 families": {Estimate(family(ones(10, 60), 3), Completion(), Bootstrap{}), true},
		"15 successes in 5 families": {Estimate(family(ones(15, 60), 3), Completion(), Bootstrap{}), false},
		"times":                      {Estimate(ones(0, 100), seconds, Bootstrap{}), false},
		"one time":                   {Estimate(ones(0, 1), seconds, Bootstrap{}), true},
		"5 differ":                   {Compare(ones(0, 100), ones(5, 100), Completion(), Bootstrap{}), true},
		"6 differ":                   {Compare(ones(0, 100), ones(6, 100), Completion(), Bootstrap{}), false},
		"6 differ, at 99%":           {Compare(ones(0, 100), ones(6, 100), Completion(), Bootstrap{Level: 0.99}), true},
		"18 differ, in 6 families":   {Compare(family(ones(0, 60), 3), family(ones(18, 60), 3), Completion(), Bootstrap{}), false},
		"15 differ, in 5 families":   {Compare(family(ones(0, 60), 3), family(ones(15, 60), 3), Completion(), Bootstrap{}), true},
		"all alike":                  {Compare(ones(50, 100), ones(50, 100), Completion(), Bootstrap{}), true},
		"differences of times":       {Compare(ones(0, 100), ones(0, 100), seconds, Bootstrap{}), false},
	} {
		if x.got.TooFew != x.want {
			t.Errorf("%s: %+v", name, x.got)
		}
		if text := x.got.RateText() + x.got.PointsText(); strings.Count(text, "] too few") != 2*int(oneIf(x.want)) {
			t.Errorf("%s: %s", name, text)
		}
	}
	s := Summarize(System{Rows: ones(2, 100)}, Bootstrap{})
	if got := s.EpisodeText(); got != "2.0% [0.6, 7.0] too few" || s.FirstCallText() != got {
		t.Errorf("%s, %s", got, s.FirstCallText())
	}
}
