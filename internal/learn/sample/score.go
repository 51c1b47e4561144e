package sample

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
	"hone/internal/learn/model"
)

const (
	rowMultiple = 32  // lengths are rounded up to it, so that few programs are compiled
	headChunk   = 256 // tokens whose logits exist at one time
)

// Scorer scores one row at a time. It is not safe for concurrent use.
type Scorer struct {
	engine   *engine.Engine
	spec     model.Spec
	lora     model.LoRA
	weights  []engine.Buffer // not owned
	adapter  engine.Buffer   // nil for the base model
	programs map[int]*engine.Program
}

// NewScorer makes a scorer of base weights, which stay the caller's, with the adapter of the flat vector given (layout:
// LoRA.Pieces), or without one where it is nil.
func NewScorer(
	e *engine.Engine, spec model.Spec, weights []engine.Buffer, lora model.LoRA, adapter []float32,
) (*Scorer, error) {
	s := &Scorer{engine: e, spec: spec, lora: lora, weights: weights, programs: map[int]*engine.Program{}}
	if adapter == nil {
		return s, nil
	}
	var err error
	s.adapter, err = e.Upload(adapter, len(adapter))
	return s, err
}

// Close releases the adapter.
func (s *Scorer) Close() {
	if s.adapter != nil {
		engine.Free(s.adapter)
	}
}

// Logprobs returns the natural-log probability of each id but the first, given those before it: len(ids)-1 values, none
// for fewer than two ids.
func (s *Scorer) Logprobs(ids []int32) ([]float32, error) {
	if len(ids) < 2 {
		return nil, nil
	}
	c := (len(ids) + rowMultiple - 2) / rowMultiple * rowMultiple
	p, err := s.program(c)
	if err != nil {
		return nil, err
	}
	// Position i reads ids[i] and is scored on ids[i+1]. Padding stands after all tokens, which do not see it.
	row, target := make([]int32, c), make([]int32, c)
	copy(row, ids[:len(ids)-1])
	copy(target, ids[1:])
	inputs := append([]engine.Buffer{}, s.weights...)
	if s.adapter != nil {
		inputs = append(inputs, s.adapter)
	}
	rowBuffer, err := s.engine.Upload(row, 1, c)
	if err != nil {
		return nil, err
	}
	defer engine.Free(rowBuffer)
	targetBuffer, err := s.engine.Upload(target, c)
	if err != nil {
		return nil, err
	}
	defer engine.Free(targetBuffer)
	out, err := p.Run(append(inputs, rowBuffer, targetBuffer)...)
	if err != nil {
		return nil, err
	}
	defer engine.Free(out...)
	logprobs, err := engine.Floats(out[0])
	if err != nil {
		return nil, err
	}
	return logprobs[:len(ids)-1], nil
}

// program is compiled the first time a length is seen: weights, adapter[A] if there is one, ids[1,c], target[c] ->
// logprobs[c].
func (s *Scorer) program(c int) (*engine.Program, error) {
	if p := s.programs[c]; p != nil {
		return p, nil
	}
	params := s.spec.WeightParams()
	w := len(params)
	if s.adapter != nil {
		_, size := s.lora.Pieces(s.spec)
		params = append(params, engine.Param{Name: "adapter", Shape: engine.F32(size)})
	}
	params = append(params, engine.Param{Name: "ids", Shape: engine.I32(1, c)},
		engine.Param{Name: "target", Shape: engine.I32(c)})
	p, err := s.engine.Compile("logprobs", params, func(in []*Node) []*Node {
		d := model.NewDecoder(s.spec, in[:w])
		if s.adapter != nil {
			d = model.NewAdapterDecoder(s.spec, in[:w], s.lora, in[w])
		}
		ids, target := in[len(in)-2], in[len(in)-1]
		g := ids.Graph()
		h := d.Forward(ids, Iota(g, shapes.Make(dtypes.Int32, 1, c), 1), func(_ int, k, v *Node) []model.KeyValues {
			return []model.KeyValues{{K: k, V: v, Causal: true}}
		})
		h = Reshape(h, c, s.spec.Hidden)
		var parts []*Node
		for start := 0; start < c; start += headChunk {
			chunk := AxisRange(start, min(start+headChunk, c))
			parts = append(parts, logprobs(d.Logits(Slice(h, chunk)), Slice(target, chunk)))
		}
		if len(parts) == 1 {
			return parts
		}
		return []*Node{Concatenate(parts, 0)}
	}, "logprobs")
	if err == nil {
		s.programs[c] = p
	}
	return p, err
}

// logprobs is log softmax(logits[M, V])[target[M]].
func logprobs(logits, target *Node) *Node {
	g := logits.Graph()
	m, v := logits.Shape().Dimensions[0], logits.Shape().Dimensions[1]
	max := ReduceAndKeep(logits, ReduceMax, -1)
	normaliser := Add(Log(ReduceSum(Exp(Sub(logits, max)), -1)), Reshape(max, m))
	isTarget := Equal(Reshape(target, m, 1), Iota(g, shapes.Make(dtypes.Int32, m, v), 1))
	return Sub(ReduceSum(Where(isTarget, logits, ZerosLike(logits)), -1), normaliser)
}
