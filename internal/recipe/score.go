package recipe

import (
	"context"
	"errors"
	"fmt"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// scores are what the episodes of a group earned, or why that is not known.
type scores struct {
	group  int
	earned []trajectory.Score
	err    error
}

// score scores a whole group.
func (r Rollouts) score(ctx context.Context, group int, s *scenario.Scenario, g trajectory.Group) scores {
	earned, err := Score(ctx, r.Scorer, s, g)
	return scores{group, earned, err}
}

// take keeps what a group's episodes earned, and gives it to them.
func (r Rollouts) take(g trajectory.Group, s scores) error {
	if s.err != nil {
		return s.err
	}
	if err := r.Log.Scores(r.Stage, g, s.earned); err != nil {
		return err
	}
	g.Take(s.earned)
	return nil
}

// Score is what the episodes of a group earned. An error is one that stops the run; another masks the group.
func Score(ctx context.Context, scorer Scorer, s *scenario.Scenario, g trajectory.Group) ([]trajectory.Score, error) {
	earned, err := scorer.Score(ctx, s, g)
	switch {
	case err != nil && Stops(ctx, err):
		return nil, err
	case err != nil:
		return maskedScores(g, err), nil
	case len(earned) != len(g.Trajectories):
		return nil, fmt.Errorf("the scorer gave %d scores to %d episodes of scenario %s",
			len(earned), len(g.Trajectories), g.ScenarioID)
	}
	return earned, nil
}

// Stops is the rule of what a failed term does. It stops the run where the next group would meet the same: the user
// stopped it, the configuration is wrong, a budget is spent, the machine is full. All else is taken for a failure that
// passes. It masks the group: its episodes end as judge_error, are not trained on, and are scored again by a run that
// resumes within the step. If it does not pass, too many masked episodes stop the run, see watch.
func Stops(ctx context.Context, err error) bool {
	if ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return true
	}
	switch fault.CodeOf(err) {
	case fault.CodeUsage, fault.CodeBudget, fault.CodeExhausted, fault.CodeStopped:
		return true
	}
	return false
}

// maskedScores are the scores of a group that could not be scored. A part of a group cannot be compared with the rest,
// so it is masked whole.
func maskedScores(g trajectory.Group, err error) []trajectory.Score {
	scores := make([]trajectory.Score, len(g.Trajectories))
	for i, t := range g.Trajectories {
		if t.Outcome.Trainable() {
			scores[i] = trajectory.Score{Outcome: trajectory.JudgeError, Error: err.Error()}
		}
	}
	return scores
}
