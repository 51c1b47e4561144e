package objective

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// bonus takes the policy's entropy H at each token, times a coefficient c, from the token's loss, so that what the policy does not try yet keeps
// a chance (R. Williams, J. Peng, "Function optimization using connectionist reinforcement learning algorithms", 1991; A3C, arXiv 1602.01783,
// section 4; PPO, arXiv 1707.06347, eq. 9):
//
//	loss -= c H    H = -sum_v p_v log p_v    dH/dz_v = -p_v (log p_v + H)
//
// over all tokens v of the vocabulary, with z the logits by the sampling temperature and p their softmax. It is exact, not estimated by the
// sampled token, whose logprob's gradient is 0 on the average. Tokens become a step as the loss's do; with token_mean the
// bonus is c times the mean entropy, as in TRL. All sampled tokens have it, those of groups without spread too.
type bonus struct {
	Objective
	coefficient float64
}

func (b bonus) Name() string { return b.Objective.Name() + "_entropy" }

func (b bonus) Numbers() []float32 { return append(b.Objective.Numbers(), float32(b.coefficient)) }

func (b bonus) Graph(t Tokens) *Node {
	last := len(t.Numbers) - 1
	inner := t
	inner.Numbers = t.Numbers[:last]
	return Sub(b.Objective.Graph(inner), Mul(t.Numbers[last], t.Entropies))
}

func (b bonus) Reference(r Row) (loss float64, slopes []float64) {
	loss, slopes = b.Objective.Reference(r)
	for i, h := range r.Entropies {
		loss -= r.Weights[i] * b.coefficient * h
	}
	return loss, slopes
}
