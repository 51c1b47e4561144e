package stablehlo_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
	"hone/internal/testing/learntest"
)

// Fused attention, forward and backward, is attention in float32 over each row's whole text, but for the rounding of
// bfloat16: with and without a prefix, for grouped heads.
func TestFusedAttentionEqualsPlain(t *testing.T) {
	learntest.BothDevices(t, func(t *testing.T, e *engine.Engine) {
		if e.PureGo() {
			t.Skip("it has no fused attention")
		}
		for _, prefix := range []int{0, 5} {
			t.Run(fmt.Sprint("prefix of ", prefix), func(t *testing.T) {
				compareAttention(t, e, 2, 3, prefix, 4, 2, 8)
			})
		}
	})
}

// compareAttention is about n rows of c tokens after a prefix of p, with so many heads, key-value heads and head width.
func compareAttention(t *testing.T, e *engine.Engine, n, c, p, heads, kv, d int) {
	t.Helper()
	params := []engine.Param{
		{Name: "q", Shape: engine.F32(n, c, heads, d)}, {Name: "k", Shape: engine.F32(1, p+n*c, kv, d)},
		{Name: "v", Shape: engine.F32(1, p+n*c, kv, d)}, {Name: "g", Shape: engine.F32(n, c, heads, d)},
	}
	program, err := e.Compile("attention", params, func(in []*graph.Node) []*graph.Node {
		var half, whole []*graph.Node
		for _, x := range in[:3] {
			half = append(half, graph.ConvertDType(x, dtypes.BFloat16))
			whole = append(whole, graph.ConvertDType(half[len(half)-1], dtypes.Float32))
		}
		fused, _ := graph.BackendFusedScaledDotProductAttention(half[0], half[1], half[2],
			compute.AttentionAxesLayoutBSHD, &compute.ScaledDotProductAttentionConfig{Scale: 1 / math.Sqrt(float64(d)),
				Causal: true})
		out := []*graph.Node{graph.ConvertDType(fused, dtypes.Float32), plainAttention(whole[0], whole[1], whole[2], p)}
		for _, o := range slices.Clone(out) {
			out = append(out, graph.Gradient(graph.ReduceAllSum(graph.Mul(o, in[3])), in[0], in[1], in[2])...)
		}
		return out
	})
	if err != nil {
		t.Fatal(err)
	}
	var in []engine.Buffer
	for i, q := range params {
		flat := make([]float32, q.Shape.Size())
		for j := range flat {
			flat[j] = float32(math.Sin(float64(i*31+j) * 12.9898))
		}
		b, err := e.Upload(flat, q.Shape.Dimensions...)
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, b)
	}
	out, err := program.Run(in...)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Free(append(in, out...)...)
	for _, x := range []struct {
		name        string
		fused, want int
	}{{"output", 0, 1}, {"dq", 2, 5}, {"dk", 3, 6}, {"dv", 4, 7}} {
		got, err := engine.Floats(out[x.fused])
		if err != nil {
			t.Fatal(err)
		}
		want, err := engine.Floats(out[x.want])
		if err != nil {
			t.Fatal(err)
		}
		var away, size float64
		for i := range got {
			away += math.Pow(float64(got[i]-want[i]), 2)
			size += math.Pow(float64(want[i]), 2)
		}
		bound := 0.01
		if e.IsGPU() {
			bound = 0.015 // cuDNN's dq of rows this short is 0.0101 away (docs/log)
		}
		if r := math.Sqrt(away / size); !(r < bound) {
			t.Errorf("%s is %g away", x.name, r)
		}
	}
}

// plainAttention attends from q [N, C, H, D] to a prefix of p tokens and the row's own, in float32.
func plainAttention(q, k, v *graph.Node, p int) *graph.Node {
	qd, kd := q.Shape().Dimensions, k.Shape().Dimensions
	n, c, h, d, kv := qd[0], qd[1], qd[2], qd[3], kd[2]
	text := func(x *graph.Node, row int) *graph.Node { // [P + C, H, D]
		parts := []*graph.Node{}
		for _, at := range [][2]int{{0, p}, {p + row*c, p + (row+1)*c}} {
			if at[1] > at[0] {
				parts = append(parts, graph.Reshape(graph.Slice(x, graph.AxisRange(), graph.AxisRange(at[0], at[1])),
					at[1]-at[0], kv, 1, d))
			}
		}
		return graph.Reshape(graph.BroadcastToDims(graph.Concatenate(parts, 0), p+c, kv, h/kv, d), p+c, h, d)
	}
	var rows []*graph.Node
	for row := range n {
		x := graph.Reshape(graph.Slice(q, graph.AxisRange(row, row+1)), c, h, d)
		scores := graph.MulScalar(graph.Dot(x, text(k, row)).General([]int{2}, []int{1}, []int{2}, []int{1}),
			1/math.Sqrt(float64(d)))
		shape := engine.I32(h, c, p+c)
		seen := graph.LessOrEqual(graph.Iota(q.Graph(), shape, 2), graph.AddScalar(graph.Iota(q.Graph(), shape, 1), p))
		scores = graph.Where(seen, scores, graph.Scalar(q.Graph(), dtypes.Float32, -1e30))
		e := graph.Exp(graph.Sub(scores, graph.StopGradient(graph.ReduceAndKeep(scores, graph.ReduceMax, -1))))
		e = graph.Div(e, graph.ReduceAndKeep(e, graph.ReduceSum, -1))
		o := graph.Dot(e, text(v, row)).General([]int{2}, []int{0}, []int{0}, []int{1}) // [H, C, D]
		rows = append(rows, graph.Reshape(graph.TransposeAllAxes(o, 1, 0, 2), 1, c, h, d))
	}
	return graph.Concatenate(rows, 0)
}
