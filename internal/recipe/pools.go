package recipe

import (
	"context"
	"fmt"

	"hone/internal/episode/scenario"
)

// Pools skip scenarios that are currently always or never solved: those whose last group passed in each of its
// episodes, or in none. Each pass over the scenarios leaves such a one out with a chance of its own. Where all are, the
// pass takes all.
type Pools struct {
	None
	SkipSolved, SkipFailed float64

	stage     *stage
	scenarios map[string]scenario.Scenario
	at        position
}

// position is where a stage with pools is among its scenarios.
type position struct {
	Pass  int                `json:"pass"`  // from 1; 0 before the first
	Order []string           `json:"order"` // ids of the scenarios of the pass
	Done  int                `json:"done"`  // of them
	Rates map[string]float64 `json:"rates"` // share of the episodes of its last group that passed, by scenario
}

// Begin implements Addition.
func (p *Pools) Begin(s *stage) error {
	p.stage, p.scenarios, p.at = s, map[string]scenario.Scenario{}, position{Rates: map[string]float64{}}
	for _, x := range s.scenarios {
		p.scenarios[x.ID] = x
	}
	return nil
}

// State implements Addition. A checkpoint without it begins the first pass.
func (p *Pools) State() (name string, state any) { return "pools", &p.at }

// Resume implements Addition.
func (p *Pools) Resume(context.Context) error {
	for _, id := range p.at.Order {
		if _, ok := p.scenarios[id]; !ok {
			return fmt.Errorf("going on with the pools of a checkpoint: scenario %q is not there any more", id)
		}
	}
	return nil
}

// Pick implements Addition.
func (p *Pools) Pick(to *Picked) {
	n := p.perStep()
	for len(p.at.Order)-p.at.Done < n {
		p.pass(n)
	}
	to.Scenarios, to.Rests = nil, p.rests
	for _, id := range p.at.Order[p.at.Done : p.at.Done+n] {
		to.Scenarios = append(to.Scenarios, p.scenarios[id])
	}
}

// perStep is the number of scenarios of a step.
func (p *Pools) perStep() int { return min(p.stage.GroupsPerStep, len(p.stage.scenarios)) }

// pass begins the next pass, of at least n scenarios: where fewer are drawn, some of those that rest come too, the
// first of the shuffled order.
func (p *Pools) pass(n int) {
	p.at.Pass++
	p.at.Order, p.at.Done = nil, 0
	var resting []string
	for _, i := range permutation(len(p.stage.scenarios), p.stage.Seed, p.at.Pass-1) {
		if id := p.stage.scenarios[i].ID; p.rests(i) {
			resting = append(resting, id)
		} else {
			p.at.Order = append(p.at.Order, id)
		}
	}
	if missing := n - len(p.at.Order); missing > 0 {
		p.at.Order = append(p.at.Order, resting[:missing]...)
	}
}

// rests draws whether a scenario, the number-th, sits out the pass.
func (p *Pools) rests(number int) bool {
	rate, known := p.at.Rates[p.stage.scenarios[number].ID]
	chance := 0.0
	switch {
	case known && rate == 1:
		chance = p.SkipSolved
	case known && rate == 0:
		chance = p.SkipFailed
	}
	return float64(draw(^p.stage.Seed, uint64(p.at.Pass), uint64(number))>>11)/(1<<53) < chance
}

// See implements Addition: it notes what the groups of a step that is taken came to, and counts the scenarios that may
// rest now.
func (p *Pools) See(s *Step) {
	if !s.Taken {
		return
	}
	p.at.Done += p.perStep()
	for _, g := range s.Sampled {
		passed, n := p.stage.Passed.count(g)
		if n > 0 {
			p.at.Rates[g.ScenarioID] = passed / n
		}
	}
	s.Metrics["pools/solved"], s.Metrics["pools/failed"] = 0, 0
	for _, rate := range p.at.Rates {
		switch rate {
		case 1:
			s.Metrics["pools/solved"]++
		case 0:
			s.Metrics["pools/failed"]++
		}
	}
}
