package eval

import (
	"fmt"
	"slices"
	"sort"
	"strconv"

	"hone/internal/blob"
	"hone/internal/episode/scenario"
	"hone/internal/fault"
)

// sampleScenarios are at most n of the scenarios, in their order: those that come first in a random order of the seed,
// so that more of them hold the fewer. n of 0 is all.
func sampleScenarios(tasks []scenario.Scenario, n int, seed uint64) ([]scenario.Scenario, error) {
	if n < 0 {
		return nil, &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("cannot draw %d scenarios", n),
			Where: "--limit", Next: "give 1 or more, or leave it out"}
	}
	if n == 0 || n >= len(tasks) {
		return tasks, nil
	}
	place := func(s scenario.Scenario) string {
		return blob.Parts("limit", strconv.FormatUint(seed, 10), s.ID).String()
	}
	byPlace := slices.Clone(tasks)
	sort.Slice(byPlace, func(i, j int) bool { return place(byPlace[i]) < place(byPlace[j]) })
	return slices.DeleteFunc(slices.Clone(tasks), func(s scenario.Scenario) bool {
		return !slices.ContainsFunc(byPlace[:n], func(d scenario.Scenario) bool { return d.ID == s.ID })
	}), nil
}
