package stablehlo

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// attendCache is fused attention to caches, forward alone: R rows of C queries, of which each sees the first keys of a
// slot, as many as options.KeyValueSeqLen [R] says. options.Mask [R], which no mask fits into here, holds the slots'
// numbers; without it row i sees slot i. What a row does not see is not read.
//
//	query, output    [R, C, H, D] bf16
//	key, value       [K, slots, T, D] bf16, where K divides H
//	state            [R, H, C] f32: log of the softmax's denominator, -1e30 where a row sees no key and its output means nothing
func (f *function) attendCache(query, key, val compute.Value, options *compute.ScaledDotProductAttentionConfig) (
	compute.Value, []compute.Value, error) {
	q, k := query.(*value).shape, key.(*value).shape
	if q.DType != dtypes.BFloat16 || q.Rank() != 4 || k.Rank() != 4 || options.Causal ||
		q.Dimensions[2]%k.Dimensions[0] != 0 {
		return nil, nil, fmt.Errorf("stablehlo backend: fused attention of %s to caches %s: %w",
			q, k, compute.ErrNotImplemented)
	}
	a := &attention{f: f, n: q.Dimensions[0], c: q.Dimensions[1], h: q.Dimensions[2], d: q.Dimensions[3],
		k: k.Dimensions[0], scale: options.Scale, query: q, output: q}
	lengths := options.KeyValueSeqLen
	var out, stat compute.Value
	if f.builder.backend.IsGPU() {
		out, stat = a.cachedForward(query, key, val, lengths, options.Mask)
	} else {
		out, stat = a.plainForward(query, a.slots(key, options.Mask), a.slots(val, options.Mask),
			seen{lengths: lengths})
	}
	zero, _ := f.Constant([]int32{0})
	some, _ := f.GreaterThan(lengths, zero)
	some, _ = f.op("broadcast_in_dim", "broadcast_dimensions = "+array([]int{0}),
		shapes.Make(dtypes.Bool, a.n, a.h, a.c), some)
	none, _ := f.Constant([]float32{-1e30})
	stat, err := f.Where(some, stat, none)
	return out, []compute.Value{stat}, err
}

// cachedForward is cuDNN's call. What a row without keys gets is not to be counted on; its denominator's logarithm is 0
// or -Inf, by shape. It takes caches as they lie, heads first, and slots that are not all by pages: a table of which
// parts of the caches are a row's keys, one after the other.
func (a *attention) cachedForward(q, key, val, lengths, slot compute.Value) (out, stat compute.Value) {
	f, d := a.f, key.(*value).shape.Dimensions
	t, view := d[2], []int{d[1], d[2], a.k, a.d}
	all, _ := f.Constant([]int32{int32(a.c)})
	all, _ = f.op("broadcast_in_dim", "broadcast_dimensions = "+array(nil), shapes.Make(dtypes.Int32, a.n), all)
	extra := []operand{{value: all}, {value: lengths}}
	if slot != nil {
		size := pageSize(t)
		view = []int{d[1] * t / size, size, a.k, a.d}
		table := shapes.Make(dtypes.Int32, a.n, 1, t/size, 1)
		page, _ := f.Iota(table, 2)
		each, _ := f.Constant([]int32{int32(t / size)})
		first, _ := f.Mul(slot, each)
		first, _ = f.op("broadcast_in_dim", "broadcast_dimensions = "+array([]int{0}), table, first)
		page, _ = f.Add(page, first)
		extra, t = append(extra, operand{value: page}, operand{value: page}), size
	}
	heads := func(x compute.Value) operand { // [slots or pages, tokens, K, D], in memory still heads first
		x, _ = f.Reshape(x, a.k, view[0], view[1], a.d)
		x, _ = f.Transpose(x, 1, 2, 0, 3)
		return operand{x, "3, 1, 0, 2"}
	}
	results := []shapes.Shape{shapes.Make(dtypes.BFloat16, a.n, a.h, a.c, a.d),
		shapes.Make(dtypes.Float32, a.n, a.h, a.c), workspace}
	r := a.call("__cudnn$fmhaSoftmax",
		a.config(a.n, a.c, t, kernel{mask: "PADDING", paged: slot != nil}, forwardProducts()), []string{"3, 1, 2, 0",
			"2, 1, 0", "0"}, results, append([]operand{{value: q}, heads(key), heads(val)},
			extra...)...)
	out, _ = f.Transpose(r[0], 0, 2, 1, 3)
	return out, r[1]
}

// pageSize is the tokens of a page of caches of t tokens: the largest power of two up to 128 that divides t.
func pageSize(t int) int {
	size := 128
	for t%size != 0 {
		size /= 2
	}
	return size
}

// slots returns the rows' keys, [R, T, K, D].
func (a *attention) slots(x, slot compute.Value) compute.Value {
	f, d := a.f, x.(*value).shape.Dimensions
	if slot != nil {
		slot, _ = f.Reshape(slot, a.n, 1)
		x, _ = f.Gather(x, slot, 1, []int{0, 2, 3}, []int{1}, []int{1}, []int{d[0], 1, d[2], d[3]}, false)
	}
	x, _ = f.Transpose(x, 1, 2, 0, 3)
	return x
}
