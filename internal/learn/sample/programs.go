// Package sample is the in-process sampler: continuous batching over slots with private caches, a prompt prefix that
// is stored once and read once per step, and draws that depend on a request's key alone.
package sample

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
	"hone/internal/learn/model"
)

// The programs of a sampler. Caches are [K, B, T, D] for each layer, K then V, written in place.

// prefixProgram computes a prefix of p tokens: weights, ids[1,p] -> 2*L of [K, P, D], padded.
func (s *Sampler) prefixProgram(p int) (*engine.Program, error) {
	params := append(slices.Clone(s.params), engine.Param{Name: "ids", Shape: engine.I32(1, p)})
	return s.engine.Compile("prefix", params, func(in []*Node) []*Node {
		kv := model.Prefix(model.NewSampling(s.adapters, in[:len(in)-1], nil), in[len(in)-1])
		if more := s.spec.PadPrefix(p) - p; more > 0 {
			for i, x := range kv {
				kv[i] = Concatenate([]*Node{x, Zeros(x.Graph(), s.spec.Shape(s.spec.NumKVHeads, more, s.spec.HeadDim))},
					1)
			}
		}
		return kv
	}, engine.NumberNames("prefix", 2*s.spec.NumLayers)...)
}

func (s *Sampler) cacheShape() shapes.Shape {
	return s.spec.Shape(s.spec.NumKVHeads, s.slots, s.context, s.spec.HeadDim)
}

// numPrefix is how many arrays the prefix's keys and values are.
func (s *Sampler) numPrefix() int {
	if len(s.prefix) == 0 {
		return 0
	}
	return 2 * s.spec.NumLayers
}

func (s *Sampler) cacheParams() []engine.Param {
	var params []engine.Param
	for _, name := range engine.NumberNames("prefix", s.numPrefix()) {
		params = append(params, engine.Param{Name: name,
			Shape: s.spec.Shape(s.spec.NumKVHeads, s.spec.PadPrefix(len(s.prefix)), s.spec.HeadDim)})
	}
	for _, name := range engine.NumberNames("cache", 2*s.spec.NumLayers) {
		params = append(params, engine.Param{Name: name, Donated: true,
			Shape: s.cacheShape()})
	}
	return params
}

// prefillProgram computes a chunk of C tokens in each of R rows and writes it to the caches of the rows' slots. Chunks
// start at multiples of the smallest ones' length, and a slot is always in the row that its number has modulo R, so
// that a token of such a chunk is always computed in the same row of the same shape. Inputs: weights, prefix, caches,
// ids[R,C], slot[R], start[R] (of the chunk in the slot's cache), shared[R] (1 where the slot follows the prefix),
// write[R] (0: the row is not used), of several adapters adapter[R]. Outputs: caches. What follows a text's end in its
// last chunk is written too; nobody sees it before it is overwritten.
func (s *Sampler) prefillProgram(r, c int) (*engine.Program, error) {
	params := append(append(slices.Clone(s.params), s.cacheParams()...),
		engine.Param{Name: "ids", Shape: engine.I32(r, c)}, engine.Param{Name: "slot", Shape: engine.I32(r)},
		engine.Param{Name: "start", Shape: engine.I32(r)}, engine.Param{Name: "shared", Shape: engine.I32(r)},
		engine.Param{Name: "write", Shape: engine.I32(r)})
	if s.adapters.Count > 1 {
		params = append(params, engine.Param{Name: "adapter", Shape: engine.I32(r)})
	}
	return s.engine.Compile("prefill", params, func(in []*Node) []*Node {
		w, p, l := len(s.params), s.numPrefix(), 2*s.spec.NumLayers
		prefix, caches, rest := in[w:w+p], in[w+p:w+p+l], in[w+p+l:]
		ids, slot, start, shared, write := rest[0], rest[1], rest[2], rest[3], rest[4]
		g := ids.Graph()
		column := Add(BroadcastToDims(Reshape(start, r, 1), r, c), Iota(g, shapes.Make(dtypes.Int32, r, c), 1))
		positions := Add(column, BroadcastToDims(MulScalar(Reshape(shared, r, 1), len(s.prefix)), r, c))
		at := window{slot, start, Equal(write, OnesLike(write)), !s.engine.PureGo()}
		var adapterM *Node
		if s.adapters.Count > 1 {
			adapterM = Reshape(BroadcastToDims(Reshape(rest[5], r, 1), r, c), r*c)
		}
		model.NewSampling(s.adapters, in[:w], adapterM).Forward(ids,
			positions, func(layer int, k, v *Node) []model.KeyValues {
				i := 2 * layer
				caches[i], caches[i+1] = at.replace(caches[i], k), at.replace(caches[i+1], v)
				own := model.KeyValues{K: caches[i], V: caches[i+1], Length: start, Slot: slot,
					Own: &model.KeyValues{K: k, V: v}}
				return s.withPrefix(prefix, layer, shared, own)
			})
		return caches
	}, engine.NumberNames("cache", 2*s.spec.NumLayers)...)
}

