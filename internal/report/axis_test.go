package report

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTicks(t *testing.T) {
	for _, x := range []struct {
		low, high float64
		n         int
		want      string
	}{
		{0, 1, 4, "0 0.25 0.50 0.75 1.00"}, {1.3, 1.55, 4, "1.3 1.4 1.5 1.6"}, {0, 4, 4, "0 1 2 3 4"},
		{-0.004, 0.0049, 4, "-0.0050 -0.0025 0 0.0025 0.0050"}, {2, 2, 4, "1.0 1.5 2.0 2.5 3.0"},
		{0, 0, 4, "-0.50 -0.25 0 0.25 0.50"}, {0, 1.9e-4, 4, "0 5e-5 1e-4 1.5e-4 2e-4"},
		{3e6, 5e6, 4, "3e6 3.5e6 4e6 4.5e6 5e6"},
		{-85900, -85899.99999743998, 1, "-8.59e4 -8.59e4"}, // few digits are left below the step
	} {
		marks := ticks(x.low, x.high, x.n)
		var got []string
		for _, v := range marks {
			got = append(got, tickText(v, marks[1]-marks[0]))
		}
		if strings.Join(got, " ") != x.want {
			t.Errorf("ticks of %v to %v: %v, want %s", x.low, x.high, got, x.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(-1e9, 1e9).Draw(t, "low")
		high := low + rapid.Float64Range(1e-9, 1e9).Draw(t, "width")*math.Max(1, math.Abs(low)/1e3)
		n := rapid.IntRange(1, 10).Draw(t, "n")
		got := ticks(low, high, n)
		step := got[1] - got[0]
		if got[0] > low+step/1e6 || got[len(got)-1] < high-step/1e6 || len(got) > n+3 {
			t.Fatalf("%v to %v: %v", low, high, got)
		}
		seen := map[string]bool{}
		for _, v := range got {
			if step > math.Abs(v)/100 {
				if text := tickText(v, step); seen[text] {
					t.Fatalf("two ticks are %s: %v", text, got)
				} else {
					seen[text] = true
				}
			}
		}
	})
}

func TestWholeTicks(t *testing.T) {
	for _, x := range []struct {
		low, high int
		want      []float64
	}{
		{0, 11, []float64{0, 5, 10}},
		{4, 12, []float64{4, 6, 8, 10, 12}},
		{7, 7, []float64{7}},
		{1, 100, []float64{20, 40, 60, 80, 100}},
		{0, 3, []float64{0, 1, 2, 3}},
	} {
		got := wholeTicks(x.low, x.high, 5)
		if len(got) != len(x.want) || got[0] != x.want[0] || got[len(got)-1] != x.want[len(x.want)-1] {
			t.Errorf("%d to %d: %v, want %v", x.low, x.high, got, x.want)
		}
	}
}

// A value that is no number lifts the pen, and is counted.
func TestDraw(t *testing.T) {
	steps := []Step{
		{1, map[string]float64{"loss": 2.5}},
		{2, map[string]float64{"loss": math.NaN()}},
		{3, map[string]float64{"loss": 1.25}},
		{4, nil},
		{5, map[string]float64{"loss": 1.5}},
	}
	p := draw(metric{name: "loss"}, steps)
	if p.Skipped != 1 || p.Latest != "1.5" || len(p.Dots) != 3 || p.Path != "M0.0 0.0M150.0 108.3L300.0 86.7" {
		t.Errorf("%+v", p)
	}
	if p := draw(metric{name: "none"}, steps); p.Latest != "" || p.Path != "" {
		t.Errorf("%+v", p)
	}
	if p := draw(metric{name: "x", form: share}, []Step{{0, map[string]float64{"x": 0}}}); len(p.Y) < 2 ||
		p.Y[len(p.Y)-1].Text != "100%" {
		t.Errorf("a share of 0: %+v", p.Y)
	}
}

// The worst groups and the best, none in both; of equal ones those that teach.
func TestExtremes(t *testing.T) {
	var groups []Group
	for i := range 14 {
		groups = append(groups,
			Group{Step: i, ScenarioID: string(rune('a' + i)), Rewards: []float64{float64(i / 4), float64(i / 4)}})
	}
	groups[2].Rewards = []float64{-1, 1}
	groups = append(groups, Group{ScenarioID: "lost"})
	names := func(list []Group) (out string) {
		for _, g := range list {
			out += g.ScenarioID
		}
		return out
	}
	worst, best := Extremes(groups)
	if names(worst) != "cdbah" || names(best) != "nmlkj" {
		t.Errorf("worst %s, best %s", names(worst), names(best))
	}
	worst, best = Extremes(groups[:3])
	if names(worst) != "cb" || names(best) != "a" {
		t.Errorf("of three: worst %s, best %s", names(worst), names(best))
	}
}
