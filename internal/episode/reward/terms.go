package reward

import (
	"context"
	"math"
	"slices"
	"strings"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/grade"
)

// term is one part of a reward. A new one is a row of terms, a weight in Weights, and a key of `rewards:`.
type term struct {
	name string
	// needs says of which trajectories the term is said. The others do not have it, and it does not see them.
	needs func(s *scenario.Scenario, t *trajectory.Trajectory) bool
	// score marks each trajectory of a group. It may take long and cost: it ends with ctx. Its error is no low mark: it
	// leaves the whole group without a reward.
	score func(ctx context.Context, g group) ([]mark, error)
	// weight is what a score is multiplied by, given what the terms before it earned.
	weight func(earned float64) float64
	way    bool // a rule that is said of an episode that has not ended too, and its weight is a constant
}

// group is what a term sees: the trajectories that have it, at least one.
type group struct {
	Scenario     *scenario.Scenario
	Trajectories []*trajectory.Trajectory
	Defaults     grade.Defaults
	Terms        [][]trajectory.Term // that each has so far
}

// episode is one trajectory of a group.
type episode struct {
	Scenario   *scenario.Scenario
	Trajectory *trajectory.Trajectory
	Defaults   grade.Defaults
}

// mark is a term's score of one trajectory, 0..1, and where there is something to say, why.
type mark struct {
	score  float64
	why    string
	judged *trajectory.Judgement // by a judge
	waived bool                  // it weighs nothing in this episode
}

// ExtraTerm takes a share of what the terms above it earned: its weight is minus that sum, of each episode.
// Weights.Extra is in its score.
const ExtraTerm = "extra"

// terms are what a reward is the sum of, in this order. What each means, Weights says.
func (r Scorer) terms() []term {
	w := Default()
	if r.Weights != nil {
		w = *r.Weights
	}
	list := []term{
		{"checks", hasChecks, each(checks), times(w.Checks), false},
		{"end", always, each(end), times(w.End), false},
		{ExtraTerm, hasGold, each(extra(w.Extra)), func(earned float64) float64 { return 0 - earned }, false},
		{"call", hasGold, each(calls), times(w.Call), true},
		{"tool", hasGold, each(func(e episode) mark { return mark{score: toolShare(e)} }), times(w.Tool), true},
		{"repeat", hasCalls, each(repeatPenalty), times(w.Repeat), true},
		{"invalid", hasCalls, each(invalid), times(w.Invalid), true},
		{"parse", always, each(parse), times(w.Parse), true},
	}
	list = append(list, r.Effort.terms()...)
	if r.Overlong != nil {
		list = append(list, term{"overlong", always, each(r.Overlong.mark), times(r.Overlong.Weight), false})
	}
	if r.Program != nil {
		list = append(list, term{"program", always, r.Program.score, times(r.Program.Weight), false})
	}
	if r.Judge != nil {
		list = append(list, term{JudgeTerm, r.Judge.needs, r.Judge.score, times(r.Judge.Weight), false})
	}
	if r.Rating != 0 {
		list = append(list, term{"rating", hasRating, each(rating), times(r.Rating), false})
	}
	for _, x := range r.Expressions {
		list = append(list, term{x.Name, always, x.score, times(x.Weight), false})
	}
	return list
}

// each is the score of a term that looks at one episode at a time, by rule.
func each(rule func(episode) mark) func(context.Context, group) ([]mark, error) {
	return func(_ context.Context, g group) ([]mark, error) {
		var marks []mark
		for _, t := range g.Trajectories {
			marks = append(marks, rule(episode{g.Scenario, t, g.Defaults}))
		}
		return marks, nil
	}
}

func times(weight float64) func(earned float64) float64 {
	return func(float64) float64 { return weight }
}

func always(*scenario.Scenario, *trajectory.Trajectory) bool        { return true }
func hasChecks(s *scenario.Scenario, _ *trajectory.Trajectory) bool { return len(s.Checks) > 0 }
func hasGold(s *scenario.Scenario, _ *trajectory.Trajectory) bool   { return len(s.Gold) > 0 }
func hasCalls(_ *scenario.Scenario, t *trajectory.Trajectory) bool  { return len(t.Calls()) > 0 }

func hasRating(_ *scenario.Scenario, t *trajectory.Trajectory) bool { return t.Rating != nil }

func rating(e episode) mark {
	return mark{score: e.Trajectory.Rating.Score, why: e.Trajectory.Rating.Note}
}

func checks(e episode) mark {
	failed := FailedChecks(e.Scenario, e.Trajectory, e.Defaults)
	return mark{score: truth(len(failed) == 0), why: strings.Join(failed, "; ")}
}

func calls(e episode) mark {
	return mark{score: goldShare(e, attempt(e)), why: strings.Join(missingCalls(e, attempt(e)), "; ")}
}

func end(e episode) mark {
	why := missingEnd(e)
	return mark{score: truth(why == ""), why: why}
}

// extra is the share of what was earned that calls beyond the gold calls take away.
func extra(share float64) func(episode) mark {
	return func(e episode) mark {
		n := ExtraCalls(e.Scenario, e.Trajectory)
		return mark{score: 1 - math.Pow(1-share, float64(n)), why: beyond(n)}
	}
}

// share is a penalty for so many of an episode's calls. It weighs nothing once a gold call was made: what such an
// episode lacks, or does too much, other terms say, and going on must not cost more than to stop.
func share(e episode, n int) mark {
	m := mark{score: float64(n) / float64(len(e.Trajectory.Calls()))}
	m.waived = len(e.Scenario.Gold) > 0 && goldShare(e, e.Trajectory.ServerCalls()) > 0
	return m
}

func repeatPenalty(e episode) mark { return share(e, repeats(e.Trajectory)) }

// invalid counts the calls that could not be sent, but for those of a gold call's tool: these are steps towards it, see
// toolShare.
func invalid(e episode) mark {
	n := 0
	for _, r := range e.Trajectory.Calls() {
		if r.Status == trajectory.CallInvalid &&
			!slices.ContainsFunc(e.Scenario.Gold, func(g scenario.Gold) bool { return g.Name == r.Call.Name }) {
			n++
		}
	}
	return share(e, n)
}

// parse weighs nothing in an episode that made some gold calls and not all, for the reason of share.
func parse(e episode) mark {
	why, done := parseError(e.Trajectory), goldShare(e, e.Trajectory.ServerCalls())
	return mark{score: truth(why != ""), why: why, waived: done > 0 && done < 1}
}

// ExtraCalls is the number of calls beyond the gold calls, 0 where a scenario has none: nothing says then how many its
// task takes. Searches of hone's own are no calls of the task.
func ExtraCalls(s *scenario.Scenario, t *trajectory.Trajectory) int {
	if len(s.Gold) == 0 {
		return 0
	}
	return max(0, len(t.ServerCalls())-len(s.Gold))
}

func beyond(extra int) string {
	if extra == 0 {
		return ""
	}
	return fault.Count(extra, "call") + " beyond the gold calls"
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
