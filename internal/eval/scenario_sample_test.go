package eval

import (
	"fmt"
	"slices"
	"testing"

	"hone/internal/episode/scenario"
)

// What is drawn is the seed's: the same each time, in the order of the file, and more of them hold the fewer.
func TestDrawn(t *testing.T) {
	var all []scenario.Scenario
	for i := range 40 {
		all = append(all, scenario.Scenario{ID: fmt.Sprint("s", i)})
	}
	ids := func(n int, seed uint64) (out []int) {
		list, err := sampleScenarios(all, n, seed)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			out = append(out, slices.IndexFunc(all, func(x scenario.Scenario) bool { return x.ID == s.ID }))
		}
		return out
	}
	five, ten := ids(5, 1), ids(10, 1)
	if len(five) != 5 || len(ten) != 10 || !slices.IsSorted(five) || !slices.IsSorted(ten) ||
		slices.ContainsFunc(five, func(i int) bool { return !slices.Contains(ten, i) }) {
		t.Errorf("5 are %v, 10 are %v", five, ten)
	}
	if other := ids(5, 2); slices.Equal(five, other) || slices.Equal(five, []int{0, 1, 2, 3, 4}) {
		t.Errorf("seed 1 draws %v, seed 2 %v", five, other)
	}
	if !slices.Equal(five, ids(5, 1)) || len(ids(0, 1)) != 40 || len(ids(41, 1)) != 40 {
		t.Error("another draw of one seed, or not all where all are asked for")
	}
	if _, err := sampleScenarios(all, -1, 1); err == nil {
		t.Error("-1 is no number of scenarios")
	}
}
