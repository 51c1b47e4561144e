// Package report makes the page of a run: one HTML file that loads nothing from anywhere. It shows what the run measured, with
// intervals, what got worse first, how training went, and the episodes themselves.
package report

import (
	"hone/internal/eval"
)

// Page is what a page shows. A part that is empty is left out of it.
type Page struct {
	Title string
	Verb  string   // "hone eval": what made the run
	Facts []Fact   // what ran: model, servers, data, seed; shown in order
	Notes []string // what a reader must know before the numbers, such as that an evaluation is not whole
	eval.Comparison
	Stages   []Stage
	Groups   []Group // of training; the page shows the worst and the best
	Episodes []eval.Example
	// Show is the command that shows an episode whole, but for its name: "hone runs show demo --episode".
	Show string
}

// Fact is one line of the page's head.
type Fact struct{ Name, Value string }

// Stage is the metrics of one stage of training, by step.
type Stage struct {
	Name  string
	Steps []Step
}

// Step is the metrics of one step, by their names in the ledger.
type Step struct {
	Number int
	Values map[string]float64
}

// Group is the episodes of one scenario under one policy. Rewards holds those of all, masked ones left out; Episodes may be
// empty, which says that the page has no room for them.
type Group struct {
	Stage      string
	Step       int
	ScenarioID string
	Rewards    []float64
	Episodes   []eval.Example
}

// Mean is the group's mean reward, 0 of none.
func (g Group) Mean() float64 {
	sum := 0.0
	for _, r := range g.Rewards {
		sum += r
	}
	return sum / float64(max(1, len(g.Rewards)))
}
