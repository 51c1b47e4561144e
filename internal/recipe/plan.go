package recipe

import (
	"context"
	"slices"

	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// plan is what is done of a step, and left to do. Each group has a place, that of the scenario it began with.
type plan struct {
	Rollouts
	running   context.Context
	kept      map[place]Kept
	scenarios []scenario.Scenario // of each place, the one that is tried now
	others    [][]scenario.Scenario
	groups    []trajectory.Group
	before    [][]trajectory.Group // of each place, those that were not to keep
	missing   []int                // episodes of each group
	byID      map[string]int       // places
	unsettled int                  // places that may ask for more
	requests  chan rollout.Request
	closed    bool
	scored    chan scores
	scoring   int // groups
	done, all int // episodes
}

// plan begins all places: what an earlier attempt kept is taken, and the other episodes are asked for.
func (r Rollouts) plan(running context.Context, list []scenario.Scenario) (*plan, error) {
	all := slices.Concat(slices.Concat(r.Others...), list)
	kept, err := r.kept(all)
	if err != nil {
		return nil, err
	}
	n := len(list)
	p := &plan{Rollouts: r, running: running, kept: kept, scenarios: slices.Clone(list), others: slices.Clone(r.Others), groups: make([]trajectory.Group, n),
		before: make([][]trajectory.Group, n), missing: make([]int, n), byID: map[string]int{}, unsettled: n,
		requests: make(chan rollout.Request, len(all)*r.GroupSize), scored: make(chan scores)}
	for i := range list {
		p.begin(i)
	}
	if p.others == nil || n == 0 { // nothing more can be asked for
		p.close()
	}
	return p, nil
}

// begin takes what is kept of the scenario of a place, and asks for the rest.
func (p *plan) begin(i int) {
	s := p.scenarios[i]
	p.byID[s.ID] = i
	p.groups[i] = trajectory.Group{ScenarioID: s.ID, Trajectories: make([]*trajectory.Trajectory, p.GroupSize)}
	p.all += p.GroupSize
	var earned []trajectory.Score
	for j := range p.GroupSize {
		k, ok := p.kept[place{s.ID, j}]
		if !ok {
			p.missing[i]++
			p.requests <- rollout.Request{Scenario: s, Rollout: j, Step: p.Step, Place: i*p.GroupSize + j}
			continue
		}
		p.done++
		if p.groups[i].Trajectories[j] = k.Trajectory; k.Score != nil && k.Score.Outcome == "" {
			earned = append(earned, *k.Score)
		}
	}
	switch {
	case len(earned) == p.GroupSize:
		p.groups[i].Take(earned)
		p.settle(i)
	case p.missing[i] == 0:
		p.score(i)
	}
}

// settle ends a place whose group is scored and to keep, or which has no other scenario left. Else the next is begun.
func (p *plan) settle(i int) {
	if p.others != nil && len(p.others[i]) > 0 && !p.Keep(p.groups[i]) {
		p.before[i] = append(p.before[i], p.groups[i])
		p.scenarios[i], p.others[i] = p.others[i][0], p.others[i][1:]
		p.begin(i)
		return
	}
	if p.unsettled--; p.unsettled == 0 {
		p.close()
	}
}

// close says that no more episodes will be asked for.
func (p *plan) close() {
	if !p.closed {
		p.closed = true
		close(p.requests)
	}
}

// score has a group scored while others run.
func (p *plan) score(i int) {
	p.scoring++
	s, g := p.scenarios[i], p.groups[i]
	go func() { p.scored <- p.Rollouts.score(p.running, i, &s, g) }()
}

// add puts an episode into its group, and tells whether it was the last of it.
func (p *plan) add(t *trajectory.Trajectory) (group int, whole bool) {
	i := p.byID[t.ScenarioID]
	p.groups[i].Trajectories[t.Rollout] = t
	p.missing[i]--
	return i, p.missing[i] == 0
}

// replaced are the groups in whose place others came, by place.
func (p *plan) replaced() []trajectory.Group { return slices.Concat(p.before...) }
