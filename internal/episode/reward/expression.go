package reward

import (
	"context"
	"fmt"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/episode/userprogram"
)

// Expression is a term that a formula of the user's computes from what is known of an episode, the scores of the other
// terms among it. Its score is any finite number.
type Expression struct {
	Name    string
	Formula *userprogram.Formula
	Weight  float64 // of a score of 1
}

// score fails where one episode has no value: another in its place would change what is learnt.
func (x Expression) score(_ context.Context, g group) ([]mark, error) {
	marks := make([]mark, len(g.Trajectories))
	for i, t := range g.Trajectories {
		value, err := x.Formula.Of(facts(g.Scenario, t, g.Terms[i]))
		if err != nil {
			return nil, fmt.Errorf("episode %s: %w", t.ID, err)
		}
		marks[i].score = value
	}
	return marks, nil
}

// facts are what a formula sees of an episode with these terms.
func facts(s *scenario.Scenario, t *trajectory.Trajectory, terms []trajectory.Term) userprogram.Facts {
	f := userprogram.Facts{Terms: map[string]float64{}, Gold: len(s.Gold), Turns: len(t.Turns), Tokens: numSampled(t),
		Outcome: string(t.Outcome), StopReason: string(t.StopReason), Answer: t.Answer(), Difficulty: s.Difficulty}
	for _, term := range terms {
		f.Terms[term.Name] = term.Score
	}
	for _, r := range t.ServerCalls() {
		f.Calls = append(f.Calls,
			userprogram.Call{Name: r.Call.Name, Arguments: r.Call.Arguments, Status: string(r.Status)})
	}
	return f
}
