package model_test

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/testing/learntest"
)

// One new token of each row, by the device's kernel where it has one, gives what the same operations give one by one:
// hidden states, and caches in which the token stands behind what they held.
func TestDecodeEqualsOperations(t *testing.T) {
	e := learntest.Devices(t, 1)
	const rows, columns, prefix = 64, 24, 9
	for name, change := range map[string]func(*model.Spec){
		"norms of queries and keys": func(s *model.Spec) { s.QKNorm = true },
		"norms from 1 on":           func(s *model.Spec) { s.QKNorm, s.NormOffset = true, true },
		"heads of 128":              func(s *model.Spec) { s.HeadDim, s.NumHeads = 128, 8 },
		"after a prefix":            func(s *model.Spec) { s.QKNorm, s.NumHeads = true, 14 },
		"an adapter": func(s *model.Spec) {
			s.QKNorm, s.QKVBias, s.Hidden, s.Intermediate, s.NumLayers = true, true, 128, 1024, 3
		},
	} {
		if !e.IsGPU() && !learntest.Whole() && name != "after a prefix" && name != "an adapter" {
			continue // a CPU has no kernel that could differ in the others
		}
		t.Run(name, func(t *testing.T) {
			s := learntest.Spec()
			s.HeadDim, s.BF16 = 64, true
			change(&s)
			params := s.WeightParams()
			w := len(params)
			for i := range 2 * s.NumLayers {
				params = append(params,
					engine.Param{Name: fmt.Sprint("cache", i), Shape: s.Shape(s.NumKVHeads, rows, columns, s.HeadDim)},
					engine.Param{Name: fmt.Sprint("prefix", i), Shape: s.Shape(s.NumKVHeads, prefix, s.HeadDim)})
			}
			params = append(params, engine.Param{Name: "ids", Shape: engine.I32(rows, 1)},
				engine.Param{Name: "length", Shape: engine.I32(rows)})
			p, err := e.Compile("decode", params, func(in []*Node) []*Node {
				joined, exact, wide := s, s, make([]*Node, len(in))
				joined.Joined, exact.BF16 = true, false
				for i, x := range in {
					if wide[i] = x; x.DType() == dtypes.BFloat16 {
						wide[i] = ConvertDType(x, dtypes.Float32)
					}
				}
				prefixed, decoder := name == "after a prefix", model.NewDecoder
				if name == "an adapter" {
					decoder = adapted
				}
				return slices.Concat(decodeOnce(joined, decoder(joined, s.Join(in[:w])), in[w:], prefixed),
					decodeOnce(s, decoder(s, in[:w]), in[w:], prefixed), decodeOnce(exact, decoder(exact, wide[:w]),
						wide[w:], prefixed))
			})
			if err != nil {
				t.Fatal(err)
			}
			if kernel := strings.Contains(p.HLO(), "xla.gpu.ptx"); kernel != e.IsGPU() {
				t.Errorf("there is a kernel in the program: %v", kernel)
			}
			compareThirds(t, e, p, params)
		})
	}
}

