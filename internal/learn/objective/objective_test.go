package objective

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"pgregory.net/rapid"

	"hone/internal/learn/batch"
	"hone/internal/learn/engine"
	"hone/internal/learn/learntest"
)

// Losses of single tokens with low 0.2 and high 0.28, worked by hand: p of the token under the trainer and the old policy, the advantage,
// the loss and its derivative by log p.
func TestReferencesByHand(t *testing.T) {
	worked := map[batch.Loss]int{}
	for _, c := range []struct {
		loss              batch.Loss
		p, old, advantage float64
		want, slope       float64
	}{
		{batch.LossLikelihood, 0.5, 0.1, 7, math.Ln2, -1},
		{batch.LossDAPO, 0.3, 0.3, 2, -2, -2},      // r 1:    min(2, 2)
		{batch.LossDAPO, 0.55, 0.5, 1, -1.1, -1.1}, // r 1.1:  inside both bounds, min(1.1, 1.1)
		{batch.LossDAPO, 0.55, 0.5, -1, 1.1, 1.1},  //         min(-1.1, -1.1)
		{batch.LossDAPO, 0.75, 0.5, 1, -1.28, 0},   // r 1.5:  above the bound, min(1.5, 1.28): clipped, no more to gain
		{batch.LossDAPO, 0.75, 0.5, -1, 1.5, 1.5},  //         min(-1.5, -1.28): not clipped
		{batch.LossDAPO, 0.1, 0.05, 0.5, -.64, 0},  // r 2:    min(1, 0.64)
		{batch.LossDAPO, 0.25, 0.5, 1, -0.5, -0.5}, // r 0.5:  below the bound, min(0.5, 0.8): not clipped
		{batch.LossDAPO, 0.25, 0.5, -1, 0.8, 0},    //         min(-0.5, -0.8): clipped, no more to gain
		{batch.LossDAPO, 0.3, 0.4, -3, 2.4, 0},     // r 0.75: min(-2.25, -2.4)
		{batch.LossDAPO, 0.9, 0.1, 0, 0, 0},
		{batch.LossCISPO, 0.5, 0.5, 2, 2 * math.Ln2, -2},        // r 1
		{batch.LossCISPO, 0.5, 0.25, 2, 2.56 * math.Ln2, -2.56}, // r 2:   the weight is 1.28, and the token has a gradient
		{batch.LossCISPO, 0.25, 0.5, 1, 1.6 * math.Ln2, -0.8},   // r 0.5: the weight is 0.8
		{batch.LossCISPO, 0.25, 0.5, -1, -1.6 * math.Ln2, 0.8},
	} {
		worked[c.loss]++
		o, err := Of(batch.Objective{Loss: c.loss, Clip: batch.Clip{Low: 0.2, High: 0.28}})
		if err != nil {
			t.Fatal(err)
		}
		columns := []float64{math.Log(c.old), c.advantage}[:len(o.Columns())]
		if loss, slope := o.Reference(math.Log(c.p), columns); math.Abs(loss-c.want) > 1e-12 || math.Abs(slope-c.slope) > 1e-12 {
			t.Errorf("%s, p %g, before %g, advantage %g: loss %g and slope %g, want %g and %g", c.loss, c.p, c.old, c.advantage, loss, slope, c.want, c.slope)
		}
	}
	for _, loss := range batch.Losses() {
		if worked[loss] == 0 {
			t.Errorf("no loss of %q is worked by hand", loss)
		}
	}
	if _, err := Of(batch.Objective{Loss: "none"}); err == nil {
		t.Error("a loss that there is not was found")
	}
}

