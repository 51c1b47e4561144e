// Package train is the optimiser step: losses, exact gradients through a shared prefix, Adam, checkpoints. It never calls
// a tool or a judge.
package train

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

// Loss maps per-token values to per-token losses, all [M]: the trainer's logprobs, the sampler's, and the advantages.
// The step's loss is their mean over the trained tokens of the whole batch, however it is cut into micro-batches.
type Loss func(trainer, sampler, advantage *Node) *Node

// Supervised is the negative log-likelihood: -log p.
func Supervised(trainer, _, _ *Node) *Node { return Neg(trainer) }

// DAPO is the clipped policy-gradient loss with clip-higher, averaged over all tokens of the batch (arXiv 2503.14476,
// eq. 8): -min(r A, clip(r, 1-low, 1+high) A) with r = exp(trainer - sampler).
func DAPO(low, high float64) Loss {
	return func(trainer, sampler, advantage *Node) *Node {
		g := trainer.Graph()
		ratio := Exp(Sub(trainer, sampler))
		clipped := Min(Max(ratio, Scalar(g, dtypes.Float32, 1-low)), Scalar(g, dtypes.Float32, 1+high))
		return Neg(Min(Mul(ratio, advantage), Mul(clipped, advantage)))
	}
}
