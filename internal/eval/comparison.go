package eval

import (
	"cmp"
	"fmt"
	"slices"
)

// Comparison is systems that were evaluated on the same scenarios. Only Systems is required.
type Comparison struct {
	Systems []System // in the order they arose: base, sft, grpo
	// Pairs are the systems to compare; nil: each with the one before it, and with the first.
	Pairs []Pair
	Parts []Part
	// TrainedOn are ids of scenarios that the model learnt from.
	TrainedOn []string
	Bootstrap
}

// Pair names two systems that are compared: what New does is held against Old.
type Pair struct {
	Old string `json:"old"`
	New string `json:"new"`
}

// Part is the time one part of the run took. Orchestration marks time in which neither trainer nor sampler worked, so
// our own book-keeping is no more than that; its share of the whole is reported.
type Part struct {
	Name          string  `json:"name"`
	Seconds       float64 `json:"seconds"`
	Orchestration bool    `json:"orchestration,omitempty"`
}

// Results are the numbers of a comparison, as JSON beside the page.
type Results struct {
	Systems            map[string]Summary `json:"systems"`
	Deltas             []Delta            `json:"deltas"`
	OrchestrationShare float64            `json:"orchestration_share"` // of all parts' seconds
	Pairs              []Pair             `json:"pairs,omitempty"`     // where they are not each with the one before it, and with the first
	Parts              []Part             `json:"parts,omitempty"`
	TrainedOn          []string           `json:"trained_on,omitempty"` // ids of scenarios that the model learnt from
}

// Results computes the numbers.
func (c Comparison) Results() Results {
	out := Results{Systems: map[string]Summary{}, Deltas: c.deltas(), Pairs: c.Pairs, Parts: c.Parts, TrainedOn: c.TrainedOn}
	for _, s := range c.Systems {
		out.Systems[s.Name] = Summarize(s, c.Bootstrap)
	}
	var all, ours float64
	for _, p := range c.Parts {
		all += p.Seconds
		if p.Orchestration {
			ours += p.Seconds
		}
	}
	if all > 0 {
		out.OrchestrationShare = ours / all
	}
	return out
}

// Confidence is the coverage of the intervals.
func (c Comparison) Confidence() float64 { return c.level() }

func (c Comparison) deltas() []Delta {
	var out []Delta
	for _, p := range c.pairs() {
		old, isOld := c.system(p.Old)
		new, isNew := c.system(p.New)
		if isOld && isNew {
			out = append(out, Difference(old, new, c.Bootstrap))
		}
	}
	return out
}

func (c Comparison) pairs() []Pair {
	if c.Pairs != nil {
		return c.Pairs
	}
	var out []Pair
	for i := 1; i < len(c.Systems); i++ {
		out = append(out, Pair{c.Systems[i-1].Name, c.Systems[i].Name})
		if i > 1 {
			out = append(out, Pair{c.Systems[0].Name, c.Systems[i].Name})
		}
	}
	return out
}

func (c Comparison) system(name string) (System, bool) {
	i := slices.IndexFunc(c.Systems, func(s System) bool { return s.Name == name })
	if i < 0 {
		return System{}, false
	}
	return c.Systems[i], true
}

// Change is a scenario that one system does more or less often than another.
type Change struct {
	ScenarioID string  `json:"scenario_id"`
	Kind       string  `json:"kind,omitempty"`
	Old        float64 `json:"old"` // rates of the whole episode, in [0, 1]
	New        float64 `json:"new"`
}

// Changes lists the scenarios whose whole-episode success differs between two systems, the largest fall first, ties by id.
func Changes(old, new []Row) []Change {
	was, is := cluster(old, Episode), cluster(new, Episode)
	kinds := map[string]string{}
	for _, r := range new {
		kinds[r.ScenarioID] = r.Kind
	}
	var out []Change
	for _, id := range inOrder(is) {
		if before, both := was[id]; both && is[id].mean() != before.mean() {
			out = append(out, Change{id, kinds[id], before.mean(), is[id].mean()})
		}
	}
	slices.SortStableFunc(out, func(a, b Change) int { return cmp.Compare(a.New-a.Old, b.New-b.Old) })
	return out
}

// Breakdown is success by the values of one property of scenarios, such as their kind.
type Breakdown struct {
	Name   string // "kind"
	Values []BreakdownRow
}

// BreakdownRow is the scenarios of one value.
type BreakdownRow struct {
	Value string
	First []Interval // by system, over scenarios with gold calls
	Whole []Interval // whole-episode success, by system
}

// Break estimates success by the values that of gives a row, in alphabetic order. A row may have several values, or none, with
// which it is in no line.
func Break(name string, systems []System, of func(Row) []string, b Bootstrap) Breakdown {
	by := map[string][][]Row{}
	for i, s := range systems {
		for _, r := range s.Rows {
			for _, v := range of(r) {
				if by[v] == nil {
					by[v] = make([][]Row, len(systems))
				}
				by[v][i] = append(by[v][i], r)
			}
		}
	}
	out := Breakdown{Name: name}
	for v, rows := range by {
		k := BreakdownRow{Value: v}
		for _, r := range rows {
			k.First = append(k.First, Estimate(WithGold(r), FirstCall, b))
			k.Whole = append(k.Whole, Estimate(r, Episode, b))
		}
		out.Values = append(out.Values, k)
	}
	slices.SortFunc(out.Values, func(a, b BreakdownRow) int { return cmp.Compare(a.Value, b.Value) })
	return out
}

func number(x float64) string { return fmt.Sprintf("%.4g", x) }
