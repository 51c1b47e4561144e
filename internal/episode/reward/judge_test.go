package reward_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"hone/internal/episode/reward"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// verdicts is a judge that gives these scores: to a group that it compares, and to each episode alone.
type verdicts struct {
	compared, alone []float64
	err             error
}

func (v verdicts) Judge(
	context.Context, *scenario.Scenario, []*trajectory.Trajectory,
) ([]trajectory.Term, error) {
	return termsOf(v.compared), v.err
}

func (v verdicts) Verdict(
	context.Context, *scenario.Scenario, []*trajectory.Trajectory,
) ([]trajectory.Term, error) {
	terms := termsOf(v.alone)
	for i := range terms {
		terms[i].Judgement = &trajectory.Judgement{Passed: ptr(terms[i].Score == 1)}
	}
	return terms, v.err
}

func termsOf(scores []float64) (terms []trajectory.Term) {
	for _, s := range scores {
		terms = append(terms, trajectory.Term{Score: s, Why: "so it is"})
	}
	return terms
}

// A judge that compares gives a term to scenarios without checks, or to all; one that looks at each alone decides where
// there are no checks, whatever it weighs. The most that can be earned counts it where it has a say.
func TestWhomAJudgeScores(t *testing.T) {
	unchecked := &scenario.Scenario{ID: "talk", Task: "Cheer me up."}
	judge := verdicts{compared: []float64{0.5, 1}, alone: []float64{1, 0}}
	for name, c := range map[string]struct {
		judged reward.Judged
		alone  bool
		s      *scenario.Scenario
		want   []float64 // of the judge's term; nil where there is none
		most   float64   // beyond what the other terms give
	}{
		"without checks":              {reward.Judged{Weight: 2}, false, unchecked, judge.compared, 2},
		"with checks":                 {reward.Judged{Weight: 2}, false, hashScenario(), nil, 0},
		"with checks, and all":        {reward.Judged{Weight: 2, All: true}, false, hashScenario(), judge.compared, 2},
		"weighs nothing":              {reward.Judged{All: true}, false, unchecked, nil, 0},
		"alone":                       {reward.Judged{Weight: 2}, true, unchecked, judge.alone, 2},
		"alone, weighs nothing":       {reward.Judged{}, true, unchecked, judge.alone, 0},
		"alone, where checks decide":  {reward.Judged{Weight: 2}, true, hashScenario(), nil, 0},
		"alone, all, and checks":      {reward.Judged{Weight: 2, All: true}, true, hashScenario(), nil, 2},
		"without checks, and for all": {reward.Judged{Weight: 2, All: true}, false, unchecked, judge.compared, 2},
	} {
		c.judged.By = judge
		scorer := reward.Scorer{Judge: &c.judged}
		if c.alone {
			scorer = scorer.Alone()
		}
		group := three()
		group.Trajectories = []*trajectory.Trajectory{group.Trajectories[0], group.Trajectories[2]}
		scores, err := scorer.Score(t.Context(), c.s, group)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i, s := range scores {
			last := s.Terms[len(s.Terms)-1]
			if got := last.Name == reward.JudgeTerm; got != (c.want != nil) {
				t.Errorf("%s: the last term is %+v", name, last)
			} else if got && (last.Score != c.want[i] || last.Weight != c.judged.Weight || last.Why != "so it is") {
				t.Errorf("%s: %+v, want %v", name, last, c.want[i])
			}
		}
		if got := scorer.Max(c.s) - (reward.Scorer{}).Max(c.s); got != c.most {
			t.Errorf("%s: at most %v more, want %v", name, got, c.most)
		}
		if c.judged.Alone {
			t.Errorf("%s: the judge of training was changed", name)
		}
	}
}

// What a judge decided of an episode alone is its success, where no check says it.
func TestVerdictsAreSuccess(t *testing.T) {
	talk := &scenario.Scenario{ID: "talk", Task: "Cheer me up."}
	for name, c := range map[string]struct {
		s      *scenario.Scenario
		passed *bool
		want   bool
	}{
		"passed": {talk, ptr(true), true}, "failed": {talk, ptr(false), false}, "nobody looked": {talk, nil, false},
		"passed, but its checks fail": {hashScenario(), ptr(true), false},
	} {
		one := episode{answer: "no"}.trajectory()
		if c.passed != nil {
			one.Terms = []trajectory.Term{{Name: "end", Score: 1},
				{Name: reward.JudgeTerm, Judgement: &trajectory.Judgement{Passed: c.passed}}}
		}
		if got := reward.Episode(c.s, one, nil); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What is no score of each episode is no reward: the whole group has none, and the error names the term and scenario.
func TestJudgesThatFail(t *testing.T) {
	for want, judge := range map[string]verdicts{
		"no answer":                           {err: errors.New("no answer")},
		"gave 1 scores to 2 episodes":         {compared: []float64{1}},
		"score 1 is 1.5, which is not from 0": {compared: []float64{0, 1.5}},
		"score 0 is -1, which is not from 0":  {compared: []float64{-1, 1}},
		"score 1 is NaN, which is not from 0": {compared: []float64{0, math.NaN()}},
	} {
		scorer := reward.Scorer{Judge: &reward.Judged{By: judge, Weight: 1, All: true}}
		scores, err := scorer.Score(t.Context(), hashScenario(), three())
		if err == nil || !strings.Contains(err.Error(), want) || scores != nil ||
			!strings.HasPrefix(err.Error(), "the reward term judge of scenario x: ") {
			t.Errorf("%v, %v, want %q", scores, err, want)
		}
	}
}
