package objective

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/learn/batch"
)

// gspo is the clipped loss with one ratio for each row, the geometric mean of its sampled tokens' (GSPO, arXiv
// 2507.18071, eq. 5 and 7; TRL's importance_sampling_level: sequence), with T the row's number of trained tokens:
//
//	loss = -min(s A, clip(s, 1-low, 1+high) A)    s = exp(1/T sum_t (log p_t - log p_old,t))
//
// It is the same for all tokens of a row with one advantage, and clipped rows have no gradient at all. An episode whose
// chat template rewrites what came before is several rows, each with a ratio of its own. The paper's bounds are 3e-4
// and 4e-4.
type gspo struct{ clip batch.Clip }

func (g gspo) Name() string {
	if g.clip.Dual > 0 {
		return "gspo_dual"
	}
	return "gspo"
}

func (gspo) Columns() []batch.Column { return clipped{}.Columns() }

func (g gspo) Numbers() []float32 { return clipped(g).numbers() }

func (gspo) ByRow() bool { return true }

func (g gspo) Graph(t Tokens) *Node {
	old, advantage := t.Columns[0], t.Columns[1]
	return clipped(g).of(Exp(t.rowMean(Sub(t.Logprobs, old))), advantage, t.Numbers)
}

func (g gspo) Reference(r Row) (loss float64, slopes []float64) {
	ratio := rowRatio(r)
	total := 0.0
	for i, advantage := range r.Columns[1] {
		l, slope := clipped(g).reference(ratio, advantage)
		loss, total = loss+r.Weights[i]*l, total+r.Weights[i]*slope
	}
	slopes = make([]float64, len(r.Logprobs))
	for i := range slopes {
		slopes[i] = total / float64(len(slopes))
	}
	return loss, slopes
}

// rowRatio is the geometric mean of a row's ratios, whose old logprobs are its first column.
func rowRatio(r Row) float64 {
	sum := 0.0
	for i, logprob := range r.Logprobs {
		sum += logprob - r.Columns[0][i]
	}
	return math.Exp(sum / float64(len(r.Logprobs)))
}
