package engine

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"

	"hone/internal/learn/engine/stablehlo"
)

// Thin is what an adapter adds to a product of joined weights, [W; A] x: with y = W x and d = A x it is y + B d, rounded once.
type Thin struct {
	Out, Width int         // rows of W and of A
	Bias       *graph.Node // [Out] f32; nil where there is none
	Gated      bool        // the first half of the sum is a gate: the result is SiLU(first half) second half (arXiv 2002.05202)
}

// HasKernel reports whether the device has one kernel for all of it: for y [M, Out + Width] in float32.
func (t Thin) HasKernel(y *graph.Node) bool {
	b, ok := y.Graph().Backend().(*stablehlo.Backend)
	return ok && b.HasThin(y.Shape().Dimensions[0], t.Out, t.Width, t.Gated)
}

// Add returns the sum in bfloat16, [M, Out] or, gated, [M, Out/2], of y [M, Out + Width] f32 and b [Out, Width] bf16.
func (t Thin) Add(y, b *graph.Node) *graph.Node {
	config := compute.DenseConfig{WeightLayout: compute.DenseLayoutOutputsInput}
	if t.Gated {
		config.Activation = compute.ActivationSilu
	}
	return graph.BackendFusedDense(y, b, t.Bias, config)
}
