package stablehlo

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// The kernels of fused attention as plain operations, for devices without cuDNN: the same function, with the scores in
// memory. Products take bf16 and give f32, as inside of the kernel.

// seen is which keys queries see: all, those up to their own, or, of each row, as many as lengths [B] says.
type seen struct {
	causal  bool
	lengths compute.Value
}

// plainForward is forward.
func (a *attention) plainForward(q, k, v compute.Value, by seen) (out, stat compute.Value) {
	f := a.f
	scores := a.scores(q, k, by) // [B, K, S, G, T]
	max, _ := f.ReduceMax(scores, 4)
	p := a.exp(scores, a.over(max, scores))
	sum, _ := f.ReduceSum(p, 4)
	o := a.product(p, []int{4}, []int{0, 1}, v, []int{1}, []int{0, 2}) // [B, K, S, G, D]
	o, _ = f.Div(o, a.over(sum, o))
	log, _ := f.Log(sum)
	stat, _ = f.Transpose(a.add(log, max), 0, 1, 3, 2)
	b, s := q.(*value).shape.Dimensions[0], q.(*value).shape.Dimensions[1]
	stat, _ = f.Reshape(stat, b, a.h, s)
	return a.mergeHeads(o), stat
}

// plainBackward is backward: with P = exp(scores - stat), dV = P^T dO, dS = P (dO V^T - rowsum(dO O)) scale,
// dQ = dS K, dK = dS^T Q.
func (a *attention) plainBackward(q, k, v, stat, dOut, out compute.Value, causal bool) (dq, dk, dv compute.Value) {
	f := a.f
	b, s := q.(*value).shape.Dimensions[0], q.(*value).shape.Dimensions[1]
	stat, _ = f.Reshape(stat, b, a.k, a.h/a.k, s)
	stat, _ = f.Transpose(stat, 0, 1, 3, 2)
	scores := a.scores(q, k, seen{causal: causal})
	p := a.exp(scores, a.over(stat, scores))
	do, o := a.groupHeads(dOut), a.groupHeads(out) // [B, S, K, G, D]
	x, _ := f.ConvertDType(do, dtypes.Float32)
	y, _ := f.ConvertDType(o, dtypes.Float32)
	x, _ = f.Mul(x, y)
	dot, _ := f.ReduceSum(x, 4)
	dot, _ = f.Transpose(dot, 0, 2, 1, 3)
	dp := a.product(do, []int{4}, []int{0, 2}, v, []int{3}, []int{0, 2}) // [B, K, S, G, T]
	ds, _ := f.Sub(dp, a.over(dot, dp))
	ds, _ = f.Mul(p, ds)
	scale, _ := f.Constant([]float32{float32(a.scale)})
	ds, _ = f.Mul(ds, scale)
	dq = a.mergeHeads(a.product(ds, []int{4}, []int{0, 1}, k, []int{1}, []int{0, 2}))
	narrow := func(x compute.Value) compute.Value { // [B, K, T, D] to [B, T, K, D]
		x, _ = f.ConvertDType(x, dtypes.BFloat16)
		x, _ = f.Transpose(x, 0, 2, 1, 3)
		return x
	}
	dv = narrow(a.product(p, []int{2, 3}, []int{0, 1}, do, []int{1, 3}, []int{0, 2}))
	dk = narrow(a.product(ds, []int{2, 3}, []int{0, 1}, a.groupHeads(q), []int{1, 3}, []int{0, 2}))
	return dq, dk, dv
}

// scores returns scale q k^T, [B, K, S, G, T] f32; that of a key that may not be seen is -1e30.
func (a *attention) scores(q, k compute.Value, by seen) compute.Value {
	f := a.f
	x := a.product(a.groupHeads(q), []int{4}, []int{0, 2}, k, []int{3}, []int{0, 2})
	scale, _ := f.Constant([]float32{float32(a.scale)})
	x, _ = f.Mul(x, scale)
	if !by.causal && by.lengths == nil {
		return x
	}
	index := shapes.Make(dtypes.Int32, x.(*value).shape.Dimensions...)
	key, _ := f.Iota(index, 4)
	var sees compute.Value
	if by.causal {
		query, _ := f.Iota(index, 2)
		sees, _ = f.LessOrEqual(key, query)
	} else {
		length, _ := f.op("broadcast_in_dim", "broadcast_dimensions = "+array([]int{0}), index, by.lengths)
		sees, _ = f.LessThan(key, length)
	}
	hidden, _ := f.Constant([]float32{-1e30})
	x, _ = f.Where(sees, x, hidden)
	return x
}

// groupHeads sees [B, S, H, D] as [B, S, K, G, D].
func (a *attention) groupHeads(x compute.Value) compute.Value {
	d := x.(*value).shape.Dimensions
	y, _ := a.f.Reshape(x, d[0], d[1], a.k, a.h/a.k, a.d)
	return y
}

// mergeHeads turns [B, K, S, G, D] f32 into [B, S, H, D] bf16.
func (a *attention) mergeHeads(x compute.Value) compute.Value {
	d := x.(*value).shape.Dimensions
	x, _ = a.f.ConvertDType(x, dtypes.BFloat16)
	x, _ = a.f.Transpose(x, 0, 2, 1, 3, 4)
	x, _ = a.f.Reshape(x, d[0], d[2], a.h, a.d)
	return x
}

// over repeats x along the last axis of like.
func (a *attention) over(x, like compute.Value) compute.Value {
	y, _ := a.f.op("broadcast_in_dim", "broadcast_dimensions = "+array([]int{0, 1, 2, 3}), like.(*value).shape, x)
	return y
}

// product is DotGeneral of factors rounded to bf16, in f32.
func (a *attention) product(x compute.Value, xAxes, xBatch []int, y compute.Value, yAxes, yBatch []int) compute.Value {
	x, _ = a.f.ConvertDType(x, dtypes.BFloat16)
	y, _ = a.f.ConvertDType(y, dtypes.BFloat16)
	z, _ := a.f.DotGeneral(x, xAxes, xBatch, y, yAxes, yBatch, compute.DotGeneralConfig{OutputDType: dtypes.Float32})
	return z
}
