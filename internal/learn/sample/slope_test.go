package sample

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/dtypes/bfloat16"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/learn/engine"
	"hone/internal/learn/learntest"
	"hone/internal/learn/model"
	"hone/internal/modelfile"
)

// slopeSpec is a model whose sums are long enough for bfloat16 to matter, and small enough for many tokens.
func slopeSpec(bf16, joined bool) model.Spec {
	return model.Spec{BF16: bf16, Joined: joined, Config: modelfile.Config{Architecture: "llama", Name: "slope", NumLayers: 2, Hidden: 64, Intermediate: 160, NumHeads: 4,
		NumKVHeads: 2, HeadDim: 16, VocabSize: 4096, MaxContext: 256, Rope: modelfile.Rope{Theta: 10000}, NormEps: 1e-5, TiedHead: true, QKNorm: true}}
}

var slopeLoRA = model.LoRA{Rank: 16, Alpha: 32}

const slopeRows, slopeTokens, slopeBatches = 32, 64, 8

// noise is a number in [-1, 1) that looks random, of a seed and an index.
func noise(seed, i int) float64 {
	return float64(int64(mix(uint64(seed)<<32+uint64(i)))) / (1 << 63)
}

// slopeWeights are bfloat16 numbers in any type.
func slopeWeights(t *testing.T, e *engine.Engine, s model.Spec) (weights []engine.Buffer) {
	t.Helper()
	number, params := 0, s.WeightParams()
	for i, w := range s.Weights() {
		var flat []float32
		for _, x := range w.Tensors {
			size := 1
			for _, d := range x.Dims {
				size *= d
			}
			for j := range size {
				v := 1 + noise(number, j)*0.1
				if len(x.Dims) > 1 {
					v = noise(number, j) * math.Sqrt(3/float64(x.Dims[1]))
				}
				flat = append(flat, bfloat16.FromFloat32(float32(v)).Float32())
			}
			number++
		}
		b, err := e.UploadParam(params[i], flat)
		if err != nil {
			t.Fatal(err)
		}
		weights = append(weights, b)
	}
	return weights
}

// stepped is an adapter of fresh A whose B are as large as Adam's steps of a size make them, up or down as a seed says.
func stepped(s model.Spec, size float64, seed int) []float32 {
	pieces, n := slopeLoRA.Pieces(s)
	flat := make([]float32, n)
	for _, p := range pieces {
		for i := range p.Rows * p.Cols {
			flat[p.Offset+i] = float32(noise(1000, p.Offset+i) / math.Sqrt(float64(p.Cols)))
			if p.B {
				flat[p.Offset+i] = float32(math.Copysign(size, noise(seed, p.Offset+i)))
			}
		}
	}
	return flat
}

