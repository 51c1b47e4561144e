package train

import (
	"fmt"
	"slices"

	"github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
	"hone/internal/learn/batch"
)

type node = graph.Node

// shape is what a program of rows is compiled for: n rows of c tokens, of which at most m are trained.
type shape struct {
	n, c, m int
	packed  bool // a row may be a tree of several
}

// key is what a shape is in a program's key.
func (s shape) key() string {
	key := fmt.Sprintf("_%d_%d_%d", s.n, s.c, s.m)
	if s.packed {
		key += "_packed"
	}
	return key
}

// padded is a micro-batch in the fixed shapes of a program.
type padded struct {
	shape
	ids           []int32 // [n, c]
	index, target []int32 // [m]
	weight        []float32
	columns       [][]float32 // each [m]
	row           []int32     // [m], which of the n rows, -1 in unused entries
	sampler       []float32   // [m], for the statistics
	sampled       []bool      // [m], whether the row has logprobs of a sampler
	used          int         // of m
	keys          []int32     // [n, c], of dropout; nil without
	positions     []int32     // [n, c], of trees' tokens behind the prefix; nil without
	ends          []int32     // [n, c], of trees (tree); nil without
}

func roundUp(x, multiple int) int { return (x + multiple - 1) / multiple * multiple }

// pad lays a call's rows of a step out, for each device its own. A device for which there are none gets rows of which
// nothing is trained.
func (t *Trainer) pad(x call, rows []batch.Sequence, weight float64, columns []batch.Column, m masks) []padded {
	out := make([]padded, t.engine.NumDevices())
	for i := range out {
		out[i] = x.pad(x.of(i), rows, weight, columns, m)
	}
	return out
}

// of are the trees of a device.
func (x call) of(device int) []tree {
	return x.trees[min(device*x.n, len(x.trees)):min((device+1)*x.n, len(x.trees))]
}

// pad lays trees of a step's rows out: trained token i of a row takes its logprob from where token i-1 of the row
// stands. Trained tokens have the given weight in the loss, times their own, unused entries 0.
func (s shape) pad(trees []tree, rows []batch.Sequence, weight float64, columns []batch.Column, m masks) padded {
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
	if s.packed {
		x.positions, x.ends = make([]int32, x.n*x.c), make([]int32, x.n*x.c)
	}
	for i, tree := range trees {
		copy(x.ids[i*x.c:], tree.ids)
		if s.packed {
			copy(x.positions[i*x.c:], tree.positions)
			copy(x.ends[i*x.c:], tree.ends)
		}
		for k, row := range tree.rows {
			x.take(rows[row], i, tree.at[k], float32(weight), columns, m)
		}
	}
	return x
}

// take adds the trained tokens of a row of tree number i, whose tokens stand at the places given, and its keys of
// dropout.
func (x *padded) take(r batch.Sequence, i int, at []int32, weight float32, columns []batch.Column, m masks) {
	if m.rate > 0 {
		for j, key := range m.row(r.IDs) { // rows that share a token have one key for it
			x.keys[i*x.c+int(at[j])] = key
		}
	}
	for j, yes := range r.Trained {
		if !yes {
			continue
		}
		n := x.used
		x.index[n], x.target[n], x.weight[n] = int32(i*x.c)+at[j-1], r.IDs[j], weight
		x.row[n] = int32(i)
		if r.Weights != nil {
			x.weight[n] *= r.Weights[j]
		}
		for k, c := range columns {
			x.columns[k][n] = r.Column(c)[j]
		}
		if r.SamplerLogprobs != nil {
			x.sampler[n], x.sampled[n] = r.SamplerLogprobs[j], !r.Scored
		}
		x.used++
	}
}

// upload copies ids, index, target, weight and columns to the devices, to each its own, and where they are asked for
// the numbers of the tokens' rows, the keys of dropout and the places of trees if there are any.
func upload(e *engine.Engine, each []padded, byRow bool) ([]engine.Buffer, error) {
	s := each[0].shape
	arrays := []array{{dims: []int{s.n, s.c}}, {dims: []int{s.m}}, {dims: []int{s.m}}, {dims: []int{s.m}}}
	for range each[0].columns {
		arrays = append(arrays, array{dims: []int{s.m}})
	}
	if byRow {
		arrays = append(arrays, array{dims: []int{s.m}})
	}
	inputs := func(x padded) (flat [][]int32) { // [n, c] each
		for _, f := range [][]int32{x.keys, x.positions, x.ends} {
			if f != nil {
				flat = append(flat, f)
			}
		}
		return flat
	}
	for range inputs(each[0]) {
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
		for _, f := range inputs(x) {
			flat = append(flat, f)
		}
		for i, f := range flat {
			arrays[i].each = append(arrays[i].each, f)
		}
	}
	return uploadAll(e, arrays...)
}
