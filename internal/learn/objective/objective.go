// Package objective holds the losses that a training step may have, each in a file of its own: its formula and where it is from, the
// columns that rows must have, its graph, and the same in float64, which tests hold the graph and the trainer's gradient to.
package objective

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/learn/batch"
)

// Objective is the loss of a token as a function of the trainer's logprob of it, at the step's temperature, and of its columns. The step's
// loss is the weighted sum over the trained tokens of the whole batch by its normaliser, however it is cut into micro-batches.
type Objective interface {
	// Columns are those that each row must have, in the order in which the other methods get them.
	Columns() []batch.Column
	// Numbers are given to the graph as an input, so that other numbers are no other program.
	Numbers() []float32
	// Graph maps logprobs [M] and columns, each [M], under numbers, each a scalar, to losses [M].
	Graph(logprobs *Node, columns, numbers []*Node) *Node
	// Reference is the loss of one token and its derivative by the logprob, as a step takes it, in float64.
	Reference(logprob float64, columns []float64) (loss, slope float64)
}

// Of finds an objective by its name, one of batch.Losses.
func Of(o batch.Objective) (Objective, error) {
	switch o.Loss {
	case batch.LossLikelihood:
		return likelihood{}, nil
	case batch.LossDAPO:
		return dapo{o.Clip}, nil
	case batch.LossCISPO:
		return cispo{o.Clip}, nil
	}
	return nil, fmt.Errorf("there is no loss %q; there are %q", o.Loss, batch.Losses())
}