// The kernel is for layers whose attention it computes, with the norms and the rotation that they have; the others keep
// their operations. What is gathered of sharded weights is gathered where a layer begins.
func TestLayersThatTakeTheKernel(t *testing.T) {
	const rows, columns = 64, 24
	early := regexp.MustCompile(`all_gather"\(%p`) // of a parameter, not of what a barrier lets through
	for name, c := range map[string]struct {
		kernels int // of two layers
		has     []string
		change  func(*model.Spec)
	}{
		"plain":                        {2, []string{"cos_"}, func(*model.Spec) {}},
		"norms of queries and keys":    {2, []string{"cos_", "qnorm_"}, func(s *model.Spec) { s.QKNorm = true }},
		"no rotation in a layer":       {2, []string{"cos_"}, func(s *model.Spec) { s.Layers = []modelfile.Layer{{NoRope: true}, {}} }},
		"no rotation":                  {2, nil, func(s *model.Spec) { s.Layers = []modelfile.Layer{{NoRope: true}, {NoRope: true}} }},
		"biases":                       {2, []string{"cos_"}, func(s *model.Spec) { s.QKVBias = true }},
		"fused maps":                   {2, []string{"cos_"}, func(s *model.Spec) { s.FusedLinears, s.QKVBias = true, true }},
		"fused maps in parts":          {2, []string{"cos_"}, func(s *model.Spec) { s.FusedLinears, s.Shards = true, 2 }},
		"maps in parts":                {0, nil, func(s *model.Spec) { s.Shards = 2 }},
		"half of a head is rotated":    {0, nil, func(s *model.Spec) { s.Rope.Dims = s.HeadDim / 2 }},
		"a window that leaves out":     {1, []string{"cos_"}, func(s *model.Spec) { s.Layers = []modelfile.Layer{{Window: columns - 1}, {Window: columns}} }},
		"a cap on scores":              {0, nil, func(s *model.Spec) { s.ScoreCap = 50 }},
		"heads of another width":       {0, nil, func(s *model.Spec) { s.HeadDim = 32 }},
		"numbers that are not rounded": {0, nil, func(s *model.Spec) { s.BF16 = false }},
	} {
		t.Run(name, func(t *testing.T) {
			s := learntest.Spec()
			s.HeadDim, s.BF16 = 64, true
			c.change(&s)
			s.Joined = s.Shards == 0
			d := engine.OpenDry(true, max(1, s.Shards))
			defer d.Close()
			params := s.WeightParams()
			w := len(params)
			for i := range 2 * s.NumLayers {
				params = append(params,
					engine.Param{Name: fmt.Sprint("cache", i), Shape: s.Shape(s.NumKVHeads, rows, columns, s.HeadDim)},
					engine.Param{Name: fmt.Sprint("prefix", i), Shape: s.Shape(s.NumKVHeads, 1, s.HeadDim)})
			}
			params = append(params, engine.Param{Name: "ids", Shape: engine.I32(rows, 1)},
				engine.Param{Name: "length", Shape: engine.I32(rows)})
			p, err := d.Compile("decode", params, func(in []*Node) []*Node {
				return decodeOnce(s, model.NewDecoder(s, in[:w]), in[w:], false)
			})
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(p.HLO(), "func.call @attend_decode"); n != c.kernels {
				t.Errorf("%d layers take the kernel, want %d", n, c.kernels)
			}
			for _, param := range []string{"cos_", "qnorm_"} {
				if has := strings.Contains(p.HLO(), ".param .u64 "+param); has != slices.Contains(c.has, param) {
					t.Errorf("a kernel has the parameter %s: %v", param, has)
				}
			}
			if s.Shards > 1 && !strings.Contains(p.HLO(), "all_gather") {
				t.Error("nothing is gathered")
			}
			if x := early.FindAllString(p.HLO(), -1); x != nil {
				t.Errorf("%d maps are gathered before their layer begins", len(x))
			}
		})
	}
}

// adapted is a sampler's decoder under an adapter of ranks that are no kernel's, and not all the same, with B as large
// as A.
func adapted(s model.Spec, weights []*Node) *model.Decoder {
	g := weights[0].Graph()
	a := model.NewAdapters(s,
		model.LoRA{Rank: 5, Alpha: 10, RankPattern: []model.Pattern[int]{{Pattern: "(v|o)_proj", Value: 9}}}, 1)
	var in, arrays []*Node
	for i, p := range a.Params() {
		x := Zeros(g, p.Shape)
		if i < len(weights) && p.Shape.Equal(weights[i].Shape()) {
			x = weights[i]
		} else if i < len(weights) {
			x = Concatenate([]*Node{weights[i], Slice(x, AxisRange(weights[i].Shape().Dimensions[0]))}, 0)
		}
		in = append(in, x)
	}
	for _, i := range a.Arrays() {
		arrays = append(arrays, in[i])
	}
	for i, x := range a.Write(arrays, nil, MulScalar(Sin(MulScalar(Iota(g, engine.F32(a.Size()), 0), 12.9898)), 0.1)) {
		in[a.Arrays()[i]] = x
	}
	return model.NewSampling(a, in, nil)
}

