//go:build soak

package eval

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

// The whole of it: 30 to 200 scenarios, one and four repeats, with and without families, rates from 0.03 to 0.97, A/A and shifted,
// each combination 4,000 times. Intervals of a difference cover 94 to 96% of A/A and of shifted comparisons, clustered and not.
// Where fewer than five failures, or successes, are to be expected, most A/A comparisons differ in so few scenarios that no interval can
// leave out 0: they cover more, and never less than 94%.
func TestSoakCoverage(t *testing.T) {
	table := map[string]*miss{}
	for i, w := range worldsOf([]int{30, 60, 120, 200}, []int{1, 4}, []bool{false, true}, []float64{0.03, 0.1, 0.5, 0.9, 0.97}) {
		m := w.missed(4000, uint64(i), 2000)
		t.Logf("%s: coverage %.4f (above %.4f, below %.4f), of the rate %.4f", w, m.covered(), m.above/m.n, m.below/m.n, m.rateCovered())
		for _, g := range w.groups() {
			if table[g] == nil {
				table[g] = &miss{}
			}
			table[g].add(m)
		}
		if m.covered() < 0.94-0.01 || m.rateCovered() < 0.9 {
			t.Errorf("%s: coverage %v, of the rate %v", w, m.covered(), m.rateCovered())
		}
	}
	for _, g := range slices.Sorted(maps.Keys(table)) {
		m := table[g]
		t.Logf("%-60s coverage %.4f (above %.4f, below %.4f), of the rate %.4f, n %.0f", g, m.covered(), m.above/m.n, m.below/m.n, m.rateCovered(), m.n)
		high := map[byte]float64{'A': 0.96, 'B': 0.965, 'C': 1}[g[0]]
		if !(m.covered() >= 0.94 && m.covered() <= high) {
			t.Errorf("%s: coverage %v", g, m.covered())
		}
	}
}

// groups are some properties of a world, for a table: those that begin with A hold it to 94 to 96%.
func (w world) groups() []string {
	if float64(w.scenarios*w.repeats)*w.rate*(1-w.rate) < 5 {
		return []string{fmt.Sprintf("C few outcomes, families %v, shifted %v", w.families, w.shift != 0)}
	}
	return []string{"A all", fmt.Sprintf("A families %v, shifted %v", w.families, w.shift != 0), fmt.Sprintf("B %3d scenarios, families %v", w.scenarios, w.families),
		fmt.Sprintf("B rate %.2f, shifted %v", w.rate, w.shift != 0), fmt.Sprintf("B %d repeats, families %v, shifted %v", w.repeats, w.families, w.shift != 0)}
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
