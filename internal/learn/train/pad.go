package train

import (
	"slices"

	"github.com/gomlx/gomlx/core/graph"

	"hone/internal/learn/batch"
	"hone/internal/learn/engine"
)

type node = graph.Node

// shape is what a program of rows is compiled for: n rows of c tokens, of which at most m are trained.
type shape struct{ n, c, m int }

// padded is a micro-batch in the fixed shapes of a program.
type padded struct {
	shape
	ids           []int32 // [n, c]
	index, target []int32 // [m]
	weight        []float32
	columns       [][]float32 // each [m]
	row           []int32     // [m], which of the n rows, -1 in unused entries
	sampler       []float32   // [m], for the statistics
	sampled       []bool      // [m], whether the row has sampler logprobs
	used          int         // of m
	keys          []int32     // [n, c], of dropout; nil without
}

func roundUp(x, multiple int) int { return (x + multiple - 1) / multiple * multiple }

// pad lays a call's rows of a step out, for each device its own. A device for which there are none gets rows of which
// nothing is trained.
func (t *Trainer) pad(x call, rows []batch.Sequence, weight float64, columns []batch.Column, m masks) []padded {
	out := make([]padded, t.engine.NumDevices())
	for i := range out {
		var own []batch.Sequence
		for _, row := range x.of(i) {
			own = append(own, rows[row])
		}
		out[i] = x.pad(own, weight, columns, m)
	}
	return out
}

// of are the rows of a device.
func (x call) of(device int) []int {
	return x.rows[min(device*x.n, len(x.rows)):min((device+1)*x.n, len(x.rows))]
}

// pad lays rows out: trained token i of a row takes its logprob from position i-1. Trained tokens have the given
// weight in the loss, times their own, unused entries 0.
func (s shape) pad(rows []batch.Sequence, weight float64, columns []batch.Column, m masks) padded {
	x := padded{shape: s}
	x.ids = make([]int32, x.n*x.c)
	x.index, x.target = make([]int32, x.m), make([]int32, x.m)
	x.weight, x.sampler, x.sampled = make([]float32, x.m), make([]float32, x.m), make([]bool, x.m)
	x.row = slices.Repeat([]int32{-1}, x.m)
	for range columns {
		x.columns = append(x.columns, make([]float32, x.m))
	}
	if m.rate > 0 {
		x.keys = make([]int32, x.n*x.c)
	}
	j := 0
	for row, r := range rows {
		copy(x.ids[row*x.c:], r.IDs)
		if m.rate > 0 {
			copy(x.keys[row*x.c:], m.row(r.IDs))
		}
		for i, yes := range r.Trained {
			if !yes {
				continue
			}
			x.index[j], x.target[j], x.weight[j] = int32(row*x.c+i-1), r.IDs[i], float32(weight)
			x.row[j] = int32(row)
			if r.Weights != nil {
				x.weight[j] *= r.Weights[i]
			}
			for k, c := range columns {
				x.columns[k][j] = r.Column(c)[i]
			}
			if r.SamplerLogprobs != nil {
				x.sampler[j], x.sampled[j] = r.SamplerLogprobs[i], true
			}
			j++
		}
	}
	x.used = j
	return x
}

// upload copies ids, index, target, weight and columns to the devices, to each its own, and where they are asked for the numbers of the
// tokens' rows, and the keys of dropout if there are any.
func upload(e *engine.Engine, each []padded, byRow bool) ([]engine.Buffer, error) {
	s := each[0].shape
	arrays := []array{{dims: []int{s.n, s.c}}, {dims: []int{s.m}}, {dims: []int{s.m}}, {dims: []int{s.m}}}
	for range each[0].columns {
		arrays = append(arrays, array{dims: []int{s.m}})
	}
	if byRow {
		arrays = append(arrays, array{dims: []int{s.m}})
	}
	if each[0].keys != nil {
		arrays = append(arrays, array{dims: []int{s.n, s.c}})
	}
	for _, x := range each {
		flat := []any{x.ids, x.index, x.target, x.weight}
		for _, c := range x.columns {
			flat = append(flat, c)
		}
		if byRow {
			flat = append(flat, x.row)
		}
		for i, f := range append(flat, x.keys)[:len(arrays)] {
			arrays[i].each = append(arrays[i].each, f)
		}
	}
	return uploadAll(e, arrays...)
}