// Of a joined layer with an adapter each map takes a kernel: that of gate and up the activation with it, those that end
// in the residual stream the next norm, but for the last, which is not a layer's. Of long rows of x their products are
// in two parts, for few rows.
func TestAdaptersTakeTheKernels(t *testing.T) {
	for name, c := range map[string]struct {
		rows, thin, norms, parts int // of three layers
		change                   func(*model.Spec)
	}{
		"plain":                   {16, 7, 5, 0, func(*model.Spec) {}},
		"biases":                  {16, 7, 5, 0, func(s *model.Spec) { s.QKVBias, s.OBias = true, true }},
		"fused maps":              {16, 7, 5, 0, func(s *model.Spec) { s.FusedLinears = true }},
		"a wide MLP":              {16, 7, 5, 2, func(s *model.Spec) { s.Intermediate = 1024 }},
		"a wide MLP of many rows": {18, 7, 5, 0, func(s *model.Spec) { s.Intermediate = 1024 }},
		"halves that are odd":     {16, 7, 5, 0, func(s *model.Spec) { s.Intermediate = 1024 + 64 }},
		"norms before the stream": {16, 12, 0, 0, func(s *model.Spec) { s.PostNorms = true }},
		"a width for no cluster":  {16, 12, 0, 0, func(s *model.Spec) { s.Hidden = 96 }},
		"not rounded":             {16, 0, 0, 0, func(s *model.Spec) { s.BF16 = false }},
		"maps apart":              {16, 0, 0, 0, func(s *model.Spec) { s.Joined = false }},
	} {
		t.Run(name, func(t *testing.T) {
			s := learntest.Spec()
			s.BF16, s.Joined, s.HeadDim, s.Hidden, s.NumLayers = true, true, 64, 128, 3
			c.change(&s)
			d := engine.OpenDry(true, 1)
			defer d.Close()
			params := append(s.WeightParams(), engine.Param{Name: "ids", Shape: engine.I32(c.rows, 8)})
			p, err := d.Compile("forward", params, func(in []*Node) []*Node {
				w, ids := in[:len(in)-1], in[len(in)-1]
				return []*Node{
					adapted(s, w).Forward(ids,
						Iota(ids.Graph(), ids.Shape(), 1), func(_ int, k, v *Node) []model.KeyValues {
							return []model.KeyValues{{K: k, V: v, Causal: true}}
						}),
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			for call, want := range map[string]int{
				`@add_thin\d`:                    c.thin,
				`@add_thin_norm\d`:               c.norms,
				`@add_thin_norm\d.*: .tensor<2x`: c.parts,
			} {
				if n := len(regexp.MustCompile("call "+call).FindAllString(p.HLO(), -1)); n != want {
					t.Errorf("%s is called %d times, want %d", call, n, want)
				}
			}
		})
	}
}

// decodeOnce returns hidden states and caches after one token of each row, of which the rest of a program's inputs
// tells: of each layer a cache and a prefix for keys, and for values, then ids and lengths.
func decodeOnce(s model.Spec, d *model.Decoder, rest []*Node, prefixed bool) []*Node {
	n := 2 * s.NumLayers
	ids, length := rest[2*n], rest[2*n+1]
	c := &model.Caches{Length: length, Write: func(cache, fresh *Node) *Node {
		at := Equal(Iota(cache.Graph(), engine.I32(cache.Shape().Dimensions...), 2),
			BroadcastToDims(Reshape(length, 1, -1, 1, 1), cache.Shape().Dimensions...))
		return Where(at, BroadcastToDims(fresh, cache.Shape().Dimensions...), cache)
	}}
	for i := range n {
		c.KV = append(c.KV, rest[2*i])
	}
	if prefixed {
		c.Prefix = func(layer int) []model.KeyValues {
			follows := Equal(length, MulScalar(DivScalar(length, 2), 2))
			return []model.KeyValues{{K: rest[4*layer+1], V: rest[4*layer+3], Mask: follows}}
		}
	}
	h := d.Decode(ids, AddScalar(Reshape(length, -1, 1), 3), c)
	out := []*Node{ConvertDType(h, dtypes.Float32)}
	for _, x := range c.KV {
		out = append(out, ConvertDType(x, dtypes.Float32))
	}
	return out
}

// compareThirds runs a program on any numbers, rows that hold 0 tokens and more. Of its outputs the first third is to
// be about as near to the last, which is exact, as the second is: on a GPU operations are not rounded to bfloat16 after
// each.
func compareThirds(t *testing.T, e *engine.Engine, p *engine.Program, params []engine.Param) {
	t.Helper()
	var in []engine.Buffer
	for i, q := range params {
		flat := make([]float32, q.Shape.Size())
		ints := make([]int32, q.Shape.Size())
		for j := range flat {
			flat[j] = float32(math.Sin(float64(i*7919+j)*12.9898) * 0.3)
			if q.Shape.Rank() == 1 {
				flat[j] = 1 + flat[j]/3
			}
			ints[j] = int32(j * 5 % 24)
		}
		var b engine.Buffer
		var err error
		if q.Shape.DType == dtypes.Int32 {
			b, err = e.Upload(ints, q.Shape.Dimensions...)
		} else {
			b, err = e.UploadAs(q.Shape, flat)
		}
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, b)
	}
	numbers := outputs(t, p, in)
	n := len(numbers) / 3
	for i := range n {
		kernel, operations := away(numbers[i], numbers[2*n+i]), away(numbers[n+i], numbers[2*n+i])
		t.Logf("output %d: %g away by the kernel, %g by operations", i, kernel, operations)
		if !(kernel <= 1.4*operations+0.002) {
			t.Errorf("output %d is %g away, %g by the operations", i, kernel, operations)
		}
	}
}

// outputs runs a program and releases what it was given.
func outputs(t *testing.T, p *engine.Program, in []engine.Buffer) [][]float32 {
	t.Helper()
	out, err := p.Run(in...)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Free(append(in, out...)...)
	numbers := make([][]float32, len(out))
	for i, x := range out {
		if numbers[i], err = engine.Floats(x); err != nil {
			t.Fatal(err)
		}
	}
	return numbers
}

// away is how far x is from y, as a share of that.
func away(x, y []float32) float64 {
	var d, size float64
	for i := range x {
		d, size = d+math.Pow(float64(x[i]-y[i]), 2), size+math.Pow(float64(y[i]), 2)
	}
	return math.Sqrt(d / size)
}
