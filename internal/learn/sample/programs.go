// Package sample is the in-process sampler: continuous batching over slots with private caches, a prompt prefix that
// is stored once and read once per step, and draws that depend on a request's key alone.
package sample

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/learn/engine"
	"hone/internal/learn/model"
)

// The programs of a sampler. Caches are [K, B, T, D] for each layer, K then V, written in place.

// mergeProgram adds the adapter to the base weights: weights, adapter[A] -> the linear maps of all layers.
func (s *Sampler) mergeProgram() (*engine.Program, error) {
	_, size := s.lora.Pieces(s.spec)
	params := append(s.spec.WeightParams(), engine.Param{Name: "adapter", Shape: engine.F32(size)})
	return s.engine.Compile("merge", params, func(in []*Node) []*Node {
		n := len(in) - 1
		return s.spec.LinearMaps(model.Merge(s.spec, s.lora, in[:n], in[n]))
	})
}

// prefixProgram computes a prefix of p tokens: weights, ids[1,p] -> 2*L of [K, P, D].
func (s *Sampler) prefixProgram(p int) (*engine.Program, error) {
	params := append(s.spec.WeightParams(), engine.Param{Name: "ids", Shape: engine.I32(1, p)})
	return s.engine.Compile("prefix", params, func(in []*Node) []*Node {
		return model.Prefix(model.NewDecoder(s.spec, in[:len(in)-1]), in[len(in)-1])
	})
}

func (s *Sampler) cacheShape() shapes.Shape {
	return s.spec.Shape(s.spec.NumKVHeads, s.slots, s.context, s.spec.HeadDim)
}

func (s *Sampler) cacheParams() []engine.Param {
	var params []engine.Param
	for i := range 2 * s.spec.NumLayers {
		params = append(params, engine.Param{Name: fmt.Sprintf("prefix%d", i),
			Shape: s.spec.Shape(s.spec.NumKVHeads, len(s.prefix), s.spec.HeadDim)})
	}
	for i := range 2 * s.spec.NumLayers {
		params = append(params, engine.Param{Name: fmt.Sprintf("cache%d", i), Donated: true,
			Shape: s.cacheShape()})
	}
	return params
}

// prefillProgram computes a chunk of C tokens in each of R rows and writes it to the caches of the rows' slots. Chunks
// start at multiples of their length, and a slot is always in the row that its number has modulo R, so that a token is
// always computed in the same row of the same shape. Inputs: weights, prefix, caches, ids[R,C], slot[R], start[R] (of the
// chunk in the slot's cache), shared[R] (1 where the slot follows the prefix), write[R] (0: the row is not used).
// Outputs: caches. What follows a text's end in its last chunk is written too; nobody sees it before it is overwritten.
func (s *Sampler) prefillProgram() (*engine.Program, error) {
	r, c, t := s.rows, s.chunk, s.context
	params := append(append(s.spec.WeightParams(), s.cacheParams()...),
		engine.Param{Name: "ids", Shape: engine.I32(r, c)}, engine.Param{Name: "slot", Shape: engine.I32(r)},
		engine.Param{Name: "start", Shape: engine.I32(r)}, engine.Param{Name: "shared", Shape: engine.I32(r)},
		engine.Param{Name: "write", Shape: engine.I32(r)})
	return s.engine.Compile("prefill", params, func(in []*Node) []*Node {
		w, l := len(s.base), 2*s.spec.NumLayers
		prefix, caches, rest := in[w:w+l], in[w+l:w+2*l], in[w+2*l:]
		ids, slot, start, shared, write := rest[0], rest[1], rest[2], rest[3], rest[4]
		g := ids.Graph()
		column := Add(BroadcastToDims(Reshape(start, r, 1), r, c), Iota(g, shapes.Make(dtypes.Int32, r, c), 1))
		positions := Add(column, BroadcastToDims(MulScalar(Reshape(shared, r, 1), len(s.prefix)), r, c))
		upTo := LessOrEqual(Iota(g, shapes.Make(dtypes.Int32, r, c, t), 2), BroadcastToDims(Reshape(column, r, c, 1), r, c, t))
		at := window{slot, start, Equal(write, OnesLike(write))}
		model.NewDecoder(s.spec, in[:w]).Forward(ids, positions, func(layer int, k, v *Node) []model.KeyValues {
			i := 2 * layer
			caches[i], caches[i+1] = at.replace(caches[i], k), at.replace(caches[i+1], v)
			own := model.KeyValues{K: rowsOf(caches[i], slot), V: rowsOf(caches[i+1], slot), Mask: upTo}
			return []model.KeyValues{s.sharedSegment(prefix, layer, shared), own}
		})
		return caches
	})
}

