package model_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/learn/batch"
	"hone/internal/learn/engine"
	"hone/internal/learn/learntest"
	"hone/internal/learn/model"
	"hone/internal/learn/sample"
	"hone/internal/learn/train"
	"hone/internal/policy"
)

// tolerance of every number, absolute.
const tolerance = 1e-4

// Every family gives the numbers that transformers and peft give: logits, loss, gradients, three steps of AdamW, and
// the tokens of greedy sampling with the adapter merged.
func TestFamiliesEqualTransformersAndPEFT(t *testing.T) {
	learntest.EachDevice(t, func(t *testing.T, e *engine.Engine) {
		for _, name := range cases(t) {
			t.Run(name, func(t *testing.T) {
				g := read(t, name)
				spec, weights := g.load(t, e)
				if d := distance(logits(t, e, spec, weights, g.Texts), g.array(t, "logits")); d > tolerance {
					t.Errorf("logits differ by %g", d)
				}
				lora, flat := g.lora(t, spec)
				loss, gradient := g.gradient(t, e, spec, weights, lora, flat)
				if d := math.Abs(float64(loss - g.array(t, "losses")[0])); d > tolerance {
					t.Errorf("the loss differs by %g", d)
				}
				if d := distance(byName(spec, lora, gradient), g.array(t, "gradients")); d > tolerance {
					t.Errorf("gradients differ by %g", d)
				}
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
	p, err := e.Compile("logits", append(s.WeightParams(), engine.Param{Name: "ids", Shape: engine.I32(n, c)}), func(in []*Node) []*Node {
		d := model.NewDecoder(s, in[:len(in)-1])
		return []*Node{d.Logits(Reshape(forward(d, in[len(in)-1]), n*c, s.Hidden))}
	})
	must(t, err)
	ids := make([]int32, n*c)
	for i, text := range texts {
		copy(ids[i*c:], text)
	}
	flat := run(t, e, p, weights, nil, ids, n, c)[0]
	for i, text := range texts {
		out = append(out, flat[i*c*s.VocabSize:][:len(text)*s.VocabSize]...)
	}
	return out
}

func forward(d *model.Decoder, ids *Node) *Node {
	n, c := ids.Shape().Dimensions[0], ids.Shape().Dimensions[1]
	causal := model.Causal(ids.Graph(), n, c)
	return d.Forward(ids, Iota(ids.Graph(), shapes.Make(dtypes.Int32, n, c), 1), func(_ int, k, v *Node) []model.KeyValues {
		return []model.KeyValues{{K: k, V: v, Mask: causal}}
	}, nil)
}

func run(t *testing.T, e *engine.Engine, p *engine.Program, weights []engine.Buffer, flat []float32, ids []int32, dims ...int) (out [][]float32) {
	t.Helper()
	in := slices.Clone(weights)
	if flat != nil {
		b, err := e.Upload(flat, len(flat))
		must(t, err)
		in = append(in, b)
	}
	b, err := e.Upload(ids, dims...)
	must(t, err)
	results, err := p.Run(append(in, b)...)
	must(t, err)
	for _, r := range results {
		x, err := engine.Floats(r)
		must(t, err)
		out = append(out, x)
	}
	engine.Free(results...)
	return out
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

// gradient is one program over both texts whole: without a shared prefix, unlike the trainer.
func (g golden) gradient(t *testing.T, e *engine.Engine, s model.Spec, weights []engine.Buffer, l model.LoRA, flat []float32) (float32, []float32) {
	t.Helper()
	n, c := len(g.Texts), len(g.Texts[1])
	params := append(s.WeightParams(), engine.Param{Name: "adapter", Shape: engine.F32(len(flat))}, engine.Param{Name: "ids", Shape: engine.I32(n, c)})
	ids, weight, trained := make([]int32, n*c), make([]float32, n*c), float32(0)
	for i, row := range g.rows() {
		copy(ids[i*c:], row.IDs)
		for j, yes := range row.Trained {
			if yes {
				weight[i*c+j-1] = 1 // position j-1 is scored on token j
				trained++
			}
		}
	}
	p, err := e.Compile("gradient", params, func(in []*Node) []*Node {
		w := len(in) - 2
		d := model.NewAdapted(s, in[:w], l, in[w])
		x := d.Logits(Reshape(forward(d, in[w+1]), n*c, s.Hidden))
		next := Concatenate([]*Node{Slice(in[w+1], AxisRange(), AxisRange(1)), Slice(in[w+1], AxisRange(), AxisRange(0, 1))}, 1)
		isNext := Equal(Reshape(next, n*c, 1), Iota(x.Graph(), shapes.Make(dtypes.Int32, n*c, s.VocabSize), 1))
		max := StopGradient(ReduceAndKeep(x, ReduceMax, -1))
		logZ := Add(Log(ReduceSum(Exp(Sub(x, max)), -1)), Reshape(max, n*c))
		chosen := ReduceSum(Where(isNext, x, ZerosLike(x)), -1)
		loss := DivScalar(ReduceAllSum(Mul(Sub(logZ, chosen), Const(x.Graph(), weight))), float64(trained))
		return []*Node{loss, Gradient(loss, in[w])[0]}
	})
	must(t, err)
	out := run(t, e, p, weights, flat, ids, n, c)
	return out[0][0], out[1]
}

func (g golden) train(t *testing.T, e *engine.Engine, s model.Spec, weights []engine.Buffer, l model.LoRA, flat []float32) {
	t.Helper()
	state := train.NewState(s, l, 1)
	copy(state.Adapter, flat)
	tr, err := train.New(e, s, weights, state, train.Options{LoRA: l, MicroBatch: 2, RowMultiple: 16})
	must(t, err)
	b := batch.New(g.rows())
	if len(b.Prefix) != g.Prefix {
		t.Errorf("the rows share %d tokens, want %d", len(b.Prefix), g.Prefix)
	}
	losses, norms := g.array(t, "losses"), g.array(t, "norms")
	for i := range losses {
		stats, err := tr.Supervised(context.Background(), b, batch.Update{Rate: g.Rate, MaxGradNorm: 1})
		must(t, err)
		if d := math.Abs(stats.Loss - float64(losses[i])); d > tolerance {
			t.Errorf("step %d: the loss differs by %g", i, d)
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

func (g golden) generate(t *testing.T, e *engine.Engine, s model.Spec, weights []engine.Buffer, l model.LoRA, flat []float32) {
	t.Helper()
	prompt := g.Texts[1]
	sampler, err := sample.New(e, s, weights, sample.Options{LoRA: l, Slots: 2, Context: len(prompt) + len(g.Generated), Prefix: prompt[:g.Prefix]})
	must(t, err)
	defer sampler.Close()
	b, err := e.Upload(flat, len(flat))
	must(t, err)
	must(t, sampler.SetAdapter(b, 1))
	c, err := sampler.Sample(context.Background(), policy.Request{Prompt: prompt, Sampling: policy.Sampling{MaxTokens: len(g.Generated)}})
	must(t, err)
	if !slices.Equal(c.IDs, g.Generated) {
		t.Errorf("sampled %v, want %v", c.IDs, g.Generated)
	}
}