// Each graph computes what its reference says, and has its derivative, on random tokens and under random clips.
func TestGraphsAreTheirReferences(t *testing.T) {
	const m = 64
	learntest.EachDevice(t, func(t *testing.T, e *engine.Engine) {
		for _, loss := range batch.Losses() {
			program := compile(t, e, loss, m)
			rapid.Check(t, func(rt *rapid.T) {
				o, err := Of(batch.Objective{Loss: loss, Clip: batch.Clip{Low: rapid.Float64Range(0, 1).Draw(rt, "low"), High: rapid.Float64Range(0, 5).Draw(rt, "high")}})
				if err != nil {
					rt.Fatal(err)
				}
				in := [][]float32{rapid.SliceOfN(rapid.Float32Range(-9, 0), m, m).Draw(rt, "logprobs")}
				for range o.Columns() {
					in = append(in, rapid.SliceOfN(rapid.Float32Range(-3, 3), m, m).Draw(rt, "column"))
				}
				if len(in) > 1 { // old logprobs are near the new ones
					for i := range m {
						in[1][i] += in[0][i]
					}
				}
				losses, slopes := run(rt, e, program, append(in, o.Numbers()))
				for i := range m {
					var columns []float64
					for _, c := range in[1:] {
						columns = append(columns, float64(c[i]))
					}
					want, slope := o.Reference(float64(in[0][i]), columns)
					if near := 1e-4 * (1 + math.Abs(want) + math.Abs(slope)); math.Abs(float64(losses[i])-want) > near || math.Abs(float64(slopes[i])-slope) > near && !atBound(o, in, i) {
						rt.Fatalf("%s of %g, %g: loss %g and slope %g, want %g and %g", loss, in[0][i], columns, losses[i], slopes[i], want, slope)
					}
				}
			})
		}
	})
}

// atBound reports whether a token's ratio is so near to a bound that rounding decides whether it is clipped.
func atBound(o Objective, in [][]float32, i int) bool {
	if len(in) == 1 {
		return false
	}
	ratio, bounds := math.Exp(float64(in[0][i])-float64(in[1][i])), o.Numbers()
	return math.Abs(ratio-1+float64(bounds[0])) < 1e-5 || math.Abs(ratio-1-float64(bounds[1])) < 1e-5
}

// compile makes a program of an objective: logprobs [m], columns [m], numbers -> losses [m], their derivatives [m].
func compile(t *testing.T, e *engine.Engine, loss batch.Loss, m int) *engine.Program {
	t.Helper()
	o, err := Of(batch.Objective{Loss: loss})
	if err != nil {
		t.Fatal(err)
	}
	params := []engine.Param{{Name: "logprobs", Shape: engine.F32(m)}}
	for _, c := range o.Columns() {
		params = append(params, engine.Param{Name: string(c), Shape: engine.F32(m)})
	}
	k := len(o.Numbers())
	if k > 0 {
		params = append(params, engine.Param{Name: "numbers", Shape: engine.F32(k)})
	}
	p, err := e.Compile("loss", params, func(in []*graph.Node) []*graph.Node {
		var numbers []*graph.Node
		for i := range k {
			numbers = append(numbers, graph.Reshape(graph.Slice(in[len(in)-1], graph.AxisRange(i, i+1))))
		}
		losses := o.Graph(in[0], in[1:1+len(o.Columns())], numbers)
		return []*graph.Node{losses, graph.Gradient(graph.ReduceAllSum(losses), in[0])[0]}
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// run runs such a program.
func run(t *rapid.T, e *engine.Engine, p *engine.Program, in [][]float32) (losses, slopes []float32) {
	var buffers []engine.Buffer
	for _, flat := range in {
		if len(flat) == 0 {
			continue
		}
		b, err := e.Upload(flat, len(flat))
		if err != nil {
			t.Fatal(err)
		}
		defer engine.Free(b)
		buffers = append(buffers, b)
	}
	out, err := p.Run(buffers...)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Free(out...)
	for i, to := range []*[]float32{&losses, &slopes} {
		if *to, err = engine.Floats(out[i]); err != nil {
			t.Fatal(err)
		}
	}
	return losses, slopes
}