func (s *Sampler) sharedSegment(prefix []*Node, layer int, shared *Node) model.KeyValues {
	return model.KeyValues{K: prefix[2*layer], V: prefix[2*layer+1], Mask: Equal(shared, OnesLike(shared))}
}

// rowsOf gathers the slots [R] of a cache: [K, R, T, D].
func rowsOf(cache, slot *Node) *Node {
	d, r := cache.Shape().Dimensions, slot.Shape().Dimensions[0]
	g := cache.Graph()
	at := Concatenate([]*Node{Iota(g, shapes.Make(dtypes.Int32, d[0], r, 1), 0),
		BroadcastToDims(Reshape(slot, 1, r, 1), d[0], r, 1)}, -1)
	return Reshape(GatherSlices(cache, []int{0, 1}, at, []int{1, 1}, false), d[0], r, d[2], d[3])
}

// window says where R rows of new keys or values belong: slot [R], first column [R], and whether at all [R] (nil: all).
type window struct{ slot, column, write *Node }

// replace returns the cache with fresh [K, R, C, D] in its place, written over the cache where that is donated. There
// is no scatter that replaces, but -x added to x is 0, and fresh added to 0 is fresh, to the bit.
func (w window) replace(cache, fresh *Node) *Node {
	d, f := cache.Shape().Dimensions, fresh.Shape().Dimensions
	g, index := cache.Graph(), shapes.Make(dtypes.Int32, f[:3]...)
	first := Add(MulScalar(w.slot, d[2]), w.column) // of the row's columns in a head's B*T
	row := Add(MulScalar(Iota(g, index, 0), d[1]*d[2]), Add(BroadcastToDims(Reshape(first, 1, f[1], 1), f[:3]...), Iota(g, index, 2)))
	row = Reshape(row, f[0], f[1], f[2], 1)
	flat := Reshape(cache, d[0]*d[1]*d[2], d[3])
	old := Gather(flat, row)
	if w.write != nil {
		fresh = Where(BroadcastToDims(Reshape(w.write, 1, f[1], 1, 1), f...), fresh, old)
	}
	flat = ScatterSum(flat, row, Neg(old), false, true)
	return Reshape(ScatterSum(flat, row, fresh, false, true), d...)
}

// decodeProgram feeds one token to every slot and draws the next. Inputs: weights, prefix, caches, ids[B], length[B]
// (tokens in the slot's cache; the new one is written there), shared[B], temperature[B], uniform[B] in [0,1).
// Outputs: next[B], logprob[B], logits[B,V] (for chooseProgram and rankProgram), caches.
func (s *Sampler) decodeProgram() (*engine.Program, error) {
	b, t := s.slots, s.context
	params := append(append(s.spec.WeightParams(), s.cacheParams()...),
		engine.Param{Name: "ids", Shape: engine.I32(b)}, engine.Param{Name: "length", Shape: engine.I32(b)},
		engine.Param{Name: "shared", Shape: engine.I32(b)}, engine.Param{Name: "temperature", Shape: engine.F32(b)},
		engine.Param{Name: "uniform", Shape: engine.F32(b)})
	return s.engine.Compile("decode", params, func(in []*Node) []*Node {
		w, l := len(s.base), 2*s.spec.NumLayers
		prefix, caches, rest := in[w:w+l], in[w+l:w+2*l], in[w+2*l:]
		ids, length, shared := rest[0], rest[1], rest[2]
		g := ids.Graph()
		positions := Reshape(Add(length, MulScalar(shared, len(s.prefix))), b, 1)
		upTo := LessOrEqual(Iota(g, shapes.Make(dtypes.Int32, b, 1, t), 2), BroadcastToDims(Reshape(length, b, 1, 1), b, 1, t))
		at := window{slot: Iota(g, shapes.Make(dtypes.Int32, b), 0), column: length}
		decoder := model.NewDecoder(s.spec, in[:w])
		h := decoder.Forward(Reshape(ids, b, 1), positions, func(layer int, k, v *Node) []model.KeyValues {
			i := 2 * layer
			caches[i], caches[i+1] = at.replace(caches[i], k), at.replace(caches[i+1], v)
			return []model.KeyValues{s.sharedSegment(prefix, layer, shared), {K: caches[i], V: caches[i+1], Mask: upTo}}
		})
		logits := decoder.Logits(Reshape(h, b, s.spec.Hidden))
		next, logprob := draw(logits, rest[3], rest[4])
		return append([]*Node{next, logprob, logits}, caches...)
	})
}

