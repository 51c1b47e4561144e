package model_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
	"hone/internal/episode/policy"
	"hone/internal/learn/batch"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
	"hone/internal/learn/sample"
	"hone/internal/learn/train"
	"hone/internal/testing/learntest"
)

// tolerance of every number, absolute.
const tolerance = 1e-4

// Every family gives the numbers that transformers and peft give: logits, loss, gradients, three steps of AdamW, and
// the tokens of greedy sampling with the adapter merged.
func TestFamiliesEqualTransformersAndPEFT(t *testing.T) {
	learntest.BothDevices(t, func(t *testing.T, e *engine.Engine) {
		for _, name := range cases(t) {
			// It has the most: windows, two ropes, norms of queries, keys and results. The other has rows of tokens,
			// scaled and capped.
			if !e.PureGo() && !learntest.Whole() && name != "gemma3" && name != "gemma2_tokens" {
				continue
			}
			t.Run(name, func(t *testing.T) {
				g := read(t, name)
				spec, weights := g.load(t, e)
				if d := distance(logits(t, e, spec, weights, g.Texts), g.array(t, "logits")); d > tolerance {
					t.Errorf("logits differ by %g", d)
				}
				lora, flat := g.lora(t, spec)
				g.train(t, e, spec, weights, lora, flat)
				g.generate(t, e, spec, weights, lora, flat)
			})
		}
	})
}

// logits of the texts one after the other, computed together in one batch with padding to the right.
func logits(t *testing.T, e *engine.Engine, s model.Spec, weights []engine.Buffer, texts [][]int32) (out []float32) {
	t.Helper()
	n, c := len(texts), len(texts[len(texts)-1])
	p, err := e.Compile("logits",
		append(s.WeightParams(), engine.Param{Name: "ids", Shape: engine.I32(n, c)}), func(in []*Node) []*Node {
			d := model.NewDecoder(s, in[:len(in)-1])
			return []*Node{d.Logits(Reshape(forward(d, in[len(in)-1]), n*c, s.Hidden))}
		})
	must(t, err)
	ids := make([]int32, n*c)
	for i, text := range texts {
		copy(ids[i*c:], text)
	}
	flat := run(t, e, p, weights, ids, n, c)
	for i, text := range texts {
		out = append(out, flat[i*c*s.VocabSize:][:len(text)*s.VocabSize]...)
	}
	return out
}

func forward(d *model.Decoder, ids *Node) *Node {
	n, c := ids.Shape().Dimensions[0], ids.Shape().Dimensions[1]
	causal := model.Causal(ids.Graph(), n, c)
	return d.Forward(ids,
		Iota(ids.Graph(), shapes.Make(dtypes.Int32, n, c), 1), func(_ int, k, v *Node) []model.KeyValues {
			return []model.KeyValues{{K: k, V: v, Mask: causal}}
		})
}

func run(
	t *testing.T, e *engine.Engine, p *engine.Program, weights []engine.Buffer, ids []int32, dims ...int,
) []float32 {
	t.Helper()
	b, err := e.Upload(ids, dims...)
	must(t, err)
	out, err := p.Run(append(slices.Clone(weights), b)...)
	must(t, err)
	defer engine.Free(out...)
	flat, err := engine.Floats(out[0])
	must(t, err)
	return flat
}

func (g golden) rows() (rows []batch.Sequence) {
	for _, ids := range g.Texts {
		row := batch.Sequence{IDs: ids, Trained: make([]bool, len(ids))}
		for i := g.Prefix + g.Untrained; i < len(ids); i++ {
			row.Trained[i] = true
		}
		rows = append(rows, row)
	}
	return rows
}