// forward is a program of a decoder's logits of rows of tokens, [rows, tokens] ids -> [rows*tokens*64].
func forward(t *testing.T, e *engine.Engine, s model.Spec, params []engine.Param, decoder func(in []*Node) *model.Decoder) *engine.Program {
	t.Helper()
	ids := engine.Param{Name: "ids", Shape: engine.I32(slopeRows, slopeTokens)}
	p, err := e.Compile("forward", append(slices.Clone(params), ids), func(in []*Node) []*Node {
		ids := in[len(in)-1]
		d := decoder(in[:len(in)-1])
		positions := Iota(ids.Graph(), shapes.Make(dtypes.Int32, slopeRows, slopeTokens), 1)
		h := d.Forward(ids, positions, func(_ int, k, v *Node) []model.KeyValues { return []model.KeyValues{{K: k, V: v, Causal: true}} })
		logits := d.Logits(Reshape(h, slopeRows*slopeTokens, s.Hidden))
		return []*Node{Reshape(Slice(logits, AxisRange(), AxisRange(0, 64)), -1)} // which are as many as the hidden width: more would say no more
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// evaluated runs such a program on all batches of tokens.
func evaluated(t *testing.T, e *engine.Engine, p *engine.Program, held []engine.Buffer) (all []float32) {
	t.Helper()
	for batch := range slopeBatches {
		ids := make([]int32, slopeRows*slopeTokens)
		for i := range ids {
			ids[i] = int32(mix(uint64(batch*len(ids)+i)) % 4096)
		}
		b, err := e.Upload(ids, slopeRows, slopeTokens)
		if err != nil {
			t.Fatal(err)
		}
		out, err := p.Run(append(slices.Clone(held), b)...)
		if err != nil {
			t.Fatal(err)
		}
		x, err := engine.Floats(out[0])
		if err != nil {
			t.Fatal(err)
		}
		engine.Free(append(out, b)...)
		all = append(all, x...)
	}
	return all
}

// slope is that of changes against exact ones, by least squares through the origin.
type slope struct{ xy, xx float64 }

func (s *slope) add(got, exact [2][]float32) {
	for i := range exact[0] {
		x := float64(exact[1][i]) - float64(exact[0][i])
		s.xy, s.xx = s.xy+x*(float64(got[1][i])-float64(got[0][i])), s.xx+x*x
	}
}

func (s slope) value() float64 { return s.xy / s.xx }

// From one adapter to the next the sampler's logits change in bfloat16 as they do in float32, on average over tokens, however small the step: one
// of 2e-5, Adam's default, too. Where W + s B A is rounded as a weight is, they do not, which shows that the measure tells.
func TestSmallUpdatesReachTheSampledPolicy(t *testing.T) {
	e := learntest.Devices(t, 1)
	exactSpec := slopeSpec(false, false)
	exactWeights := slopeWeights(t, e, exactSpec)
	_, size := slopeLoRA.Pieces(exactSpec)
	adapter := engine.Param{Name: "adapter", Shape: engine.F32(size)}
	exact := forward(t, e, exactSpec, append(exactSpec.WeightParams(), adapter), func(in []*Node) *model.Decoder {
		return model.NewAdapted(exactSpec, in[:len(in)-1], slopeLoRA, in[len(in)-1])
	})
	merged := forward(t, e, slopeSpec(true, false), slopeSpec(true, false).WeightParams(), func(in []*Node) *model.Decoder {
		return model.NewDecoder(slopeSpec(true, false), in)
	})
	samplers := map[bool]*Sampler{}
	programs := map[bool]*engine.Program{}
	for _, joined := range []bool{false, true} {
		spec := slopeSpec(true, joined)
		s, err := New(e, spec, slopeWeights(t, e, spec), Options{LoRA: slopeLoRA, Slots: 8, Context: 32})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		samplers[joined] = s
		programs[joined] = forward(t, e, s.spec, s.params, func(in []*Node) *model.Decoder { return model.NewSampling(s.adapters, in, nil) })
	}
	for _, c := range []struct {
		step  float64
		pairs int // of adapters, which differ in their signs: enough for a standard error of about 0.015
	}{{2e-5, 8}, {1e-4, 2}, {3e-4, 2}, {1e-3, 2}} {
		var applied, lagging slope
		for pair := range c.pairs {
			joined := pair%2 == 1 // every second one in joined weights
			var got, merge, want [2][]float32
			for version := range 2 {
				flat := stepped(exactSpec, c.step, 2*pair+version)
				b, err := e.Upload(flat, size)
				if err != nil {
					t.Fatal(err)
				}
				want[version] = evaluated(t, e, exact, append(slices.Clone(exactWeights), b))
				if pair < 2 {
					merge[version] = evaluated(t, e, merged, mergedWeights(t, e, exactWeights, flat))
				}
				if err := samplers[joined].SetAdapter(b, version); err != nil {
					t.Fatal(err)
				}
				got[version] = evaluated(t, e, programs[joined], samplers[joined].weights)
				engine.Free(b)
			}
			applied.add(got, want)
			if pair < 2 {
				lagging.add(merge, want)
			}
		}
		t.Logf("|B| = %g: the slope is %.4f; merged and rounded %.4f", c.step, applied.value(), lagging.value())
		if x := applied.value(); !(x > 0.95 && x < 1.05) {
			t.Errorf("|B| = %g: the logits change by %.4f of what they do in float32", c.step, x)
		}
		if x := lagging.value(); c.step < 5e-4 && x > 0.8 {
			t.Errorf("|B| = %g: merged and rounded, the slope is %.3f, so the measure does not tell", c.step, x)
		}
	}
}

// mergedWeights are W + s B A, rounded to bfloat16.
func mergedWeights(t *testing.T, e *engine.Engine, weights []engine.Buffer, flat []float32) (merged []engine.Buffer) {
	t.Helper()
	s := slopeSpec(true, false)
	at := map[string]int{}
	var all [][]float32
	for i, w := range s.Weights() {
		x, err := engine.Floats(weights[i])
		if err != nil {
			t.Fatal(err)
		}
		at[w.Name()], all = i, append(all, x)
	}
	pieces, _ := slopeLoRA.Pieces(s)
	for i := 0; i < len(pieces); i += 2 {
		a, b := pieces[i], pieces[i+1]
		w := all[at[a.Target.Path(a.Layer)+".weight"]]
		for row := range b.Rows {
			for r := range a.Rows {
				factor := float32(a.Scale) * flat[b.Offset+row*b.Cols+r]
				for column := range a.Cols {
					w[row*a.Cols+column] += factor * flat[a.Offset+r*a.Cols+column]
				}
			}
		}
	}
	for i, p := range s.WeightParams() {
		b, err := e.UploadParam(p, all[i])
		if err != nil {
			t.Fatal(err)
		}
		merged = append(merged, b)
	}
	return merged
}