// withPrefix is what a slot's queries attend to: the prefix, where there is one and the slot follows it, and its own
// text.
func (s *Sampler) withPrefix(prefix []*Node, layer int, shared *Node, own model.KeyValues) []model.KeyValues {
	if len(prefix) == 0 {
		return []model.KeyValues{own}
	}
	return []model.KeyValues{s.prefixKeyValues(prefix, layer, shared), own}
}

// prefixKeyValues is the prefix as a layer's queries attend to it, where their slots follow it.
func (s *Sampler) prefixKeyValues(prefix []*Node, layer int, shared *Node) model.KeyValues {
	return model.KeyValues{K: prefix[2*layer], V: prefix[2*layer+1], Keys: len(s.prefix),
		Mask: Equal(shared, OnesLike(shared))}
}

// window says where R rows of new keys or values belong: slot [R], first column [R], and whether at all [R] (nil: all).
// skips says that the device leaves out what belongs outside of the cache, as StableHLO's scatter does and pure Go does
// not.
type window struct {
	slot, column, write *Node
	skips               bool
}

// rows is the cache as [K*B*T, D], and which of its rows the window's [K, R, C, D] are: [K, R, C, 1].
func (w window) rows(cache *Node, f []int) (flat, row *Node) {
	d, g, index := cache.Shape().Dimensions, cache.Graph(), shapes.Make(dtypes.Int32, f[:3]...)
	first := Add(MulScalar(w.slot, d[2]), w.column) // of the row's columns in a head's B*T
	row = Add(MulScalar(Iota(g, index, 0), d[1]*d[2]),
		Add(BroadcastToDims(Reshape(first, 1, f[1], 1), f[:3]...), Iota(g, index, 2)))
	return Reshape(cache, d[0]*d[1]*d[2], d[3]), Reshape(row, f[0], f[1], f[2], 1)
}

// replace returns the cache with fresh [K, R, C, D] in its place, written over the cache where that is donated. There
// is no scatter that replaces, but -x added to x is 0, and fresh added to 0 is fresh, to the bit.
func (w window) replace(cache, fresh *Node) *Node {
	d, f := cache.Shape().Dimensions, fresh.Shape().Dimensions
	flat, row := w.rows(cache, f)
	// to write what is there would be to read the cache while it is written: XLA copies it for that
	if w.write != nil && w.skips {
		write := BroadcastToDims(Reshape(w.write, 1, f[1], 1, 1), f[0], f[1], f[2], 1)
		row = Where(write, row, AddScalar(row, d[0]*d[1]*d[2]))
	}
	old := Gather(flat, row)
	if w.write != nil && !w.skips {
		fresh = Where(BroadcastToDims(Reshape(w.write, 1, f[1], 1, 1), f...), fresh, old)
	}
	flat = ScatterSum(flat, row, Neg(old), false, true)
	return Reshape(ScatterSum(flat, row, fresh, false, true), d...)
}