func (g golden) train(
	t *testing.T, e *engine.Engine, s model.Spec, weights []engine.Buffer, l model.LoRA, flat []float32,
) {
	t.Helper()
	state := train.NewState(s, l, 1)
	copy(state.Adapter, flat)
	tr, err := train.New(e, s, weights, state, train.Options{LoRA: l, MicroBatch: 2, RowMultiple: 16})
	must(t, err)
	b := batch.New(g.rows())
	if len(b.Prefix) != g.Prefix {
		t.Errorf("the rows share %d tokens, want %d", len(b.Prefix), g.Prefix)
	}
	// pure Go shares the prefix: a plug-in of CPUs would compile two programs more for each family, for seconds
	if !e.PureGo() && !e.IsGPU() {
		b = batch.Batch{Rows: g.rows()}
	}
	losses, norms := g.array(t, "losses"), g.array(t, "norms")
	for i := range losses {
		stats, err := tr.Step(context.Background(), b, batch.Objective{}, batch.Update{Rate: g.Rate, MaxGradNorm: 1})
		must(t, err)
		if d := math.Abs(stats.Loss - float64(losses[i])); d > tolerance {
			t.Errorf("step %d: the loss differs by %g", i, d)
		}
		if i == 0 {
			g.compareGradients(t, tr, s, l, norms[0])
		}
		if d := math.Abs(stats.GradNorm - float64(norms[i])); d > tolerance*max(1, float64(norms[i])) {
			t.Errorf("step %d: the gradient's norm is %g, want %g", i, stats.GradNorm, norms[i])
		}
	}
	state, err = tr.State()
	must(t, err)
	want := g.array(t, "trained")
	if d := distance(byName(s, l, state.Adapter), want); d > tolerance {
		t.Errorf("after %d steps the adapter differs by %g", len(losses), d)
	}
	if d := distance(byName(s, l, flat), want); d < 10*tolerance {
		t.Errorf("the steps moved the adapter by %g only", d)
	}
}

// compareGradients reads the first step's gradients off AdamW's first moments, which are a tenth of them as clipped.
func (g golden) compareGradients(t *testing.T, tr *train.Trainer, s model.Spec, l model.LoRA, norm float32) {
	t.Helper()
	state, err := tr.State()
	must(t, err)
	gradient := byName(s, l, state.M)
	for i := range gradient {
		gradient[i] *= 10 * max(1, norm)
	}
	if d := distance(gradient, g.array(t, "gradients")); d > tolerance {
		t.Errorf("gradients differ by %g", d)
	}
}

func (g golden) generate(
	t *testing.T, e *engine.Engine, s model.Spec, weights []engine.Buffer, l model.LoRA, flat []float32,
) {
	t.Helper()
	prompt := g.Texts[1]
	sampler, err := sample.New(e, s, weights,
		sample.Options{LoRA: l, Slots: 2, Context: len(prompt) + len(g.Generated), Prefix: prompt[:g.Prefix]})
	must(t, err)
	defer sampler.Close()
	b, err := e.Upload(flat, len(flat))
	must(t, err)
	must(t, sampler.SetAdapter(b, 1))
	c, err := sampler.Sample(context.Background(),
		policy.Request{Prompt: prompt, Sampling: policy.Sampling{MaxTokens: len(g.Generated)}})
	must(t, err)
	if !slices.Equal(c.IDs, g.Generated) {
		t.Errorf("sampled %v, want %v", c.IDs, g.Generated)
	}
}

// A longrope model is loaded with short factors and the positions they are right for. transformers takes the long ones
// for a sequence of more tokens, and then for all its positions (modeling_rope_utils.py, longrope_frequency_update).
func TestLongropeFactors(t *testing.T) {
	e, err := engine.Open(engine.Options{})
	must(t, err)
	defer e.Close()
	for _, name := range []string{"phi3", "phi3_long"} {
		m := read(t, name).folder(t)
		s, weights, err := model.Load(e, m)
		must(t, err)
		engine.Free(weights...)
		original := s.Rope.OriginalContext
		if s.Rope.Long || s.MaxContext != original || m.Config.MaxContext <= original {
			t.Errorf("%s: loaded for %d tokens of %d, %+v", name, s.MaxContext, m.Config.MaxContext, s.Rope)
		}
		if s.ForContext(original).Rope.Long || !s.ForContext(original+1).Rope.Long {
			t.Errorf("%s: the factors change elsewhere than after %d tokens", name, original)
		}
	}
}

