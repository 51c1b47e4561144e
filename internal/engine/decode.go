package engine

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine/stablehlo"
)

// NewToken is what a layer's attention is told of one new token of each row, whose key and value go into the row's
// cache.
type NewToken struct {
	NumHeads, NumKVHeads int
	Scale, Eps           float64        // of scores; of the norms
	Length               *graph.Node    // [N] int32: tokens that the caches hold
	Norms                [2]*graph.Node // weights [D] f32 of queries' and keys' norms; nil where there are none
	Rotation             [2]*graph.Node // cosines and sines [N, D] f32; nil where nothing is rotated
}

// HasKernel reports whether the device has one kernel for all of it: for caches [K, N, T, D] in bfloat16.
func (t NewToken) HasKernel(cache *graph.Node) bool {
	b, ok := cache.Graph().Backend().(*stablehlo.Backend)
	d := cache.Shape().Dimensions
	return ok && b.HasNewToken(d[1], t.NumHeads, t.NumKVHeads, d[3])
}

// Attend norms and rotates the queries and keys of qkv [N, (heads + 2 kvHeads) D], writes keys and values to the caches
// and attends to them. It returns the output and the queries that attended, [N, 1, heads, D], the log of the softmax's
// denominator [N, heads, 1], and the caches.
func (t NewToken) Attend(qkv, key, value *graph.Node) (out, turned, log, newKey, newValue *graph.Node) {
	values := func(nodes [2]*graph.Node) (all []compute.Value) {
		for _, n := range nodes {
			if n != nil {
				all = append(all, valueOf(n))
			}
		}
		return all
	}
	token := stablehlo.NewToken{NumHeads: t.NumHeads, NumKVHeads: t.NumKVHeads, Scale: t.Scale, Eps: t.Eps,
		Lengths: valueOf(t.Length), Norms: values(t.Norms), Rotation: values(t.Rotation)}
	o, s := graph.BackendFusedScaledDotProductAttention(qkv, key, value,
		compute.AttentionAxesLayoutBSHD, &compute.ScaledDotProductAttentionConfig{
			Bias: token})
	return o, s[0], s[1], s[2], s[3]
}
