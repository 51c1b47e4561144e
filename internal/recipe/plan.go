package recipe

import (
	"context"
	"slices"
	"time"

	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// plan is what is done of a step, and left to do. Each place begins with one scenario; where its group is not to keep,
// others are tried there: two at once, then four, and so on, as waiting for one after the other leaves the sampler
// idle.
type plan struct {
	Rollouts
	running   context.Context
	kept      map[place]Kept
	tries     []*try
	of        [][]*try              // of each place, as they were begun
	others    [][]scenario.Scenario // of each place, those that were not tried
	byID      map[string]int        // tries
	unsettled int                   // places that may ask for more
	requests  chan rollout.Request
	closed    bool
	scored    chan scores
	scoring   int  // groups
	done, all int  // episodes
	late      bool // what has not ended is not waited for any more
}

// The last episodes of a step are those of one tenth, and are waited for so long at least.
const (
	lastShare = 10 // one of
	leastWait = time.Minute
)

// lateAfter is when the last episodes are late, after so long a time in which the others ended: as it was, where that
// was clear before; nil where more than the last have not ended.
func (p *plan) lateAfter(was <-chan time.Time, took time.Duration) <-chan time.Time {
	switch left := p.all - p.done; {
	case p.Wait == 0 || left == 0 || left*lastShare > p.all:
		return nil
	case was != nil:
		return was
	}
	return time.After(max(leastWait, time.Duration(p.Wait*float64(took))))
}

// giveUp asks for no more episodes, and notes that those which have not ended are late.
func (p *plan) giveUp() {
	p.late = true
	for i := range p.others {
		p.others[i] = nil
	}
	p.close()
}

// try is a group at a place.
type try struct {
	place    int
	scenario scenario.Scenario
	group    trajectory.Group
	missing  int  // episodes
	settled  bool // it is scored
	kept     bool // it is to keep
}

// plan begins all places: what an earlier attempt kept is taken, and the other episodes are asked for.
func (r Rollouts) plan(running context.Context, list []scenario.Scenario) (*plan, error) {
	all := slices.Concat(slices.Concat(r.Others...), list)
	kept, err := r.keptEpisodes(all)
	if err != nil {
		return nil, err
	}
	n := len(list)
	p := &plan{Rollouts: r, running: running, kept: kept, of: make([][]*try, n), others: slices.Clone(r.Others),
		byID: map[string]int{}, unsettled: n, requests: make(chan rollout.Request, len(all)*r.GroupSize),
		scored: make(chan scores)}
	for i, s := range list {
		p.begin(i, s)
	}
	if p.others == nil || n == 0 { // nothing more can be asked for
		p.close()
	}
	return p, nil
}

// begin takes what is kept of scenarios at a place, and asks for the rest.
func (p *plan) begin(at int, list ...scenario.Scenario) {
	var begun []int
	for _, s := range list {
		begun = append(begun, len(p.tries))
		p.byID[s.ID] = len(p.tries)
		t := &try{place: at, scenario: s,
			group: trajectory.Group{ScenarioID: s.ID, Trajectories: make([]*trajectory.Trajectory, p.GroupSize)}}
		p.tries, p.of[at] = append(p.tries, t), append(p.of[at], t)
	}
	for _, i := range begun { // a group that is kept whole settles at once, so all of the wave are there before
		p.ask(i)
	}
}

// ask asks for the episodes of a try that are not kept.
func (p *plan) ask(i int) {
	t := p.tries[i]
	// of the group, whichever place came to its next wave first
	number := t.place + len(p.of)*slices.Index(p.of[t.place], t)
	p.all += p.GroupSize
	var earned []trajectory.Score
	for j := range p.GroupSize {
		k, ok := p.kept[place{t.scenario.ID, p.First + j}]
		if !ok {
			t.missing++
			q := rollout.Request{Scenario: t.scenario, Rollout: p.First + j, Step: p.Step,
				Place: number*p.GroupSize + j}
			if p.Forced != nil {
				q.Forced = p.Forced(t.scenario.ID, p.First+j)
			}
			p.requests <- q
			continue
		}
		p.done++
		if t.group.Trajectories[j] = k.Trajectory; k.Score != nil && k.Score.Outcome == "" {
			earned = append(earned, *k.Score)
		}
	}
	switch {
	case len(earned) == p.GroupSize:
		t.group.Take(earned)
		p.settle(i)
	case t.missing == 0:
		p.score(i)
	}
}

// settle ends a place whose groups are scored, where one is to keep or no other scenario is left. Else the next are
// begun.
func (p *plan) settle(i int) {
	t := p.tries[i]
	t.settled, t.kept = true, p.others == nil || p.Keep(t.group)
	of := p.of[t.place]
	if slices.ContainsFunc(of, func(t *try) bool { return !t.settled }) {
		return
	}
	if p.others != nil && len(p.others[t.place]) > 0 && !slices.ContainsFunc(of, func(t *try) bool { return t.kept }) {
		n := min(len(of)+1, len(p.others[t.place]))
		next := p.others[t.place][:n]
		p.others[t.place] = p.others[t.place][n:]
		p.begin(t.place, next...)
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
	s, g := p.tries[i].scenario, p.tries[i].group
	go func() { p.scored <- p.Rollouts.score(p.running, i, &s, g) }()
}

// add puts an episode into its group, and tells whether it was the last of it.
func (p *plan) add(t *trajectory.Trajectory) (group int, whole bool) {
	i := p.byID[t.ScenarioID]
	p.tries[i].group.Trajectories[t.Rollout-p.First] = t
	p.tries[i].missing--
	return i, p.tries[i].missing == 0
}

// groups are those to keep, all that there are of each place, or the last one that was tried there; replaced are the
// others. Both are by place.
func (p *plan) groups() (groups, replaced []trajectory.Group) {
	for _, of := range p.of {
		none := !slices.ContainsFunc(of, func(t *try) bool { return t.kept })
		for i, t := range of {
			if t.kept || none && i == len(of)-1 {
				groups = append(groups, t.group)
			} else {
				replaced = append(replaced, t.group)
			}
		}
	}
	return groups, replaced
}
