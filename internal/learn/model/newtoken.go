package model

import (
	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
)

// Caches are the keys and values that rows hold.
type Caches struct {
	KV     []*Node // K, then V, of each layer, [K, N, T, D]; after Decode with the new tokens
	Length *Node   // [N] int32: tokens that they hold
	// Write writes the new tokens' keys or values [K, N, 1, D] behind what a cache holds, where no kernel does.
	Write func(cache, fresh *Node) *Node
	// Prefix is what rows see of a layer before their own text; nil where that is nothing.
	Prefix func(layer int) []KeyValues
}

func (c *Caches) prefix(layer int) []KeyValues {
	if c.Prefix == nil {
		return nil
	}
	return c.Prefix(layer)
}

// Decode is Forward of one new token of each row, ids and positions [N, 1], that the caches come to hold.
func (d *Decoder) Decode(ids, positions *Node, c *Caches) *Node {
	return d.layers(ids, positions, func(layer int, h *Node, r rotation) *Node {
		if t, ok := d.newToken(layer, r, c); ok {
			return d.attendNew(layer, h, t, c)
		}
		return d.attendSegments(layer, h, positions, r, func(layer int, k, v *Node) []KeyValues {
			key, value := &c.KV[2*layer], &c.KV[2*layer+1]
			*key, *value = c.Write(*key, k), c.Write(*value, v)
			return append(c.prefix(layer), KeyValues{K: *key, V: *value, Length: AddScalar(c.Length, 1)})
		})
	})
}

// newToken is what the device's kernel for new tokens is told; false where there is none for this layer.
func (d *Decoder) newToken(layer int, r rotation, c *Caches) (engine.NewToken, bool) {
	s, l, cache := d.spec, d.spec.Layer(layer), c.KV[2*layer]
	t := engine.NewToken{NumHeads: s.NumHeads, NumKVHeads: s.NumKVHeads, Scale: s.queryScale(), Eps: s.NormEps,
		Length: c.Length}
	keys := cache.Shape().Dimensions[2]
	for _, seg := range c.prefix(layer) {
		keys += seg.len()
	}
	if !s.Joined && !s.FusedLinears || d.adapter != nil || !s.hasKernel(cache, l.Window, keys) || !t.HasKernel(cache) {
		return t, false
	}
	if s.QKNorm {
		for i, name := range []string{queryNorm, keyNorm} {
			t.Norms[i] = d.weights[s.layer(layer)+name+".weight"]
			if s.NormOffset {
				t.Norms[i] = AddScalar(t.Norms[i], 1)
			}
		}
	}
	if l.NoRope {
		return t, true
	}
	dims := r.cos.Shape().Dimensions // [1, N, 1, R]
	t.Rotation = [2]*Node{Reshape(r.cos, dims[1], dims[3]), Reshape(r.sin, dims[1], dims[3])}
	return t, dims[3] == s.HeadDim
}

// attendNew is a layer's attention from h [N, H] by the device's kernel for new tokens.
func (d *Decoder) attendNew(layer int, h *Node, t engine.NewToken, c *Caches) *Node {
	targets := []Target{Q, K, V}
	if d.spec.FusedLinears {
		targets = []Target{QKV}
	}
	key, value := &c.KV[2*layer], &c.KV[2*layer+1]
	own := part{}
	var turned *Node
	own.out, turned, own.log, *key, *value = t.Attend(d.whole(layer, h, targets...), *key, *value)
	var parts []part
	for _, seg := range c.prefix(layer) {
		parts = append(parts, attendPart(d.spec, turned, seg)...)
	}
	out := own.out
	if len(parts) > 0 {
		out = mergeParts(append(parts, own))
	}
	return Reshape(out, h.Shape().Dimensions[0], d.spec.NumHeads*d.spec.HeadDim)
}
