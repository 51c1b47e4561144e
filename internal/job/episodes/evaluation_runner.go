package episodes

import (
	"hone/internal/config"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/recipe"
)

// Evaluation returns a runner of episodes that are only measured.
func (l *Episodes) Evaluation(e config.Eval) *rollout.Runner {
	return l.Runner(l.Measured(e), e.Temperature)
}

// Validation is how a stage measures the policy on the way; nil where it does not.
func (l *Episodes) Validation(c config.Config, held []scenario.Scenario) *recipe.Validation {
	if c.Eval.Every == 0 || len(held) == 0 {
		return nil
	}
	return &recipe.Validation{Every: c.Eval.Every, Scenarios: held, Runner: l.Evaluation(c.Eval), Scorer: l.Scorer.Alone(), Passed: l.Criteria(scenario.ByID(held), nil).Episode}
}
