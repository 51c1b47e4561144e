package objective

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/learn/batch"
)

// offPolicy takes no loss of rows that the policy was pushed away from and has left already: rows with a negative
// advantage whose mean log(p_sampler / p) over their trained tokens is above a bound (DeepSeek-V3.2, arXiv 2512.02556,
// section 3.1; TRL's off_policy_mask_threshold). No gradient goes through the mask.
//
//	loss = m l    m = 0 where A < 0 and 1/T sum_t (log p_sampler,t - log p_t) > bound, else 1
type offPolicy struct {
	Objective
	bound float64
}

func (o offPolicy) Name() string { return o.Objective.Name() + "_off" }

func (o offPolicy) Columns() []batch.Column {
	return append(slices.Clone(o.Objective.Columns()), batch.ColumnSamplerLogprobs)
}

func (o offPolicy) Numbers() []float32 { return append(o.Objective.Numbers(), float32(o.bound)) }

func (offPolicy) ByRow() bool { return true }

func (o offPolicy) Graph(t Tokens) *Node {
	columns, numbers := t.Columns, t.Numbers
	advantage, sampler, bound := columns[1], columns[len(columns)-1], numbers[len(numbers)-1]
	inner := t
	inner.Columns, inner.Numbers = columns[:len(columns)-1], numbers[:len(numbers)-1]
	away := t.rowMean(Sub(sampler, StopGradient(t.Logprobs)))
	dropped := And(LessThan(advantage, ScalarZero(advantage.Graph(), advantage.DType())), GreaterThan(away, bound))
	loss := o.Objective.Graph(inner)
	return Where(dropped, ZerosLike(loss), loss)
}

func (o offPolicy) Reference(r Row) (loss float64, slopes []float64) {
	last := len(r.Columns) - 1
	weights, away := slices.Clone(r.Weights), make([]float64, len(r.Logprobs))
	for i, logprob := range r.Logprobs {
		away[i] = r.Columns[last][i] - logprob
	}
	if mean(away) > o.bound {
		for i, advantage := range r.Columns[1] {
			if advantage < 0 {
				weights[i] = 0
			}
		}
	}
	return o.Objective.Reference(Row{Logprobs: r.Logprobs, Columns: r.Columns[:last], Weights: weights})
}
