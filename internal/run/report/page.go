// Package report gathers what a run measured: the systems that it evaluated with their episodes, how training went, and
// what is to be said of both. hone view lays it out; its numbers are kept in the run's folder.
package report

import (
	"slices"

	"hone/internal/eval/stats"
)

// Page is what a run measured. A part that is empty was not.
type Page struct {
	Title string
	Verb  string   // "hone eval": what made the run
	Facts []Fact   // what ran: model, servers, data, seed; shown in order
	Notes []string // what a reader must know before the numbers, such as that an evaluation is not whole
	// Remarks stand before the notes. They are what only the process knew that measured: a page that is made again has
	// them too.
	Remarks []string
	stats.Comparison
	Stages []Stage
	Groups []Group // of training
	// Unfinished are the systems whose evaluation is not whole.
	Unfinished []string
	// Learnt is with which tools and servers each system was trained, where that is known.
	Learnt map[string]*stats.Learnt
	// Run is its name as commands take it.
	Run string
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
