// Package report makes the page of a run: one HTML file that loads nothing from anywhere. It shows what the run
// measured, with intervals, what got worse first, how training went, and the episodes themselves.
package report

import (
	"slices"

	"hone/internal/eval/stats"
)

// Page is what a page shows. A part that is empty is left out of it.
type Page struct {
	Title string
	Verb  string   // "hone eval": what made the run
	Facts []Fact   // what ran: model, servers, data, seed; shown in order
	Notes []string // what a reader must know before the numbers, such as that an evaluation is not whole
	// Remarks stand before the notes. They are what only the process knew that measured: a page that is made again has
	// them too.
	Remarks []string
	stats.Comparison
	Stages   []Stage
	Groups   []Group // of training; the page shows the worst and the best
	Episodes []stats.Example
	// Unfinished are the systems whose evaluation is not whole.
	Unfinished []string
	// Learnt is with which tools and servers each system was trained, where that is known.
	Learnt map[string]*stats.Learnt
	// Show is the command that shows an episode whole, but for its name: "hone runs show demo --episode".
	Show string
}

// Fact is one line of the page's head.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Say puts a fact into the head, in the place of one of that name.
func (p *Page) Say(name, value string) {
	i := slices.IndexFunc(p.Facts, func(f Fact) bool { return f.Name == name })
	if i < 0 {
		i, p.Facts = len(p.Facts), append(p.Facts, Fact{})
	}
	p.Facts[i] = Fact{name, value}
}

// Stage is the metrics of one stage of training, by step.
type Stage struct {
	Name  string `json:"name"`
	Steps []Step `json:"steps"`
}

// Step is the metrics of one step, by their names in the ledger.
type Step struct {
	Number int                `json:"number"`
	Values map[string]float64 `json:"values"`
}

// Group is the episodes of one scenario under one policy. Rewards holds those of all, masked ones left out; Episodes
// may be empty, which says that the page has no room for them.
type Group struct {
	Stage      string          `json:"stage"`
	Step       int             `json:"step"`
	ScenarioID string          `json:"scenario_id"`
	Rewards    []float64       `json:"rewards"`
	Episodes   []stats.Example `json:"-"`
}

// Mean is the group's mean reward, 0 of none.
func (g Group) Mean() float64 {
	sum := 0.0
	for _, r := range g.Rewards {
		sum += r
	}
	return sum / float64(max(1, len(g.Rewards)))
}
