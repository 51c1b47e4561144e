// Package train is the optimiser step: losses, exact gradients through a shared prefix, Adam, checkpoints. It never calls
// a tool or a judge.
package train

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/learn/batch"
	"hone/internal/learn/engine"
)

// objective is what a step minimises. It is an input of the programs, so that SFT and GRPO share their compilation.
type objective struct {
	batch.Objective
	dropout float64 // a program of its own, as its graph is another
}

// numObjective is the length of what upload makes.
const numObjective = 4

// upload gives the objective to the device: [4] of policy as 0 or 1, temperature, low, high.
func (o objective) upload(e *engine.Engine) (engine.Buffer, error) {
	flat := make([]float32, numObjective)
	flat[1] = 1
	if p := o.Policy; p != nil {
		flat = []float32{1, float32(p.Temperature), float32(p.Clip.Low), float32(p.Clip.High)}
	}
	return e.Upload(flat, len(flat))
}

// of is number i of an objective on the device, a scalar.
func of(objective *Node, i int) *Node { return Reshape(Slice(objective, AxisRange(i, i+1))) }

// losses maps per-token values to per-token losses, all [M]: the trainer's logprobs, the sampler's, and the advantages,
// under an objective [4]. The step's loss is their mean over the trained tokens of the whole batch, however it is cut into
// micro-batches. The negative log-likelihood is -log p of the trainer.
func losses(objective, trainer, sampler, advantage *Node) *Node {
	policy := BroadcastToDims(GreaterThan(of(objective, 0), ScalarZero(trainer.Graph(), dtypes.Float32)), trainer.Shape().Dimensions...)
	return Where(policy, dapo(trainer, sampler, advantage, of(objective, 2), of(objective, 3)), Neg(trainer))
}

// dapo is the clipped policy-gradient loss with clip-higher, averaged over all tokens of the batch (arXiv 2503.14476,
// eq. 8): -min(r A, clip(r, 1-low, 1+high) A) with r = exp(trainer - sampler).
func dapo(trainer, sampler, advantage, low, high *Node) *Node {
	ratio := Exp(Sub(trainer, sampler))
	clipped := Min(Max(ratio, OneMinus(low)), OnePlus(high))
	return Neg(Min(Mul(ratio, advantage), Mul(clipped, advantage)))
}
