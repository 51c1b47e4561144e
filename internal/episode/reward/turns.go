package reward

import (
	"context"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// Turns says how what an episode earns is divided among its turns:
//
//	r_k = way_k - way_{k-1} + Progress (done_k - done_{k-1})    and of the last turn the rest too: reward - way_K
//
// way_k is what the terms on the way give the episode up to turn k: call, tool, repeat, invalid, parse, and of others
// arguments, repair and the rules. done_k is the share of checks that hold by then, of those that can be told before
// the end: that a call was made, and what was seen of the world after a turn (after_turn). Without Progress they add up
// to the reward: way is a potential, which changes no optimal policy (A. Ng, D. Harada, S. Russell, "Policy invariance
// under reward transformations", ICML 1999).
type Turns struct {
	Progress float64 // for all such checks
}

// of are the rewards of an episode's turns.
func (p Turns) of(
	ctx context.Context, r Scorer, s *scenario.Scenario, t *trajectory.Trajectory, reward float64,
) []float64 {
	out := make([]float64, len(t.Turns))
	way, done := 0.0, 0.0
	for k := range t.Turns {
		upTo := *t
		upTo.Turns = t.Turns[:k+1]
		now, share := r.onTheWay(ctx, s, &upTo), checkShare(s, &upTo, r)
		out[k] = now - way + p.Progress*(share-done)
		way, done = now, share
	}
	if n := len(out); n > 0 {
		out[n-1] += reward - way
	}
	return out
}

// onTheWay is what the terms give that are said of an episode before it has ended.
func (r Scorer) onTheWay(ctx context.Context, s *scenario.Scenario, t *trajectory.Trajectory) float64 {
	sum := 0.0
	for _, term := range r.terms() {
		if !term.way || !term.needs(s, t) {
			continue
		}
		marks, _ := term.score(ctx, // by a rule, which does not fail
			group{Scenario: s, Trajectories: []*trajectory.Trajectory{t}, Defaults: r.Defaults})
		if m := marks[0]; !m.waived {
			sum += m.score * term.weight(0)
		}
	}
	return sum
}

// checkShare is the share of a scenario's checks that hold after the turns of a trajectory, of those that can be told
// then.
func checkShare(s *scenario.Scenario, t *trajectory.Trajectory, r Scorer) float64 {
	held, all := 0.0, 0.0
	for _, c := range s.Checks {
		if c.Type != scenario.CallCheck && c.AfterTurn == 0 {
			continue
		}
		if all++; c.AfterTurn <= len(t.Turns) && Unmet(c, t, r.Defaults) == "" {
			held++
		}
	}
	return held / max(1, all)
}
