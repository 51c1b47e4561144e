package objective

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/learn/batch"
)

// bonus takes the policy's entropy H at each token, times a coefficient c, from the token's loss, so that what the
// policy does not try yet keeps a chance (R. Williams, J. Peng, "Function optimization using connectionist
// reinforcement learning algorithms", 1991; A3C, arXiv 1602.01783, section 4; PPO, arXiv 1707.06347, eq. 9):
//
//	loss -= c b H    H = -sum_v p_v log p_v    dH/dz_v = -p_v (log p_v + H)
//
// over all tokens v of the vocabulary, with z the logits by the sampling temperature and p their softmax. It is exact,
// not estimated by the sampled token, whose logprob's gradient is 0 on the average. b (batch.ColumnBonus) makes the
// step's bonus c times the mean entropy of its tokens, whatever the loss divides by, as in TRL. All sampled tokens have
// it, those of groups without spread too; with grpo.top_entropy the tokens that are learnt from, and the mean is over
// those.
type bonus struct {
	Objective
	coefficient float64
}

func (b bonus) Name() string { return b.Objective.Name() + "_entropy" }

func (b bonus) Columns() []batch.Column {
	return append(slices.Clone(b.Objective.Columns()), batch.ColumnBonus)
}

func (b bonus) Numbers() []float32 { return append(b.Objective.Numbers(), float32(b.coefficient)) }

func (b bonus) Graph(t Tokens) *Node {
	last, column := len(t.Numbers)-1, len(t.Columns)-1
	inner := t
	inner.Numbers, inner.Columns = t.Numbers[:last], t.Columns[:column]
	return Sub(b.Objective.Graph(inner), Mul(t.Numbers[last], Mul(t.Columns[column], t.Entropies)))
}

func (b bonus) Reference(r Row) (loss float64, slopes []float64) {
	column := len(r.Columns) - 1
	inner := r
	inner.Columns = r.Columns[:column]
	loss, slopes = b.Objective.Reference(inner)
	for i, h := range r.Entropies {
		loss -= r.Weights[i] * b.coefficient * r.Columns[column][i] * h
	}
	return loss, slopes
}
