package reward

import (
	"context"
	"fmt"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// Judge scores what no rule can. Package judge has models. Each method returns one term for each trajectory, in order,
// with score, reason and judgement.
type Judge interface {
	// Judge compares the trajectories of a group.
	Judge(ctx context.Context, s *scenario.Scenario, ts []*trajectory.Trajectory) ([]trajectory.Term, error)
	// Verdict decides of each alone whether it passes.
	Verdict(ctx context.Context, s *scenario.Scenario, ts []*trajectory.Trajectory) ([]trajectory.Term, error)
}

// JudgeTerm is the name of the term that a judge gives.
const JudgeTerm = "judge"

// Judged is the term that a judge gives: to the episodes of scenarios without checks, since those need nobody else, or
// to all.
type Judged struct {
	By     Judge
	Weight float64 // of a score of 1
	All    bool    // scenarios with checks too, where episodes are compared
	// each episode alone, which passes or fails: an evaluation compares no episodes. Checks decide where there are some
	Alone bool
}

func (j *Judged) needs(s *scenario.Scenario, _ *trajectory.Trajectory) bool {
	if j.Alone {
		return len(s.Checks) == 0
	}
	return j.Weight > 0 && (j.All || len(s.Checks) == 0) // what earns nothing is not paid for
}

func (j *Judged) score(ctx context.Context, g group) ([]mark, error) {
	ask := j.By.Judge
	if j.Alone {
		ask = j.By.Verdict
	}
	terms, err := ask(ctx, g.Scenario, g.Trajectories)
	if err != nil {
		return nil, err
	}
	if len(terms) != len(g.Trajectories) {
		return nil, fmt.Errorf("the judge gave %d scores to %d episodes", len(terms), len(g.Trajectories))
	}
	marks := make([]mark, len(terms))
	for i, t := range terms {
		if !(t.Score >= 0 && t.Score <= 1) { // also NaN
			return nil, fmt.Errorf("the judge's score %d is %v, which is not from 0 to 1", i, t.Score)
		}
		marks[i] = mark{score: t.Score, why: t.Why, judged: t.Judgement}
	}
	return marks, nil
}

// Alone is the scorer whose judge decides of each episode alone.
func (r Scorer) Alone() Scorer {
	if r.Judge != nil {
		alone := *r.Judge
		alone.Alone = true
		r.Judge = &alone
	}
	return r
}

// Verdict is what a judge decided of an episode alone; nil where none did.
func Verdict(t *trajectory.Trajectory) *bool {
	for _, term := range t.Terms {
		if term.Name == JudgeTerm && term.Judgement != nil {
			return term.Judgement.Passed
		}
	}
	return nil
}
