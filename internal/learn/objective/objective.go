// Package objective holds the losses that a training step may have, each in a file of its own: its formula and where it
// is from, the columns that rows must have, its graph, and the same in float64, which tests hold the graph and the
// trainer's gradient to.
package objective

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/learn/batch"
)

// Objective is the loss of each token as a function of the trainer's logprobs of its row, at the step's temperature,
// and of their columns. The step's loss is the weighted sum over the trained tokens of the whole batch by its
// normaliser, however it is cut into micro-batches: rows are never cut.
type Objective interface {
	// Name tells objectives apart whose graphs differ.
	Name() string
	// Columns are those that each row must have, in the order in which the other methods get them.
	Columns() []batch.Column
	// Numbers are given to the graph as an input, so that other numbers are no other program.
	Numbers() []float32
	// ByRow reports whether a token's loss depends on others of its row, so that the graph needs Tokens.Rows.
	ByRow() bool
	// Graph maps the tokens of a micro-batch to their losses [M].
	Graph(t Tokens) *Node
	// Reference is what a row's tokens add to a step's sum of losses, and its derivative by each logprob, as a step
	// takes it, in float64.
	Reference(r Row) (loss float64, slopes []float64)
}

// Tokens are the M trained tokens of a micro-batch, as a graph sees them.
type Tokens struct {
	Logprobs *Node   // [M]
	Columns  []*Node // each [M]
	Numbers  []*Node // each a scalar
	Rows     *Node   // [M] int32: which of NumRows rows a token is of, -1 where there is none; nil unless ByRow
	NumRows  int
	// Entropies are the policy's at each token [M], in nats; nil without a batch.Bonus.
	Entropies *Node
}

// Row is the same of one row, on the host. The lists are of its trained tokens.
type Row struct {
	Logprobs []float64
	Columns  [][]float64
	Weights  []float64 // in the step's sum
	// Entropies are the policy's at each token, in nats; nil without a batch.Bonus.
	Entropies []float64
}

// Of finds an objective by the name of its loss, one of batch.Losses.
func Of(o batch.Objective) (Objective, error) {
	var of Objective
	switch o.Loss {
	case batch.LossLikelihood:
		return likelihood{}, nil
	case batch.LossPreference:
		return preference{}, nil
	case batch.LossDAPO, batch.LossGRPO, batch.LossBNPO, batch.LossDrGRPO: // they differ by their reduction
		of = clipped{o.Clip}
	case batch.LossGSPO:
		of = gspo{o.Clip}
	case batch.LossCISPO:
		of = cispo{o.Clip}
	default:
		return nil, fmt.Errorf("there is no loss %q; there are %q", o.Loss, batch.Losses())
	}
	if o.OffPolicy > 0 {
		of = offPolicy{of, o.OffPolicy}
	}
	if o.KL.Beta > 0 {
		of = divergence{of, o.KL}
	}
	if o.Bonus.On {
		of = bonus{of, o.Bonus.Coefficient}
	}
	return of, nil
}
