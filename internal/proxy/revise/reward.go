package revise

import (
	"context"
	"fmt"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/grade"
)

// Weights are what the score of each term is multiplied by. Scores lie in 0..1.
type Weights struct {
	Calls      float64 // share of the gold calls made, of as many as were made or wanted, whichever is more
	Tool       float64 // the same for the tools alone: a foothold
	Schema     float64 // every call is of a tool that there is, with arguments that fit
	Executed   float64 // every call was answered without error, or is a gold call
	Regression float64 // the draft was right behind the fixer, and the output is not
}

// DefaultWeights make leaving a right call alone, and mending a wrong one, worth the same, and damage worse than doing
// nothing.
func DefaultWeights() Weights {
	return Weights{Calls: 1, Tool: 0.2, Schema: 0.1, Executed: 0.1, Regression: -1}
}

// Scorer scores episodes of Environment by rules. Every rule reads the output behind the fixer, so text around a call,
// a fence or other quotes earn and cost nothing: what earns is what is called.
type Scorer struct {
	Environment *Environment
	Weights     Weights
	// Also scores what no rule can, as a judge does; its terms are added. nil: nothing else.
	Also interface {
		Score(ctx context.Context, s *scenario.Scenario, g trajectory.Group) ([]trajectory.Score, error)
	}
}

// Score implements recipe.Scorer.
func (r Scorer) Score(ctx context.Context, s *scenario.Scenario, g trajectory.Group) ([]trajectory.Score, error) {
	scores := make([]trajectory.Score, len(g.Trajectories))
	row, known := r.Environment.Rows[s.ID]
	if !known {
		return nil, fmt.Errorf("no row is called %s", s.ID)
	}
	for i, t := range g.Trajectories {
		if !t.Outcome.Trainable() {
			continue
		}
		for _, term := range r.terms(row, t) {
			scores[i].Terms = append(scores[i].Terms, term)
			scores[i].Reward += term.Score * term.Weight
		}
	}
	if r.Also == nil {
		return scores, nil
	}
	more, err := r.Also.Score(ctx, s, g)
	if err != nil {
		return nil, err
	}
	for i, m := range more {
		scores[i].Terms = append(scores[i].Terms, m.Terms...)
		scores[i].Reward += m.Reward
		if m.Outcome != "" {
			scores[i].Outcome, scores[i].Error = m.Outcome, m.Error
		}
	}
	return scores, nil
}

func (r Scorer) terms(row *Row, t *trajectory.Trajectory) []trajectory.Term {
	w, defaults := r.Weights, r.Environment.Defaults
	fixer := NewFixer(t.Tools)
	fixed := fixer.Fix(Output(t))
	calls, gold := fixed.Message.ToolCalls, row.GoldCalls()
	whole := t.StopReason == trajectory.StopCompleted // a cut output is never put in the place of a draft
	matched, tools, free := 0, 0, map[string]int{}
	for _, j := range grade.Match(calls, gold, defaults) {
		if j >= 0 {
			matched++
		}
	}
	for _, c := range calls {
		free[c.Name]++
	}
	for _, c := range gold {
		if free[c.Name] > 0 {
			free[c.Name]--
			tools++
		}
	}
	most := float64(max(len(gold), len(calls)))
	right := whole && row.IsGold(calls, defaults) && (fixed.Valid() || !row.IsEnd())
	if right && row.IsEnd() { // nothing was to be made, and nothing is
		matched, tools, most = 1, 1, 1
	}
	most = max(1, most)
	score := func(yes bool, part float64) float64 {
		if yes {
			return part
		}
		return 0
	}
	valid := whole && fixed.Valid() && (len(calls) > 0 || right)
	terms := []trajectory.Term{
		{Name: "calls", Score: score(whole, float64(matched)/most), Weight: w.Calls},
		{Name: "tool", Score: score(whole, float64(tools)/most), Weight: w.Tool},
		{Name: "schema", Score: score(valid, 1), Weight: w.Schema},
	}
	if r.Environment.Servers != nil {
		terms = append(terms,
			trajectory.Term{Name: "executed", Score: score(right || valid && allAnswered(t), 1), Weight: w.Executed})
	}
	if row.IsGold(fixer.Fix(row.Draft).Message.ToolCalls, defaults) {
		term := trajectory.Term{Name: "regression", Score: score(!right, 1), Weight: w.Regression}
		if !right {
			term.Why = "the draft was right, and is no more"
		}
		terms = append(terms, term)
	}
	return terms
}

// allAnswered reports whether all calls that were made were answered without error.
func allAnswered(t *trajectory.Trajectory) bool {
	results := t.Calls()
	for _, r := range results {
		if r.Status != trajectory.CallOK {
			return false
		}
	}
	return len(results) > 0
}
