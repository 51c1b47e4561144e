package recipe

import (
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/learn/batch"
)

// Resample is DAPO's dynamic sampling (arXiv 2503.14476, section 3.2): others take the place of scenarios whose groups
// teach nothing, up to Most for each, all different, in an order of the step's. They follow from the step alone, and
// from which scenarios rest (Pools).
type Resample struct {
	None
	Most  int
	stage *stage
}

// Begin implements Addition.
func (r *Resample) Begin(s *stage) error { r.stage = s; return nil }

// Pick implements Addition.
func (r *Resample) Pick(p *Picked) {
	taken := map[string]bool{}
	for _, s := range p.Scenarios {
		taken[s.ID] = true
	}
	out, n := make([][]scenario.Scenario, len(p.Scenarios)), 0
	for _, i := range permutation(len(r.stage.scenarios), ^r.stage.Seed, p.Step) {
		s := r.stage.scenarios[i]
		if !taken[s.ID] && n < r.Most*len(p.Scenarios) && !(p.Rests != nil && p.Rests(i)) {
			out[n%len(p.Scenarios)] = append(out[n%len(p.Scenarios)], s)
			n++
		}
	}
	p.Others, p.Keep = out, r.teaches
}

// teaches reports whether the members of a group can be compared, and differ.
func (r *Resample) teaches(group trajectory.Group) bool {
	compared := batch.Compare([]trajectory.Group{group})
	left := compared.GroupStats(r.stage.Advantage.Of(compared.Groups))
	return left.Empty+left.ZeroSpread == 0
}

// See implements Addition.
func (r *Resample) See(s *Step) {
	s.Metrics["groups_replaced"] = float64(len(s.Sampled) - len(s.Groups))
}
