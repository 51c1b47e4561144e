package main

import (
	"math"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
)

// check compares the fused attention of two rows after a prefix, forward and backward, with attention in float32 that
// knows no parts: the path that the other rows rest on must be right before its speed counts.
func (b *bench) check(int) (row, error) {
	const n, c, p, heads, kv, d = 2, 130, 200, 8, 2, 128
	params := []engine.Param{
		{Name: "q", Shape: engine.F32(n, c, heads, d)}, {Name: "k", Shape: engine.F32(1, p+n*c, kv, d)},
		{Name: "v", Shape: engine.F32(1, p+n*c, kv, d)}, {Name: "g", Shape: engine.F32(n, c, heads, d)},
	}
	program, err := b.engine.Compile("check", params, func(in []*graph.Node) []*graph.Node {
		half := func(x *graph.Node) *graph.Node { return graph.ConvertDType(x, dtypes.BFloat16) }
		whole := func(x *graph.Node) *graph.Node { return graph.ConvertDType(x, dtypes.Float32) }
		o, _ := graph.BackendFusedScaledDotProductAttention(half(in[0]), half(in[1]), half(in[2]),
			compute.AttentionAxesLayoutBSHD, &compute.ScaledDotProductAttentionConfig{Scale: 1 / math.Sqrt(d),
				Causal: true})
		fused := whole(o)
		plain := plainAttention(whole(half(in[0])), whole(half(in[1])), whole(half(in[2])), p)
		out := []*graph.Node{fused, plain}
		for _, o := range slices.Clone(out) {
			out = append(out, graph.Gradient(graph.ReduceAllSum(graph.Mul(o, in[3])), in[0], in[1], in[2])...)
		}
		return out
	})
	if err != nil {
		return row{}, err
	}
	var in []engine.Buffer
	for i, q := range params {
		flat := make([]float32, q.Shape.Size())
		for j := range flat {
			flat[j] = float32(math.Sin(float64(i*31+j) * 12.9898))
		}
		x, err := b.engine.Upload(flat, q.Shape.Dimensions...)
		if err != nil {
			return row{}, err
		}
		in = append(in, x)
	}
	out, err := program.Run(in...)
	if err != nil {
		return row{}, err
	}
	defer engine.Free(append(in, out...)...)
	r := row{More: map[string]float64{}}
	for i, pair := range [][2]int{{0, 1}, {2, 5}, {3, 6}, {4, 7}} {
		x, err := engine.Floats(out[pair[0]])
		if err != nil {
			return r, err
		}
		y, err := engine.Floats(out[pair[1]])
		if err != nil {
			return r, err
		}
		r.More[[]string{"output", "dq", "dk", "dv"}[i]+"_away"] = apart(x, y)
	}
	return r, nil
}

// plainAttention attends from q [N, C, H, D] to a prefix of p tokens and the row's own, in float32.
func plainAttention(q, k, v *graph.Node, p int) *graph.Node {
	qd, kd := q.Shape().Dimensions, k.Shape().Dimensions
	n, c, h, d, kv := qd[0], qd[1], qd[2], qd[3], kd[2]
	text := func(x *graph.Node, row int) *graph.Node { // [P + C, H, D]
		part := func(from, to int) *graph.Node {
			return graph.Reshape(graph.Slice(x, graph.AxisRange(), graph.AxisRange(from, to)), to-from, kv, 1, d)
		}
		x = graph.Concatenate([]*graph.Node{part(0, p), part(p+row*c, p+(row+1)*c)}, 0)
		return graph.Reshape(graph.BroadcastToDims(x, p+c, kv, h/kv, d), p+c, h, d)
	}
	var rows []*graph.Node
	for row := range n {
		x := graph.Reshape(graph.Slice(q, graph.AxisRange(row, row+1)), c, h, d)
		scores := graph.MulScalar(graph.Dot(x, text(k, row)).General([]int{2}, []int{1}, []int{2}, []int{1}),
			1/math.Sqrt(float64(d)))
		seen := engine.I32(h, c, p+c)
		mask := graph.LessOrEqual(graph.Iota(q.Graph(), seen, 2), graph.AddScalar(graph.Iota(q.Graph(), seen, 1), p))
		scores = graph.Where(mask, scores, graph.Scalar(q.Graph(), dtypes.Float32, -1e30))
		e := graph.Exp(graph.Sub(scores, graph.StopGradient(graph.ReduceAndKeep(scores, graph.ReduceMax, -1))))
		e = graph.Div(e, graph.ReduceAndKeep(e, graph.ReduceSum, -1))
		o := graph.Dot(e, text(v, row)).General([]int{2}, []int{0}, []int{0}, []int{1}) // [H, C, D]
		rows = append(rows, graph.Reshape(graph.TransposeAllAxes(o, 1, 0, 2), 1, c, h, d))
	}
	return graph.Concatenate(rows, 0)
}

// apart is |x - y| / |y|.
func apart(x, y []float32) float64 {
	var d, n float64
	for i := range x {
		d += math.Pow(float64(x[i])-float64(y[i]), 2)
		n += math.Pow(float64(y[i]), 2)
	}
	return math.Sqrt(d / n)
}

func median(xs []float64) float64 {
	xs = slices.Clone(xs)
	slices.Sort(xs)
	return xs[len(xs)/2]
}
