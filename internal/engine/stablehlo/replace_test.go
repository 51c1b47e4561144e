package stablehlo_test

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
	"hone/internal/testing/learntest"
)

// Rows that are cleared and then added to are replaced, also where nothing added to what was there would leave the new
// ones, and in place where the operand is donated. With other indices, or without clearing, a scatter adds.
func TestScatterReplacesClearedRows(t *testing.T) {
	inf := float32(math.Inf(1))
	learntest.BothDevices(t, func(t *testing.T, e *engine.Engine) {
		if e.PureGo() {
			t.Skip("it adds: the text that XLA gets is at stake")
		}
		params := []engine.Param{
			{Name: "x", Shape: engine.F32(3, 2), Donated: true}, {Name: "at", Shape: engine.I32(2, 1)},
			{Name: "other", Shape: engine.I32(2, 1)}, {Name: "new", Shape: engine.F32(2, 2)},
		}
		run := func(clear int, others bool) ([]float32, int64) {
			p, err := e.Compile("replace", params, func(in []*graph.Node) []*graph.Node {
				x, at := in[0], in[1]
				if clear > 0 {
					x = graph.ScatterSum(x, at, graph.Neg(graph.Gather(x, in[clear])), false, true)
				}
				if others {
					at = in[2]
				}
				return []*graph.Node{graph.ScatterSum(x, at, in[3], false, true)}
			})
			if err != nil {
				t.Fatal(err)
			}
			var in []engine.Buffer
			for i, flat := range []any{
				[]float32{1, 2, inf, 4, 5, 6},
				[]int32{1, 2},
				[]int32{0, 2},
				[]float32{10, 20, 30, 40},
			} {
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
			defer engine.Free(append(in[1:], out...)...)
			got, err := engine.Floats(out[0])
			if err != nil {
				t.Fatal(err)
			}
			return got, p.NumAliased()
		}
		if got, aliased := run(1, false); !slices.Equal(got, []float32{1, 2, 10, 20, 30, 40}) || aliased == 0 {
			t.Errorf("cleared rows became %v with %d bytes in place", got, aliased)
		}
		if got, _ := run(0, false); !slices.Equal(got, []float32{1, 2, inf, 24, 35, 46}) {
			t.Errorf("rows that are not cleared became %v", got)
		}
		if got, _ := run(1, true); got[0] != 11 || got[1] != 22 || got[4] != 30 || got[5] != 40 {
			t.Errorf("with other indices rows became %v", got)
		}
	})
}