// Each of these mistakes, made on purpose, is far outside of the tolerance: the goldens would show it.
func TestGoldensNoticeMistakes(t *testing.T) {
	e, err := engine.Open(engine.Options{})
	must(t, err)
	defer e.Close()
	window := func(s *model.Spec, by int) {
		s.Layers = slices.Clone(s.Layers)
		for i := range s.Layers {
			if s.Layers[i].Window > 0 {
				s.Layers[i].Window += by
			}
		}
	}
	for _, c := range []struct {
		golden, mistake string
		make            func(s *model.Spec)
	}{
		{"llama", "rope scale", func(s *model.Spec) { s.Rope.Factor *= 1.1 }},
		{"llama", "band of the rope scale", func(s *model.Spec) { s.Rope.HighFactor *= 1.1 }},
		{"llama", "no rope scale", func(s *model.Spec) { s.Rope.Kind = "" }},
		{"smollm2", "theta", func(s *model.Spec) { s.Rope.Theta *= 1.1 }},
		{"smollm2", "epsilon", func(s *model.Spec) { s.NormEps = 1e-2 }},
		{"smollm3", "rope in all layers", func(s *model.Spec) { s.Layers = nil }},
		{"qwen2", "a wider window", func(s *model.Spec) { window(s, 1) }},
		{"qwen2", "windows in all layers", func(s *model.Spec) { s.Layers = slices.Repeat(s.Layers[2:], 3) }},
		{"qwen3", "magnitude", func(s *model.Spec) { s.Rope.Magnitude = 0 }},
		{"qwen3", "ramp", func(s *model.Spec) { s.Rope.BetaSlow = 0.25 }},
		{"mistral", "a narrower window", func(s *model.Spec) { window(s, -1) }},
		{"phi3", "long factors", func(s *model.Spec) { *s = s.ForContext(1000) }},
		{"phi3_long", "short factors", func(s *model.Spec) { *s = s.ForContext(1) }},
		{"phi3_long", "no window", func(s *model.Spec) { s.Layers = nil }},
		{"phi3", "all of a head rotated", func(s *model.Spec) {
			s.Rope = modelfile.Rope{Theta: s.Rope.Theta, Magnitude: s.Rope.Magnitude}
		}},
		{"gemma2", "norm offset", func(s *model.Spec) { s.NormOffset = false }},
		{"gemma2", "score cap", func(s *model.Spec) { s.ScoreCap = 0 }},
		{"gemma2", "logit cap", func(s *model.Spec) { s.LogitCap = 0 }},
		{"gemma2", "embedding scale", func(s *model.Spec) { s.EmbeddingScale = 0 }},
		{"gemma2", "query scale", func(s *model.Spec) { s.QueryScale = 0 }},
		{"gemma2", "activation", func(s *model.Spec) { s.GELU = false }},
		{"gemma3", "one rope for all layers", func(s *model.Spec) { s.LocalRope = s.Rope }},
		{"gemma3", "rope scale", func(s *model.Spec) { s.Rope.Factor = 1 }},
	} {
		g := read(t, c.golden)
		spec, weights := g.load(t, e)
		right := distance(logits(t, e, spec, weights, g.Texts), g.array(t, "logits"))
		c.make(&spec)
		wrong := distance(logits(t, e, spec, weights, g.Texts), g.array(t, "logits"))
		if right > tolerance || wrong < 10*tolerance {
			t.Errorf("%s: %s: off by %g, and by %g without", c.golden, c.mistake, wrong, right)
		}
	}
}
