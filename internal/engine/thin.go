package engine

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine/stablehlo"
)

// Thin is what an adapter adds to a product of joined weights, [W; A] x: with y = W x and d = A x it is y + B d,
// rounded once. Bands of y's columns take columns of d of their own, as many each: the first band the first, and so on.
type Thin struct {
	Parts      int         // of which y is the sum; it has them as its first axis where they are several
	Out, Width int         // rows of W; columns of d that a band takes
	Bands      []int       // the first column of each, from 0 on
	Bias       *graph.Node // [Out] f32; nil where there is none
	// the first half of the sum is a gate: the result is SiLU(first half) second half (arXiv 2002.05202)
	Gated bool
}

// HasKernel reports whether the device has one kernel for all of it, for rows of y, [M, Out + all of d] or [Parts, M,
// Out + all of d] in float32.
func (t Thin) HasKernel(g *graph.Graph, rows int) bool {
	b, ok := g.Backend().(*stablehlo.Backend)
	return ok && b.HasThin(rows, t.Out, t.Width, stablehlo.Thin{Parts: t.Parts, Bands: t.Bands, Gated: t.Gated})
}

// Add returns the sum in bfloat16, [M, Out] or, gated, [M, Out/2], of y f32 and b [Out, Width] bf16.
func (t Thin) Add(y, b *graph.Node) *graph.Node {
	sum, _ := add(y, b, y, stablehlo.Thin{Parts: t.Parts, Bands: t.Bands, Gated: t.Gated, Bias: valueOf(t.Bias)})
	return sum
}

// ThinNorm is Thin whose sum is added to x and then normed: h = RMSNorm(x + sum) (arXiv 1910.07467).
type ThinNorm struct {
	Thin
	Weight *graph.Node // [Out] f32
	Eps    float64
}

// HasKernel is Thin's.
func (t ThinNorm) HasKernel(g *graph.Graph, rows int) bool {
	b, ok := g.Backend().(*stablehlo.Backend)
	return ok && b.HasThin(rows, t.Out, t.Width, stablehlo.Thin{Parts: t.Parts, Bands: t.Bands, Norms: true})
}

// Add returns x + sum and that normed, each [M, Out] in bfloat16, of y and b as Thin's and x [M, Out] bf16.
func (t ThinNorm) Add(y, b, x *graph.Node) (sum, normed *graph.Node) {
	normed, states := add(y, b, x, stablehlo.Thin{Parts: t.Parts, Bands: t.Bands, Bias: valueOf(t.Bias), Norms: true,
		Weight: valueOf(t.Weight), Eps: t.Eps})
	return states[0], normed
}

// add has the backend's kernel add, which it takes for attention.
func add(y, b, x *graph.Node, t stablehlo.Thin) (*graph.Node, []*graph.Node) {
	return graph.BackendFusedScaledDotProductAttention(y, b, x, compute.AttentionAxesLayoutBSHD,
		&compute.ScaledDotProductAttentionConfig{Bias: t})
}

// valueOf is the backend's value of a node, nil of none.
func valueOf(n *graph.Node) compute.Value {
	if n == nil {
		return nil
	}
	return graph.InternalBackendOutputs(n)[0]
}
