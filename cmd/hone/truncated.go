package main

import (
	"context"

	"hone/internal/config"
	"hone/internal/episode/rollout"
	"hone/internal/policy"
)

// evaluation returns a runner of episodes that are only measured.
func (l *lab) evaluation(e config.Eval) *rollout.Runner {
	return l.runner(rollout.Sampled{Sampler: truncated{l.speaker.Sampler, e}, Renderer: l.speaker.Renderer}, e.Temperature)
}

// truncated is a sampler that leaves out improbable tokens as eval.top_k, eval.top_p and eval.min_p say.
type truncated struct {
	policy.Sampler
	eval config.Eval
}

// Sample implements policy.Sampler.
func (t truncated) Sample(ctx context.Context, r policy.Request) (policy.Completion, error) {
	r.TopK, r.TopP, r.MinP = t.eval.TopK, t.eval.TopP, t.eval.MinP
	return t.Sampler.Sample(ctx, r)
}
