package stats

import (
	"slices"
	"strings"

	"hone/internal/episode/reward"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/grade"
)

// Tags of a scenario that evaluation reads.
const (
	KindTag        = "kind:"        // kind:VALUE, the group it is reported in
	FamilyTag      = "family:"      // family:VALUE, tasks made alike, such as from one template
	MissingToolTag = "missing_tool" // the tool it takes is not among those shown
)

// Learnt are the tools, by the names the model calls them by, and the servers that a system was trained on.
type Learnt struct {
	Tools   map[string]bool `json:"tools"`
	Servers map[string]bool `json:"servers"`
}

// Known is what the scenarios do not say themselves. The zero value knows nothing.
type Known struct {
	// of a tool, by the name the model calls it by; "" where there is no such tool
	Server func(tool string) string
	Learnt *Learnt                                 // nil where it is not known what the system was trained on
	Cost   func(t *trajectory.Trajectory) *float64 // of an episode, US dollars; nil where it is not known
}

// ByChecks tells success by the scenarios' own checks and gold calls. Defaults gives the schema defaults of a tool's
// arguments; nil for none. byID must hold the scenario of each trajectory that is scored.
func ByChecks(byID map[string]*scenario.Scenario, defaults grade.Defaults, known Known) Criteria {
	return Criteria{
		FirstCall:  func(t *trajectory.Trajectory) bool { return reward.FirstCall(byID[t.ScenarioID], t, defaults) },
		Episode:    func(t *trajectory.Trajectory) bool { return reward.Episode(byID[t.ScenarioID], t, defaults) },
		ExtraCalls: func(t *trajectory.Trajectory) int { return reward.ExtraCalls(byID[t.ScenarioID], t) },
		Attacked: func(t *trajectory.Trajectory) (bool, bool, bool) {
			return reward.AttackOutcome(byID[t.ScenarioID], t, defaults)
		},
		Unjudged: func(t *trajectory.Trajectory) []string { return reward.Unseen(byID[t.ScenarioID], t) },
		Wanted: func(r trajectory.ToolResult, id string) bool {
			return slices.ContainsFunc(byID[id].Checks, func(c scenario.Check) bool {
				return c.Type == scenario.CallCheck && c.Refused && c.IsCall(r.Call, defaults)
			})
		},
		Cost:     known.Cost,
		Describe: func(r *Row) { describe(r, byID[r.ScenarioID], known) },
	}
}

// describe fills in what a scenario says of its rows.
func describe(r *Row, s *scenario.Scenario, known Known) {
	r.Tags, r.Kind, r.Family = s.Tags, tagValue(s.Tags, KindTag), tagValue(s.Tags, FamilyTag)
	r.Difficulty, r.NumGold = s.Difficulty, len(s.Gold)
	if r.Difficulty == "" {
		r.Difficulty = tagValue(s.Tags, "difficulty:")
	}
	r.MissingTool = slices.Contains(s.Tags, MissingToolTag)
	r.NoTool = len(s.Gold) == 0 && slices.ContainsFunc(s.Checks, func(c scenario.Check) bool {
		return c.Type == scenario.NoCallCheck && c.Name == ""
	})
	for _, g := range s.Gold {
		r.Tools = append(r.Tools, g.Name)
		if known.Server != nil {
			if server := known.Server(g.Name); server != "" {
				r.Servers = append(r.Servers, server)
			}
		}
	}
	r.Tools, r.Servers = once(r.Tools), once(r.Servers)
	if known.Learnt != nil {
		r.SeenTools, r.SeenServers = allOf(r.Tools, known.Learnt.Tools), allOf(r.Servers, known.Learnt.Servers)
	}
}

// tagValue is the value of the first tag that begins with prefix, "" without one.
func tagValue(tags []string, prefix string) string {
	for _, t := range tags {
		if value, ok := strings.CutPrefix(t, prefix); ok {
			return value
		}
	}
	return ""
}

func once(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// allOf reports whether all names are in a set, nil where there is no name.
func allOf(names []string, set map[string]bool) *bool {
	if len(names) == 0 {
		return nil
	}
	all := !slices.ContainsFunc(names, func(n string) bool { return !set[n] })
	return &all
}
