// Package reward scores groups of trajectories: a reward is a sum of named terms, each score x weight. The terms are in
// terms.go.
package reward

import (
	"context"
	"fmt"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/grade"
)

// Weights are what each term's score is multiplied by, but for Extra. Scores lie in 0..1, so a penalty has a negative
// weight.
type Weights struct {
	Checks float64 // 1 if every check of the scenario passes
	End    float64 // 1 where all gold calls were made and the episode ended right, see ended
	Extra  float64 // share of what the two above earned that each call beyond the number of gold calls takes away
	Call   float64 // fraction of gold calls that the attempt made, arguments and all, in any order
	// fraction of gold calls whose tool the attempt called: a foothold before arguments are right, see toolShare
	Tool   float64
	Repeat float64 // fraction of calls that repeat an earlier one exactly, where no gold call was made
	// fraction of calls that were never sent and are of no gold call's tool, where no gold call was made
	Invalid float64
	Parse   float64 // 1 if a turn held a malformed call
}

// Default returns weights that make an episode go on until its task is done, and then stop. For n gold calls, which the
// checks need, with the attempt its first n calls:
//
//	without a gold call      at most Tool, by calling the right tools with wrong arguments; penalties
//	with k of them           at least Call k/n, and as much of Tool; no further call, right, wrong or refused, makes it less
//	with all and the answer  Checks + End more, which is more than all other terms together; each call beyond n halves these
//
// So to stop early pays no better than to try the next call. Nor does guessing pay. Of two or more calls that may be
// the right one, a policy that does not know which can make several. What it earns on the way is that of its first n
// calls, which are an honest attempt's. Each further call at most doubles its chance of having made all gold calls, and
// halves what that earns. So in the mean over what the gold calls may be, of these two parts neither is more than that
// of some attempt of n calls.
//
// A policy that reads what one call answered before it makes the next one is no guesser: it has learnt something. It
// pays for its calls beyond gold too, but they never make its reward less than what it had on the way.
func Default() Weights {
	return Weights{Checks: 1, Call: 0.5, Tool: 0.2, End: 0.2, Extra: 0.5, Repeat: -0.2, Invalid: -0.2, Parse: -0.2}
}

// Validate refuses weights that would reward a fault or punish a success.
func (w Weights) Validate() error {
	for _, good := range []struct {
		name   string
		weight float64
	}{{"checks", w.Checks}, {"call", w.Call}, {"tool", w.Tool}, {"end", w.End},
		{"repeat", -w.Repeat}, {"extra", w.Extra}, {"invalid", -w.Invalid}, {"parse", -w.Parse}} {
		if !(good.weight >= 0) { // also NaN
			return fmt.Errorf("weight of reward term %q has the wrong sign", good.name)
		}
	}
	if w.Extra > 1 {
		return fmt.Errorf("reward term %q takes a share away, at most 1", "extra")
	}
	return nil
}

// Scorer scores groups of trajectories. The zero value scores with Default.
type Scorer struct {
	Weights *Weights
	// Defaults gives the schema defaults of a tool's arguments; nil for none.
	Defaults grade.Defaults
	Effort   Effort
	Overlong *Overlong // nil for none
	Program  *Program  // of the user's; nil for none
	Judge    *Judged   // nil for none
	// Rating is the weight of what a person thinks of an episode, of those that are rated; 0 for none.
	Rating float64
	// Expressions come last: they see the scores of the other terms.
	Expressions []Expression
	Turns       *Turns // divides rewards among turns; nil does not
}

// Score returns what each member of a group earned, in its order: a sum of the terms that are said of it. An outcome
// that is not the policy's doing is not scored: no terms, reward 0, and the caller must mask it (Outcome.Trainable).
// Nor is one whose record lacks what a check looks at (Unseen). Its error is that of a term.
func (r Scorer) Score(ctx context.Context, s *scenario.Scenario, g trajectory.Group) ([]trajectory.Score, error) {
	scores := make([]trajectory.Score, len(g.Trajectories))
	for _, term := range r.terms() {
		of := group{Scenario: s, Defaults: r.Defaults}
		var members []*trajectory.Score
		for i, t := range g.Trajectories {
			if t.Outcome.Trainable() && len(Unseen(s, t)) == 0 && term.needs(s, t) {
				of.Trajectories, members = append(of.Trajectories, t), append(members, &scores[i])
				of.Terms = append(of.Terms, scores[i].Terms)
			}
		}
		if len(members) == 0 {
			continue
		}
		marks, err := term.score(ctx, of)
		if err != nil {
			return nil, fmt.Errorf("the reward term %s of scenario %s: %w", term.name, s.ID, err)
		}
		for i, m := range marks {
			weight := term.weight(members[i].Reward)
			if m.waived {
				weight = 0
			}
			members[i].Terms = append(members[i].Terms,
				trajectory.Term{Name: term.name, Score: m.score, Weight: weight, Why: m.why, Judgement: m.judged})
			members[i].Reward += m.score * weight
		}
	}
	r.divide(ctx, s, g, scores)
	return scores, nil
}

// divide says of what each turn earned, where that is wanted.
func (r Scorer) divide(
	ctx context.Context, s *scenario.Scenario, g trajectory.Group, scores []trajectory.Score,
) {
	for i, t := range g.Trajectories {
		if r.Turns != nil && len(scores[i].Terms) > 0 {
			scores[i].Turns = r.Turns.of(ctx, r, s, t, scores[i].Reward)
		}
	}
}
