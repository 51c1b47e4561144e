package sample

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/dtypes/bfloat16"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/testing/learntest"
)

// slopeSpec is a model whose sums are long enough for bfloat16 to matter, and small enough for many tokens.
func slopeSpec(bf16, joined bool) model.Spec {
	return model.Spec{
		BF16:   bf16,
		Joined: joined,
		Config: modelfile.Config{
			Architecture: "llama", Name: "slope", NumLayers: 2, Hidden: 64, Intermediate: 160, NumHeads: 4,
			NumKVHeads: 2, HeadDim: 16, VocabSize: 4096, MaxContext: 256, Rope: modelfile.Rope{Theta: 10000},
			NormEps: 1e-5, TiedHead: true, QKNorm: true,
		},
	}
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
func forward(
	t *testing.T, e *engine.Engine, s model.Spec, params []engine.Param, decoder func(in []*Node) *model.Decoder,
) *engine.Program {
	t.Helper()
	ids := engine.Param{Name: "ids", Shape: engine.I32(slopeRows, slopeTokens)}
	p, err := e.Compile("forward", append(slices.Clone(params), ids), func(in []*Node) []*Node {
		ids := in[len(in)-1]
		d := decoder(in[:len(in)-1])
		positions := Iota(ids.Graph(), shapes.Make(dtypes.Int32, slopeRows, slopeTokens), 1)
		h := d.Forward(ids, positions, func(_ int, k, v *Node) []model.KeyValues {
			return []model.KeyValues{{K: k, V: v, Causal: true}}
		})
		logits := d.Logits(Reshape(h, slopeRows*slopeTokens, s.Hidden))
		// which are as many as the hidden width: more would say no more
		return []*Node{Reshape(Slice(logits, AxisRange(), AxisRange(0, 64)), -1)}
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

// From one adapter to the next the sampler's logits, and the trainer's, change in bfloat16 as they do in float32, on
// average over tokens, however small the step: one of 2e-5, Adam's default, too. Where W + s B A is rounded as a weight
// is, they do not, which shows that the measure tells.
func TestSmallUpdatesReachThePolicy(t *testing.T) {
	e := learntest.Devices(t, 1)
	exactSpec := slopeSpec(false, false)
	exactWeights := slopeWeights(t, e, exactSpec)
	_, size := slopeLoRA.Pieces(exactSpec)
	adapter := engine.Param{Name: "adapter", Shape: engine.F32(size)}
	adapted := func(s model.Spec) *engine.Program { // as a trainer's programs have the adapter
		return forward(t, e, s, append(s.WeightParams(), adapter), func(in []*Node) *model.Decoder {
			return model.NewAdapterDecoder(s, in[:len(in)-1], slopeLoRA, in[len(in)-1])
		})
	}
	exact, trained, weights :=
		adapted(exactSpec), adapted(slopeSpec(true, false)), slopeWeights(t, e, slopeSpec(true, false))
	merged := forward(t, e, slopeSpec(true, false),
		slopeSpec(true, false).WeightParams(), func(in []*Node) *model.Decoder {
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
		programs[joined] = forward(t, e, s.spec, s.params, func(in []*Node) *model.Decoder {
			return model.NewSampling(s.adapters, in, nil)
		})
	}
	for _, c := range []struct {
		step float64
		// from one adapter to the next, which differ in their signs: enough for a standard error of about 0.015
		changes int
	}{{2e-5, 8}, {1e-4, 2}, {3e-4, 2}, {1e-3, 2}} {
		if c.step > 2e-5 && !learntest.Whole() { // larger ones are easier to pass on
			continue
		}
		var got, train, lagging slope
		var before struct {
			want, train, merge []float32
			got                map[bool][]float32
		}
		for version := range c.changes + 1 {
			now := before
			now.got = map[bool][]float32{}
			flat := stepped(exactSpec, c.step, version)
			b, err := e.Upload(flat, size)
			if err != nil {
				t.Fatal(err)
			}
			now.want = evaluated(t, e, exact, append(slices.Clone(exactWeights), b))
			now.train = evaluated(t, e, trained, append(slices.Clone(weights), b))
			if version < 2 && c.step < 5e-4 {
				now.merge = evaluated(t, e, merged, mergedWeights(t, e, exactWeights, flat))
			}
			// the first half of the changes in weights apart, the second in joined ones
			for joined, s := range samplers {
				if joined && version < c.changes/2 || !joined && version > c.changes/2 {
					continue
				}
				if err := s.SetAdapter(b, version); err != nil {
					t.Fatal(err)
				}
				now.got[joined] = evaluated(t, e, programs[joined], s.weights)
			}
			engine.Free(b)
			if version > 0 {
				want := [2][]float32{before.want, now.want}
				train.add([2][]float32{before.train, now.train}, want)
				joined := version > c.changes/2
				got.add([2][]float32{before.got[joined], now.got[joined]}, want)
				if version == 1 && now.merge != nil {
					lagging.add([2][]float32{before.merge, now.merge}, want)
				}
			}
			before = now
		}
		t.Logf("|B| = %g: the sampler's slope is %.4f, the trainer's %.4f; merged and rounded %.4f (not measured "+
			"above 5e-4)", c.step, got.value(), train.value(), lagging.value())
		for name, x := range map[string]float64{"sampler": got.value(), "trainer": train.value()} {
			if !(x > 0.95 && x < 1.05) {
				t.Errorf("|B| = %g: the %s's logits change by %.4f of what they do in float32", c.step, name, x)
			}
		}
		if x := lagging.value(); x > 0.8 {
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
