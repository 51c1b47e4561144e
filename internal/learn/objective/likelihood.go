package objective

import (
	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/learn/batch"
)

// likelihood is the negative log-likelihood of demonstrations, with p the trainer's probability of the token:
//
//	loss = -log p
type likelihood struct{}

func (likelihood) Name() string { return "" }

func (likelihood) Columns() []batch.Column { return nil }

func (likelihood) Numbers() []float32 { return nil }

func (likelihood) ByRow() bool { return false }

func (likelihood) Graph(t Tokens) *Node { return Neg(t.Logprobs) }

func (likelihood) Reference(r Row) (loss float64, slopes []float64) {
	for i, logprob := range r.Logprobs {
		loss, slopes = loss-r.Weights[i]*logprob, append(slopes, -r.Weights[i])
	}
	return loss, slopes
}
