package stats

import (
	"fmt"
	"runtime"
	"slices"
	"sync"

	"hone/internal/data/overlap"
)

// Comparison is systems that were evaluated on the same scenarios. Only Systems is required.
type Comparison struct {
	Systems []System // in the order they arose: base, sft, grpo
	// Pairs are the systems to compare; nil: each with all before it, the nearest first.
	Pairs []Pair
	Parts []Part
	// TrainedOn are ids of scenarios that the model learnt from.
	TrainedOn []string
	// NearTrained are scenarios near to what the model learnt from, without those.
	NearTrained []overlap.Near
	Bootstrap
}

// Pair names two systems that are compared: what New does is held against Old.
type Pair struct {
	Old string `json:"old"`
	New string `json:"new"`
}

// ModelsPart is the part of an evaluation, and of no training, in which models worked.
const ModelsPart = "models"

// Part is the time one part of the run took: of an evaluation, added up over its episodes. Orchestration marks time in
// which neither trainer nor sampler worked, or of an evaluation no model, tool or user; its share of the whole is
// reported.
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
	Pairs              []Pair             `json:"pairs,omitempty"`     // where they are not each with all before it
	Parts              []Part             `json:"parts,omitempty"`
	TrainedOn          []string           `json:"trained_on,omitempty"` // ids of scenarios that the model learnt from
	// scenarios near to what it learnt from, without those
	NearTrained []overlap.Near `json:"near_trained,omitempty"`

	// names of the systems, in the order in which they arose
	Order       []string     `json:"order,omitempty"`
	Regressions []Regression `json:"regressions,omitempty"` // scenarios, the largest fall first
	// tools, servers, kinds, the largest fall first
	PartRegressions []PartRegression `json:"part_regressions,omitempty"`
	Breakdowns      []Breakdown      `json:"breakdowns,omitempty"`
	// ids of scenarios that no system did in any episode
	NeverDone  []string `json:"never_done,omitempty"`
	AlwaysDone []string `json:"always_done,omitempty"` // and of those that every system did in each
	// and of those of which no system has an episode in its rates
	Unmeasured []string `json:"unmeasured,omitempty"`
	// systems of which half of the episodes or more are in no rate
	Unreliable []string `json:"unreliable,omitempty"`
}

// Results computes the numbers.
func (c Comparison) Results() Results {
	out := Results{Systems: map[string]Summary{}, Deltas: c.deltas(), Pairs: c.Pairs, Parts: c.Parts,
		TrainedOn: c.TrainedOn, NearTrained: c.NearTrained}
	summaries := make([]Summary, len(c.Systems))
	atOnce(len(summaries), func(i int) { summaries[i] = Summarize(c.Systems[i], c.Bootstrap) })
	for i, s := range c.Systems {
		out.Systems[s.Name] = summaries[i]
		out.Order = append(out.Order, s.Name)
		if s.Unreliable() {
			out.Unreliable = append(out.Unreliable, s.Name)
		}
	}
	out.Breakdowns, out.Regressions = c.Breakdowns(), c.Regressions()
	out.PartRegressions = partRegressions(out.Breakdowns, c.pairs())
	out.NeverDone, out.AlwaysDone, out.Unmeasured = c.extremes()
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

// deltas are the differences of the pairs.
func (c Comparison) deltas() []Delta {
	pairs := c.pairs()
	if len(pairs) == 0 {
		return nil
	}
	out := make([]Delta, len(pairs))
	atOnce(len(out), func(i int) {
		out[i] = Difference(c.Systems[c.place(pairs[i].Old)], c.Systems[c.place(pairs[i].New)], c.Bootstrap)
	})
	return out
}

// atOnce does n things, as many at a time as there are cores. What one gives must depend on it alone.
func atOnce(n int, do func(i int)) {
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for i := range n {
		free <- struct{}{}
		all.Go(func() {
			do(i)
			<-free
		})
	}
	all.Wait()
}

// pairs are those of systems that are there.
func (c Comparison) pairs() []Pair {
	if c.Pairs != nil {
		return slices.DeleteFunc(slices.Clone(c.Pairs), func(p Pair) bool {
			return c.place(p.Old) < 0 || c.place(p.New) < 0
		})
	}
	var out []Pair
	for i := range c.Systems {
		for j := i - 1; j >= 0; j-- {
			out = append(out, Pair{c.Systems[j].Name, c.Systems[i].Name})
		}
	}
	return out
}

// place is where a system stands among all, -1 of one that is not there.
func (c Comparison) place(name string) int {
	return slices.IndexFunc(c.Systems, func(s System) bool { return s.Name == name })
}

func number(x float64) string { return fmt.Sprintf("%.4g", x) }
