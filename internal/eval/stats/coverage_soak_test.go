//go:build soak

package stats

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// The whole of it: 30 to 200 scenarios, one and four repeats, with and without families, rates from 0.03 to 0.97, A/A
// and shifted, each combination 4,000 times. Intervals of a difference cover 94 to 96% of A/A and of shifted
// comparisons, clustered and not. Where fewer than five failures, or successes, are to be expected, most A/A
// comparisons differ in so few scenarios that no interval can leave out 0: they cover more, and never less than 94%.
// Intervals of a rate cover 94 to 97% where ten pieces of evidence or more are to hold the rarer outcome, and never
// less than 94%.
func TestSoakCoverage(t *testing.T) {
	table := map[string]*miss{}
	for i, w := range worldsOf([]int{30, 60, 120, 200}, []int{1, 4}, []bool{false, true},
		[]float64{0.03, 0.1, 0.5, 0.9, 0.97}) {
		m := w.missed(4000, uint64(i), 2000)
		t.Logf("%s: coverage %.4f (above %.4f, below %.4f, too few %.2f), of the rate %.4f (too few %.2f)",
			w, m.covered(), m.above/m.n, m.below/m.n, m.few/m.n, m.rateCovered(), m.rateFew/m.n)
		for _, g := range w.groups() {
			if table[g] == nil {
				table[g] = &miss{}
			}
			table[g].add(m)
		}
		if m.covered() < 0.94-0.01 || m.rateCovered() < 0.94-0.01 {
			t.Errorf("%s: coverage %v, of the rate %v", w, m.covered(), m.rateCovered())
		}
	}
	for _, g := range slices.Sorted(maps.Keys(table)) {
		m := table[g]
		t.Logf("%-60s coverage %.4f (above %.4f, below %.4f, too few %.2f), of the rate %.4f (too few %.2f), n %.0f",
			g, m.covered(), m.above/m.n, m.below/m.n, m.few/m.n, m.rateCovered(), m.rateFew/m.n, m.n)
		if g[0] == 'R' {
			if high := map[bool]float64{true: 0.97,
				false: 1}[strings.HasPrefix(g, "R 10")]; !(m.rateCovered() >= 0.94 && m.rateCovered() <= high) {
				t.Errorf("%s: coverage of the rate %v", g, m.rateCovered())
			}
			continue
		}
		high := map[byte]float64{'A': 0.96, 'B': 0.965, 'C': 1}[g[0]]
		if !(m.covered() >= 0.94 && m.covered() <= high) {
			t.Errorf("%s: coverage %v", g, m.covered())
		}
	}
}

// groups are some properties of a world, for a table: those that begin with A hold it to 94 to 96%. Those that begin
// with R are of the rate.
func (w world) groups() []string {
	clusters, rarer := float64(w.scenarios), min(w.rate+w.shift, 1-w.rate-w.shift)
	if w.families {
		clusters /= 2.95 // the mean size of a family
	}
	expected := "0 to 5"
	switch x := clusters * rarer; {
	case x >= 10:
		expected = "10 or more"
	case x >= 5:
		expected = "5 to 10"
	}
	rates := fmt.Sprintf("R %s of the rarer outcome, families %v", expected, w.families)
	if float64(w.scenarios*w.repeats)*w.rate*(1-w.rate) < 5 {
		return []string{fmt.Sprintf("C few outcomes, families %v, shifted %v", w.families, w.shift != 0), rates}
	}
	return []string{
		rates, "A all", fmt.Sprintf("A families %v, shifted %v",
			w.families, w.shift != 0), fmt.Sprintf("B %3d scenarios, families %v", w.scenarios, w.families),
		fmt.Sprintf("B rate %.2f, shifted %v", w.rate, w.shift != 0),
		fmt.Sprintf("B %d repeats, families %v, shifted %v", w.repeats, w.families, w.shift != 0),
	}
}

// Over 500 scenarios, looked at after each, no more than 5% of the sequences miss the mean at any time.
func TestSoakSequence(t *testing.T) {
	for name, w := range worlds() {
		got, fixed, width := misled(4000, 500, w.draw, w.mean)
		t.Logf("%-24s sequence misses %.4f, an interval for a fixed number %.4f; width %.3f", name, got, fixed, width)
		if got > 0.05 {
			t.Errorf("%s: %v of the sequences miss the mean", name, got)
		}
	}
}
