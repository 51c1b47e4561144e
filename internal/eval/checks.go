package eval

import (
	"slices"
	"strings"

	"hone/internal/episode/reward"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/grade"
)

// ByChecks tells success by the scenarios' own checks and gold calls. Defaults gives the schema defaults of a tool's arguments;
// nil for none. byID must hold the scenario of each trajectory that is scored.
func ByChecks(byID map[string]*scenario.Scenario, defaults grade.Defaults) Criteria {
	return Criteria{
		FirstCall:  func(t *trajectory.Trajectory) bool { return reward.FirstCall(byID[t.ScenarioID], t, defaults) },
		Episode:    func(t *trajectory.Trajectory) bool { return reward.Episode(byID[t.ScenarioID], t, defaults) },
		ExtraCalls: func(t *trajectory.Trajectory) int { return reward.ExtraCalls(byID[t.ScenarioID], t) },
		NumGold:    func(id string) int { return len(byID[id].Gold) },
		Kind:       func(id string) string { return kindOf(byID[id].Tags) },
		Tags:       func(id string) []string { return byID[id].Tags },
		Tools: func(id string) (names []string) {
			for _, g := range byID[id].Gold {
				names = append(names, g.Name)
			}
			slices.Sort(names)
			return slices.Compact(names)
		},
	}
}

// kindOf is the value of the tag kind:VALUE, "" without one.
func kindOf(tags []string) string {
	for _, t := range tags {
		if kind, ok := strings.CutPrefix(t, "kind:"); ok {
			return kind
		}
	}
	return ""
}
