package stats

import (
	"cmp"
	"maps"
	"slices"
	"sort"

	"hone/internal/episode/trajectory"
)

// Model says what a system is: a base model alone, with an adapter on it, or an endpoint.
type Model struct {
	Base     string `json:"base,omitempty"`
	Adapter  string `json:"adapter,omitempty"`  // its folder
	Endpoint string `json:"endpoint,omitempty"` // provider/model
}

// System is one model under evaluation: its name ("base", "sft", "grpo") and its scored episodes.
type System struct {
	Name     string
	Model    Model
	Rows     []Row
	Excluded map[trajectory.Outcome]int // episodes that are in no rate, by outcome
	Lost     []Row                      // the same episodes; nothing is known of their success
	Episodes []Example                  // all of them, to be shown
}

// NumExcluded is how many episodes are in no rate. It belongs beside each rate: leaving many out can flatter a system.
func (s System) NumExcluded() int {
	n := 0
	for _, k := range s.Excluded {
		n += k
	}
	return n
}

// Unreliable reports whether half of the episodes or more are in no rate, so that the rates speak for the rest alone.
func (s System) Unreliable() bool {
	n := s.NumExcluded()
	return n > 0 && n >= len(s.Rows)
}

// FirstLoss is the error of the first episode that is in no rate, with what its server said last; "" where there is
// none.
func (s System) FirstLoss() string {
	for _, e := range s.Episodes {
		if !e.Trajectory.Outcome.Trainable() && e.Trajectory.Error != "" {
			return e.Trajectory.Error
		}
	}
	return ""
}

// NumRepeats is the most episodes that any scenario has, those in no rate among them.
func (s System) NumRepeats() int {
	n, most := map[string]int{}, 0
	for _, r := range slices.Concat(s.Rows, s.Lost) {
		n[r.ScenarioID]++
		most = max(most, n[r.ScenarioID])
	}
	return most
}

// WorstCase are the rows with those of the lost episodes, each counted as a failure: no way of judging them would give
// a lower rate. Episodes that are only counted, in Excluded, have no scenario and are not here.
func (s System) WorstCase() []Row { return slices.Concat(s.Rows, s.Lost) }

// FailedToRun is a check of a scenario that gave no verdict.
type FailedToRun struct {
	ScenarioID string `json:"scenario_id"`
	Check      string `json:"check"` // "checks[0] (sql)"
	Num        int    `json:"num"`   // of episodes
}

// BrokenChecks names the checks that gave no verdict, most often first, ties by scenario.
func (s System) BrokenChecks() []FailedToRun {
	type key struct{ scenario, check string }
	n := map[key]int{}
	for _, r := range slices.Concat(s.Rows, s.Lost) {
		for _, check := range r.ChecksFailedToRun {
			n[key{r.ScenarioID, check}]++
		}
	}
	var out []FailedToRun
	keys := slices.Collect(maps.Keys(n))
	sort.Slice(keys, func(i, j int) bool {
		a, b := keys[i], keys[j]
		return cmp.Or(cmp.Compare(n[b], n[a]), cmp.Compare(a.scenario, b.scenario), cmp.Compare(a.check, b.check)) < 0
	})
	for _, k := range keys {
		out = append(out, FailedToRun{k.scenario, k.check, n[k]})
	}
	return out
}
