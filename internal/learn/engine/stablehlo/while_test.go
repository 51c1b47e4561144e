package stablehlo_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"hone/internal/learn/engine"
	"hone/internal/learn/learntest"
)

// Rows of a donated state are replaced, by what is around the loop, until a count that is an input.
func TestWhile(t *testing.T) {
	learntest.EachDevice(t, func(t *testing.T, e *engine.Engine) {
		params := []engine.Param{{Name: "state", Shape: engine.F32(4, 2), Donated: true}, {Name: "count", Shape: engine.I32()},
			{Name: "odd", Shape: engine.F32(1, 2)}, {Name: "even", Shape: engine.F32(1, 2)}}
		p, err := e.Compile("loop", params, loop)
		if err != nil {
			t.Fatal(err)
		}
		if text := p.HLO(); !e.PureGo() && (strings.Count(text, "stablehlo.while") != 1 || strings.Count(text, "return %b :") != 1) {
			t.Errorf("the body is not there once, with rows that are replaced:\n%s", text)
		}
		for count, want := range [][]float32{{1, 2, 3, 4, 5, 6, 7, 8}, {20, 21, 3, 4, 5, 6, 7, 8}, {20, 21, 10, 11, 5, 6, 7, 8}, {20, 21, 10, 11, 20, 21, 7, 8}} {
			var in []engine.Buffer
			for i, flat := range []any{[]float32{1, 2, 3, 4, 5, 6, 7, 8}, []int32{int32(count)}, []float32{10, 11}, []float32{20, 21}} {
				b, err := e.Upload(flat, params[i].Shape.Dimensions...)
				if err != nil {
					t.Fatal(err)
				}
				in = append(in, b)
			}
			out, err := p.Run(in...)
			if err != nil {
				t.Fatal(err)
			}
			got, err := engine.Floats(out[0])
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%d times: %v, %v; want %v", count, got, err, want)
			}
			steps, err := engine.Ints(out[1])
			if err != nil || steps[0] != int32(count) {
				t.Errorf("%d times: %v, %v", count, steps, err)
			}
		}
		if !e.PureGo() && p.NumAliased() != 4*2*4 {
			t.Errorf("%d bytes are updated in place", p.NumAliased())
		}
	})
}

// loop replaces row i of the state by odd or even, as i is, for i below count.
func loop(in []*graph.Node) []*graph.Node {
	g := in[0].Graph()
	declare := func() (step, state *graph.Node) {
		return graph.Parameter(g, "step", shapes.Make(dtypes.Int32)), graph.Parameter(g, "state", shapes.Make(dtypes.Float32, 4, 2))
	}
	body := graph.NewClosure(g, func(g *graph.Graph) []*graph.Node {
		step, state := declare()
		half := graph.Div(step, graph.Const(g, int32(2)))
		isOdd := graph.NotEqual(graph.Add(half, half), step)
		row := graph.Where(graph.BroadcastToDims(isOdd, 1, 2), in[2], in[3])
		at := graph.Reshape(step, 1, 1)
		state = graph.ScatterSum(state, at, graph.Neg(graph.Gather(state, at)), false, true)
		return []*graph.Node{graph.Add(step, graph.Const(g, int32(1))), graph.ScatterSum(state, at, row, false, true)}
	})
	cond := graph.NewClosure(g, func(*graph.Graph) []*graph.Node {
		step, _ := declare()
		return []*graph.Node{graph.LessThan(step, in[1])}
	})
	out := graph.While(cond, body, graph.Const(g, int32(0)), in[0])
	return []*graph.Node{out[1], out[0]}
}

// A loop whose body returns another state than it takes is refused.
func TestLoopOfOtherShapes(t *testing.T) {
	e := engine.OpenDry(false, 1)
	defer e.Close()
	_, err := e.Compile("shapes", []engine.Param{{Name: "x", Shape: engine.I32()}}, func(in []*graph.Node) []*graph.Node {
		g := in[0].Graph()
		number := func() *graph.Node { return graph.Parameter(g, "x", shapes.Make(dtypes.Int32)) }
		cond := graph.NewClosure(g, func(*graph.Graph) []*graph.Node { return []*graph.Node{graph.Equal(number(), in[0])} })
		body := graph.NewClosure(g, func(*graph.Graph) []*graph.Node { return []*graph.Node{graph.Reshape(number(), 1)} })
		return graph.While(cond, body, in[0])
	})
	if err == nil || !strings.Contains(err.Error(), "While") {
		t.Errorf("%v", err)
	}
}
