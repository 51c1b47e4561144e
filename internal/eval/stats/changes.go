package stats

import (
	"cmp"
	"maps"
	"slices"
	"sort"
)

// Change is a scenario that one system does more or less often than another.
type Change struct {
	ScenarioID string  `json:"scenario_id"`
	Kind       string  `json:"kind,omitempty"`
	Old        float64 `json:"old"` // rates of the whole episode, in [0, 1]
	New        float64 `json:"new"`
}

// Changes lists the scenarios whose whole-episode success differs between two systems, the largest fall first, ties by
// id.
func Changes(old, new []Row) []Change {
	was, is := gather(old, Completion()), gather(new, Completion())
	kinds := map[string]string{}
	for _, r := range new {
		kinds[r.ScenarioID] = r.Kind
	}
	var out []Change
	for _, id := range slices.Sorted(maps.Keys(is)) {
		before, both := was[id]
		if !both {
			continue
		}
		if c := (Change{id, kinds[id], before.sum().mean(), is[id].sum().mean()}); c.Old != c.New {
			out = append(out, c)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return cmp.Compare(out[i].New-out[i].Old, out[j].New-out[j].Old) < 0 })
	return out
}

// Regression is a scenario that a system does less often than others that it is compared with.
type Regression struct {
	ScenarioID string             `json:"scenario_id"`
	Kind       string             `json:"kind,omitempty"`
	System     string             `json:"system"`
	Rate       float64            `json:"rate"`   // of the whole episode, in [0, 1]
	Others     map[string]float64 `json:"others"` // the systems that do it more often, and how often
	Fall       float64            `json:"fall"`   // from the best of them
	Every      bool               `json:"every"`  // all that it is compared with do it more often
}

// Regressions lists what each system does less often than the others that it is compared with: first what every other
// one does more often, the largest fall first; of equal ones the larger fall from all of them together, then by
// scenario.
func (c Comparison) Regressions() []Regression {
	type key struct{ scenario, system string }
	by := map[key]*Regression{}
	var out []*Regression
	total, compared := map[*Regression]float64{}, map[string]int{}
	for _, p := range c.pairs() {
		compared[p.New]++
		for _, change := range Changes(c.Systems[c.place(p.Old)].Rows, c.Systems[c.place(p.New)].Rows) {
			if change.New > change.Old {
				continue
			}
			k := key{change.ScenarioID, p.New}
			if by[k] == nil {
				by[k] = &Regression{ScenarioID: change.ScenarioID, Kind: change.Kind, System: p.New, Rate: change.New,
					Others: map[string]float64{}}
				out = append(out, by[k])
			}
			by[k].Others[p.Old] = change.Old
			by[k].Fall = max(by[k].Fall, change.Old-change.New)
			total[by[k]] += change.Old - change.New
		}
	}
	for _, r := range out {
		r.Every = len(r.Others) == compared[r.System]
	}
	slices.SortStableFunc(out, func(a, b *Regression) int {
		return cmp.Or(cmp.Compare(oneIf(b.Every), oneIf(a.Every)), cmp.Compare(b.Fall, a.Fall),
			cmp.Compare(total[b], total[a]), cmp.Compare(a.ScenarioID, b.ScenarioID))
	})
	list := make([]Regression, len(out))
	for i, r := range out {
		list[i] = *r
	}
	return list
}

// extremes are the ids of the scenarios that no system did in any episode, those that every system did in each of its
// episodes, and those without an episode that counts. What only some systems were asked is judged by them.
func (c Comparison) extremes() (never, always, unmeasured []string) {
	type tally struct{ done, all int }
	by := map[string]tally{}
	for _, s := range c.Systems {
		for _, r := range s.Lost {
			by[r.ScenarioID] = tally{by[r.ScenarioID].done, by[r.ScenarioID].all}
		}
		for _, r := range s.Rows {
			t := by[r.ScenarioID]
			t.all++
			if r.Episode {
				t.done++
			}
			by[r.ScenarioID] = t
		}
	}
	for _, id := range slices.Sorted(maps.Keys(by)) {
		switch t := by[id]; {
		case t.all == 0:
			unmeasured = append(unmeasured, id)
		case t.done == 0:
			never = append(never, id)
		case t.done == t.all:
			always = append(always, id)
		}
	}
	return never, always, unmeasured
}
