package objective

import (
	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/learn/batch"
)

// preference is the loss of pairs, to the first order. With s the derivative of a step's loss by a token's logprob
// (Preference, below), as the policy is before the step:
//
//	loss = s log p
//
// Its gradient is that of the pairs' loss; its value is not, and is not reported. So the two sides of a pair need not
// be computed together: they may be in different micro-batches and on different devices, and are computed once more,
// forward only, for s.
type preference struct{}

func (preference) Name() string { return "dpo" }

func (preference) Columns() []batch.Column { return []batch.Column{batch.ColumnSlopes} }

func (preference) Numbers() []float32 { return nil }

func (preference) ByRow() bool { return false }

func (preference) Graph(t Tokens) *Node { return Mul(t.Columns[0], t.Logprobs) }

func (preference) Reference(r Row) (loss float64, slopes []float64) {
	for i, logprob := range r.Logprobs {
		s := r.Weights[i] * r.Columns[0][i]
		loss, slopes = loss+s*logprob, append(slopes, s)
	}
	return loss, slopes
}
