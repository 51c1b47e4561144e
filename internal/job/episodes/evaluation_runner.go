package episodes

import (
	"context"

	"hone/internal/config"
	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/policy"
	"hone/internal/recipe"
)

// Evaluation returns a runner of episodes that are only measured.
func (l *Episodes) Evaluation(e config.Eval) *rollout.Runner {
	return l.Runner(l.Measured(e), e.Temperature)
}

// Measured is the policy that an evaluation measures: the sampler's, truncated as the configuration says.
func (l *Episodes) Measured(e config.Eval) rollout.Policy {
	p := *l.Speaker
	p.Sampler = Truncated{p.Sampler, e}
	return p
}

// Truncated is a sampler that leaves out improbable tokens as eval.top_k, eval.top_p and eval.min_p say.
type Truncated struct {
	policy.Sampler
	eval config.Eval
}

// Sample implements policy.Sampler.
func (t Truncated) Sample(ctx context.Context, r policy.Request) (policy.Completion, error) {
	r.TopK, r.TopP, r.MinP = t.eval.TopK, t.eval.TopP, t.eval.MinP
	return t.Sampler.Sample(ctx, r)
}

// Validation is how a stage measures the policy on the way; nil where it does not.
func (l *Episodes) Validation(c config.Config, held []scenario.Scenario) *recipe.Validation {
	if c.Eval.Every == 0 || len(held) == 0 {
		return nil
	}
	return &recipe.Validation{Every: c.Eval.Every, Scenarios: held, Runner: l.Evaluation(c.Eval), Scorer: l.Scorer.Alone(), Passed: l.Criteria(scenario.ByID(held), nil).Episode}
}
