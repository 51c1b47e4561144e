package recipe

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"

	"hone/internal/episode/trajectory"
	"hone/internal/learn/batch"
)

// Imitation is self-imitation (arXiv 1806.05635): a step learns from episodes of earlier steps that passed, too. A
// success that is seldom is learnt from more than once, where it had its group's advantage in one step alone. Let V(s)
// be the mean reward of the newest group of a scenario s. Its success with reward R is drawn in proportion to max(R -
// V(s), 0), without replacement, and has in the step's loss the advantage
//
//	weight max(R - V(s), 0)
//
// So a scenario whose episodes all earn that is drawn no more, and is again once they do not. A row's ratio is to the
// policy as it is before the step, which scores it, and not to the one that sampled it: it is imitated, not corrected
// for. The clip bounds what several optimiser steps move. Rows count in the loss's normaliser as an episode of the step
// does.
type Imitation struct {
	None
	Rows   int     // successes of a step, at most
	Weight float64 // of their advantages
	// Memory is how many successes are held at most, one a scenario; of more those are forgotten first that would not
	// be drawn, then the oldest.
	Memory int

	stage *stage
	held  []success // the oldest first
}

// Begin implements Addition.
func (m *Imitation) Begin(s *stage) error { m.stage, m.held = s, nil; return nil }

// State implements Addition. A checkpoint of a run that did not imitate has no successes.
func (m *Imitation) State() (name string, state any) { return "imitation", &m.held }

// success is an episode that passed.
type success struct {
	Scenario string    `json:"scenario"`
	Reward   float64   `json:"reward"`
	Value    float64   `json:"value"` // mean reward of the scenario's newest group
	Rows     []learned `json:"rows"`
}

// learned is a row of an episode: all its tokens, and the stretches [from, to) of them that the policy sampled.
type learned struct {
	IDs     []int32  `json:"ids"`
	Sampled [][2]int `json:"sampled"`
}

// See implements Addition: it notes what the groups of a step that is taken came to, and those of their scenarios in
// which calls were forced.
func (m *Imitation) See(step *Step) {
	if !step.Taken {
		return
	}
	for _, g := range step.Sampled {
		value, n := 0.0, 0.0
		for _, t := range g.Trajectories {
			if t.Outcome.Trainable() {
				value, n = value+t.Reward, n+1
			}
		}
		if n == 0 {
			continue
		}
		at := slices.IndexFunc(m.held, func(s success) bool { return s.Scenario == g.ScenarioID })
		best := m.best(g)
		for _, e := range step.Explored {
			x := m.best(e)
			if e.ScenarioID == g.ScenarioID && x != nil && (at < 0 || x.Reward > m.held[at].Reward) {
				best = x // then none of the group passed
			}
		}
		if best != nil {
			if at >= 0 {
				m.held = slices.Delete(m.held, at, at+1)
			}
			at, m.held = len(m.held), append(m.held,
				success{Scenario: g.ScenarioID, Reward: best.Reward, Rows: lessonsOf(best)})
		}
		if at >= 0 {
			m.held[at].Value = value / n
		}
	}
	for range len(m.held) - m.Memory {
		solved := slices.IndexFunc(m.held, func(s success) bool { return s.Reward <= s.Value })
		m.held = slices.Delete(m.held, max(0, solved), max(0, solved)+1)
	}
}

// best is the success of a group with the highest reward, and of those with the least effort; nil where none passed.
func (m *Imitation) best(g trajectory.Group) (best *trajectory.Trajectory) {
	for _, t := range g.Trajectories {
		if t.Outcome != trajectory.OK {
			continue
		}
		alone := trajectory.Group{Trajectories: []*trajectory.Trajectory{t}}
		if passed, n := m.stage.Passed.count(alone); n == 0 || passed == 0 {
			continue
		}
		if best == nil || t.Reward > best.Reward ||
			t.Reward == best.Reward && slices.Compare(effort(t), effort(best)) < 0 {
			best = t
		}
	}
	return best
}

func lessonsOf(t *trajectory.Trajectory) (rows []learned) {
	for _, r := range t.Rows() {
		l := learned{IDs: r.IDs}
		for i, sampled := range r.Sampled {
			switch {
			case !sampled:
			case i > 0 && r.Sampled[i-1]:
				l.Sampled[len(l.Sampled)-1][1]++
			default:
				l.Sampled = append(l.Sampled, [2]int{i, i + 1})
			}
		}
		rows = append(rows, l)
	}
	return rows
}

// draw are a step's successes. They follow from the step and from what is held: those with the largest log(u)/w, with
// u uniform and w the weight (weighted sampling without replacement, Efraimidis and Spirakis 2006).
func (m *Imitation) draw(step int) (picked []success) {
	type ticket struct {
		number int
		key    float64
	}
	var tickets []ticket
	for i, s := range m.held {
		if w := s.Reward - s.Value; w > 0 {
			u := (float64(draw(m.stage.Seed^imitated, uint64(step), uint64(i))>>11) + 0.5) / (1 << 53)
			tickets = append(tickets, ticket{i, math.Log(u) / w})
		}
	}
	sort.Slice(tickets, func(i, j int) bool { return cmp.Compare(tickets[j].key, tickets[i].key) < 0 })
	for _, t := range tickets[:min(len(tickets), m.Rows)] {
		picked = append(picked, m.held[t.number])
	}
	return picked
}

const imitated = 0x1317A7E // keeps these draws apart from those of pools and orders

// sequences are the rows of a success, the number-th.
func (s success) sequences(number int) (rows []batch.Sequence) {
	for _, l := range s.Rows {
		row := batch.Sequence{IDs: l.IDs, Trained: make([]bool, len(l.IDs)), Episode: number}
		for _, stretch := range l.Sampled {
			for i := stretch[0]; i < stretch[1]; i++ {
				row.Trained[i] = true
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// AddRows implements Addition: the successes that a step learns from, with the logprobs that the policy has as it is.
func (m *Imitation) AddRows(ctx context.Context, step *Step) error {
	picked := m.draw(step.Number)
	step.Metrics["imitation/episodes"], step.Metrics["imitation/memory"] = float64(len(picked)), float64(len(m.held))
	if len(picked) == 0 {
		return nil
	}
	var rows []batch.Sequence
	for i, s := range picked {
		rows = append(rows, s.sequences(i)...)
	}
	earlier, mean, err := m.stage.score(ctx, fromImitation, rows, len(picked))
	if err != nil {
		return err
	}
	for i, s := range picked {
		earlier[i].Advantage = m.Weight * (s.Reward - s.Value)
	}
	step.Metrics["imitation/logprob"] = mean
	step.More = append(step.More, earlier...)
	return nil
}
