package view

import (
	"sort"

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
	names, whole := f.index.attempts(stage, step, scenario)
	out := Group{Names: names, Advantages: [][]float64{}, Says: []string{}}
	if x := f.scenarios()[scenario]; x != nil {
		out.Asks = x.Asks()
	}
	err := records.ReadLedger(f.Path, func(l *run.Ledger) (err error) {
		if !whole { // a link opens before the index is read
			if out.Names, err = attemptsIn(l, stage, step, scenario); err != nil {
				return err
			}
		}
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

// attempts are the names of those at a scenario in a step, by rollout; whole is whether all rows were read.
func (x *Index) attempts(stage string, step int, scenario string) (names []string, whole bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var found attempts
	for i := range x.rows {
		if r := &x.rows[i]; r.step == step && x.stages.names[r.stage] == stage &&
			x.scenarios.names[r.scenario] == scenario {
			found = append(found, attempt{r.id, r.rollout})
		}
	}
	return found.names(), x.whole
}

// attemptsIn are the same, from the ledger's rows of the step.
func attemptsIn(l *run.Ledger, stage string, step int, scenario string) ([]string, error) {
	rows, err := l.Trajectories(stage, step)
	var found attempts
	for _, row := range rows {
		if e, err := recordOf(row); err == nil && e.ScenarioID == scenario {
			found = append(found, attempt{row.ID, e.Rollout})
		}
	}
	return found.names(), err
}

type attempt struct {
	name    string
	rollout int
}

type attempts []attempt

func (a attempts) names() []string {
	sort.SliceStable(a, func(i, j int) bool { return a[i].rollout < a[j].rollout })
	names := []string{}
	for _, x := range a {
		names = append(names, x.name)
	}
	return names
}
