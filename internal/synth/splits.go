package synth

import (
	"hone/internal/data/overlap"
	"hone/internal/episode/scenario"
)

// Apart reports whether a scenario can join others in its split: it shares no call with one of another split, and no
// such one reads nearly the same. Else what is trained on would be tested.
func Apart(s scenario.Scenario, others []scenario.Scenario) bool {
	if len(s.Gold) > 0 {
		rows := append([]scenario.Scenario{s}, others...)
		keys := scenario.Together(rows)
		for i, key := range keys {
			if rows[i].Split != s.Split && key == keys[0] {
				return false
			}
		}
	}
	x := overlap.NewIndex(overlap.Threshold)
	for _, o := range others {
		if o.Split != s.Split {
			x.Add(overlap.Read(o.Task)[0])
		}
	}
	for _, m := range x.Near(overlap.Read(s.Task)[0]) {
		if len(s.Gold) > 0 || m.SameValues {
			return false
		}
	}
	return true
}
