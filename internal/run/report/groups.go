package report

import (
	"cmp"
	"slices"
	"sort"
)

// Group is the rewards of one scenario's episodes under one policy, masked ones left out.
type Group struct {
	Stage      string    `json:"stage"`
	Step       int       `json:"step"`
	ScenarioID string    `json:"scenario_id"`
	Rewards    []float64 `json:"rewards"`
}

// Mean is the group's mean reward, 0 of none.
func (g Group) Mean() float64 {
	sum := 0.0
	for _, r := range g.Rewards {
		sum += r
	}
	return sum / float64(max(1, len(g.Rewards)))
}

// mostGroups is how many of the worst groups are kept in the numbers, and of the best.
const mostGroups = 5

// Extremes are the groups with the least mean reward and those with the greatest, no group in both. Of equal ones,
// those whose rewards differ come first, then the later.
func Extremes(groups []Group) (worst, best []Group) {
	sorted := slices.Clone(groups)
	sorted = slices.DeleteFunc(sorted, func(g Group) bool { return len(g.Rewards) == 0 })
	sortBy := func(sign float64, list []Group) {
		sort.SliceStable(list, func(i, j int) bool {
			a, b := list[i], list[j]
			return cmp.Or(cmp.Compare(sign*a.Mean(), sign*b.Mean()), cmp.Compare(spread(b), spread(a)),
				cmp.Compare(b.Step, a.Step), cmp.Compare(a.ScenarioID, b.ScenarioID)) < 0
		})
	}
	n := min(mostGroups, (len(sorted)+1)/2)
	sortBy(1, sorted)
	worst = slices.Clone(sorted[:n])
	rest := sorted[n:]
	sortBy(-1, rest)
	return worst, rest[:min(n, len(rest))]
}

func spread(g Group) float64 { return slices.Max(g.Rewards) - slices.Min(g.Rewards) }
