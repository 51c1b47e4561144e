package report_test

import (
	"testing"

	"hone/internal/run/report"
)

func TestExtremes(t *testing.T) {
	var groups []report.Group
	for i := range 14 {
		groups = append(groups, report.Group{Step: i, ScenarioID: string(rune('a' + i)),
			Rewards: []float64{float64(i / 4), float64(i / 4)}})
	}
	groups[2].Rewards = []float64{-1, 1}
	groups = append(groups, report.Group{ScenarioID: "lost"})
	names := func(list []report.Group) (out string) {
		for _, g := range list {
			out += g.ScenarioID
		}
		return out
	}
	worst, best := report.Extremes(groups)
	if names(worst) != "cdbah" || names(best) != "nmlkj" {
		t.Errorf("worst %s, best %s", names(worst), names(best))
	}
	worst, best = report.Extremes(groups[:3])
	if names(worst) != "cb" || names(best) != "a" {
		t.Errorf("of three: worst %s, best %s", names(worst), names(best))
	}
}
