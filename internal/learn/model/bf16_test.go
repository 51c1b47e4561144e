package model_test

import (
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
	"hone/internal/learn/model"
	"hone/internal/testing/learntest"
)

// bf16Spec is learntest's with heads that the fused kernel takes.
func bf16Spec(bf16 bool) model.Spec {
	s := learntest.Spec()
	s.HeadDim, s.QKNorm, s.BF16 = 8, true, bf16
	return s
}

// weightsOf are learntest's random weights, in the spec's type.
func weightsOf(t *testing.T, e *engine.Engine, s model.Spec) []engine.Buffer {
	t.Helper()
	var buffers []engine.Buffer
	for i, p := range s.WeightParams() {
		flat := make([]float32, p.Shape.Size())
		for j := range flat {
			flat[j] = float32(math.Sin(float64(i*7919+j)*12.9898) * 0.3)
			if p.Shape.Rank() == 1 {
				flat[j] = 1 + flat[j]/3
			}
		}
		b, err := e.UploadAs(p.Shape, flat)
		if err != nil {
			t.Fatal(err)
		}
		buffers = append(buffers, b)
	}
	return buffers
}

// lossAndGradients runs two rows after a shared prefix and returns logits of all tokens and the gradients of a loss for
// the adapter and for the prefix's keys and values, all computed through Forward.
func lossAndGradients(t *testing.T, e *engine.Engine, s model.Spec, fused bool) [][]float32 {
	t.Helper()
	const n, c, p = 2, 5, 7
	l := learntest.LoRA()
	_, size := l.Pieces(s)
	flat := make([]float32, size)
	for i := range flat {
		flat[i] = float32(math.Cos(float64(i)*1.7) * 0.1)
	}
	params := append(s.WeightParams(), engine.Param{Name: "adapter", Shape: engine.F32(size)},
		engine.Param{Name: "prefix", Shape: engine.I32(1, p)}, engine.Param{Name: "ids", Shape: engine.I32(n, c)})
	program, err := e.Compile("bf16", params, func(in []*graph.Node) []*graph.Node {
		w := len(params) - 3
		d := model.NewAdapterDecoder(s, in[:w], l, in[w])
		kv := model.Prefix(d, in[w+1])
		g := in[0].Graph()
		positions := graph.AddScalar(graph.Iota(g, shapes.Make(dtypes.Int32, n, c), 1), p)
		causal := model.Causal(g, n, c)
		h := d.Forward(in[w+2], positions, func(layer int, k, v *graph.Node) []model.KeyValues {
			own := model.KeyValues{K: k, V: v, Causal: true}
			if !fused { // a mask, though it says the same, is for the plain graph alone
				own = model.KeyValues{K: k, V: v, Mask: causal}
			}
			return []model.KeyValues{{K: kv[2*layer], V: kv[2*layer+1]}, own}
		})
		logits := d.Logits(graph.Reshape(h, n*c, s.Hidden))
		loss := graph.ReduceAllSum(graph.Mul(logits, graph.Sin(logits)))
		grads := graph.Gradient(loss, append(append([]*graph.Node{}, d.Adapter()...), kv...)...)
		for i, x := range grads {
			grads[i] = graph.ConvertDType(graph.Reshape(x, x.Shape().Size()), dtypes.Float32)
		}
		a := len(d.Adapter())
		return []*graph.Node{logits, graph.Concatenate(grads[:a], 0), graph.Concatenate(grads[a:], 0)}
	})
	if err != nil {
		t.Fatal(err)
	}
	in := weightsOf(t, e, s)
	for _, x := range []struct {
		flat any
		dims []int
	}{
		{flat, []int{size}},
		{[]int32{3, 1, 4, 1, 5, 9, 2}, []int{1, p}},
		{[]int32{6, 5, 3, 5, 8, 9, 7, 9, 3, 2}, []int{n, c}},
	} {
		b, err := e.Upload(x.flat, x.dims...)
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, b)
	}
	out, err := program.Run(in...)
	if err != nil {
		t.Fatal(err)
	}
	var values [][]float32
	for _, b := range out {
		v, err := engine.Floats(b)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, v)
	}
	engine.Free(append(in, out...)...)
	return values
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

// In bfloat16 logits and gradients are those of float32 but for its rounding, whether attention is fused or plain,
// after a shared prefix.
func TestBF16IsF32ButForRounding(t *testing.T) {
	learntest.BothDevices(t, func(t *testing.T, e *engine.Engine) {
		if e.PureGo() {
			t.Skip("pure Go computes in f32 only")
		}
		small, err := engine.Open(engine.Options{}) // pure Go, which has little to compile
		if err != nil {
			t.Fatal(err)
		}
		defer small.Close()
		exact := lossAndGradients(t, small, bf16Spec(false), false)
		for _, fused := range []bool{false, true} {
			if !fused && !learntest.Whole() { // the mask says what the kernel knows: -tags soak has both
				continue
			}
			got := lossAndGradients(t, e, bf16Spec(true), fused)
			for i, what := range []string{"logits", "gradient of the adapter", "gradient of the prefix"} {
				d := apart(got[i], exact[i])
				t.Logf("fused %v: %s %.4f away", fused, what, d)
				if !(d < 0.1) || d == 0 { // rounding grows through random layers: a wrong factor is an order away
					t.Errorf("fused %v: %s are %g away from those in f32", fused, what, d)
				}
			}
		}
	})
}
