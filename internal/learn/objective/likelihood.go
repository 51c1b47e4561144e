package objective

import (
	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/learn/batch"
)

// likelihood is the negative log-likelihood of demonstrations, with p the trainer's probability of the token:
//
//	loss = -log p
type likelihood struct{}

func (likelihood) Columns() []batch.Column { return nil }

func (likelihood) Numbers() []float32 { return nil }

func (likelihood) Graph(logprobs *Node, _, _ []*Node) *Node { return Neg(logprobs) }

func (likelihood) Reference(logprob float64, _ []float64) (loss, slope float64) { return -logprob, -1 }