// draw picks a token of each row of logits [B, V]: the largest where the temperature is 0, else by inverting the
// cumulative distribution of softmax(logits/temperature) at the uniform number. The inversion is done in two levels,
// blocks of about sqrt(V) tokens and then tokens, so one uniform number a row is all the randomness there is. It
// returns the ids [B] and their natural-log probabilities [B] (at temperature 1 where it is 0).
func draw(logits, temperature, uniform *Node) (ids, logprobs *Node) {
	g := logits.Graph()
	b, v := logits.Shape().Dimensions[0], logits.Shape().Dimensions[1]
	size := blockSize(v)
	n := v / size
	one := OnesLike(temperature)
	greedy := Equal(temperature, ZerosLike(temperature))
	best := ArgMax(logits, -1, dtypes.Int32)
	logits = Div(logits, Reshape(Where(greedy, one, temperature), b, 1))
	max := ReduceAndKeep(logits, ReduceMax, -1)
	mass := Exp(Sub(logits, max))
	blocks := ReduceSum(Reshape(mass, b, n, size), -1)
	upTo := Dot(blocks, triangle(g, n)).General([]int{1}, nil, []int{0}, nil)
	total := ReduceSum(blocks, -1)
	at := Mul(uniform, total)
	target := Reshape(at, b, 1)
	block := countBelow(upTo, target)
	isBlock := Equal(Reshape(block, b, 1), Iota(g, shapes.Make(dtypes.Int32, b, n), 1))
	before := Sub(pick(upTo, isBlock), pick(blocks, isBlock))
	wide := BroadcastToDims(Reshape(isBlock, b, n, 1), b, n, size)
	row := ReduceSum(Where(wide, Reshape(mass, b, n, size), Zeros(g, shapes.Make(dtypes.Float32, b, n, size))), 1)
	within := Add(Dot(row, triangle(g, size)).General([]int{1}, nil, []int{0}, nil), Reshape(before, b, 1))
	token := countBelow(within, target)
	isToken := Equal(Reshape(token, b, 1), Iota(g, shapes.Make(dtypes.Int32, b, size), 1))
	// The sums are rounded differently, so a target at a block's end may lie outside of the block as its tokens add up,
	// and its first or last token stands for it, however improbable. A rare one would be drawn far too often so: the
	// likeliest token of all stands in for it.
	chosen := pick(row, isToken)
	outside := LogicalOr(LessThan(at, before), GreaterOrEqual(at, ReduceMax(within, -1)))
	rare := LessThan(chosen, MulScalar(total, 1.0/(1<<16)))
	strayed := LogicalOr(LessOrEqual(chosen, ZerosLike(total)), LogicalAnd(outside, rare))
	ids = Where(LogicalOr(greedy, strayed), best, Add(MulScalar(block, size), token))
	isID := Equal(Reshape(ids, b, 1), Iota(g, shapes.Make(dtypes.Int32, b, v), 1))
	return ids, Sub(Sub(pick(logits, isID), Reshape(max, b)), Log(total))
}

// blockSize returns the divisor of v nearest above its square root.
func blockSize(v int) int {
	for size := 1; ; size++ {
		if size*size >= v && v%size == 0 {
			return size
		}
	}
}

// triangle returns ones[n,n] at and above the diagonal: x times it is x's cumulative sum.
func triangle(g *Graph, n int) *Node {
	shape := shapes.Make(dtypes.Int32, n, n)
	return ConvertDType(LessOrEqual(Iota(g, shape, 0), Iota(g, shape, 1)), dtypes.Float32)
}

// countBelow counts, in each row of rising numbers, those not above the target, but never all of them.
func countBelow(rising, target *Node) *Node {
	n := rising.Shape().Dimensions[1]
	count := ReduceSum(ConvertDType(LessOrEqual(rising, target), dtypes.Int32), -1)
	return Min(count, Scalar(rising.Graph(), dtypes.Int32, n-1))
}

// pick returns the one element of each row that the mask marks.
func pick(x, mask *Node) *Node { return ReduceSum(Where(mask, x, ZerosLike(x)), -1) }
