package view

import (
	"slices"

	"hone/internal/job/records"
	"hone/internal/run"
)

// Group is the attempts at one scenario in one step, by rollout.
type Group struct {
	Asks  string   `json:"asks"`
	Names []string `json:"names"`
	// Advantages are those of the turns of each attempt, or one for all; null where it is not learnt from, and Says
	// why.
	Advantages [][]float64 `json:"advantages"`
	Says       []string    `json:"says"`
}

// group reads one.
func (f *followed) group(stage string, step int, scenario string) (Group, error) {
	out := Group{Names: f.index.attempts(stage, step, scenario), Advantages: [][]float64{}, Says: []string{}}
	if x := f.scenarios()[scenario]; x != nil {
		out.Asks = x.Asks()
	}
	err := records.ReadLedger(f.Path, func(l *run.Ledger) error {
		for _, name := range out.Names {
			found, err := f.findIn(l, name)
			if err != nil {
				return err
			}
			list, says := f.advantages(found)
			out.Advantages, out.Says = append(out.Advantages, list), append(out.Says, says)
		}
		return nil
	})
	return out, err
}

// attempts are the names of those at a scenario in a step, by rollout.
func (x *Index) attempts(stage string, step int, scenario string) []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var found []*row
	for i := range x.rows {
		if r := &x.rows[i]; r.step == step && x.stages.names[r.stage] == stage &&
			x.scenarios.names[r.scenario] == scenario {
			found = append(found, r)
		}
	}
	slices.SortStableFunc(found, func(a, b *row) int { return a.rollout - b.rollout })
	names := []string{}
	for _, r := range found {
		names = append(names, r.id)
	}
	return names
}
