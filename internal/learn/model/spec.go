// Package model defines the decoder as graphs: one definition for scoring, training, prefill and decoding.
//
// Axis letters in variable names: N rows of a batch, C tokens of a row, H hidden width, K key-value heads, G query
// heads that share one, D head width, P tokens of the shared prefix, T slots of a private cache, V vocabulary.
package model

import (
	"fmt"

	"hone/internal/learn/engine"
	"hone/internal/modelfile"
)

// Spec is the shape of the decoder.
type Spec struct{ modelfile.Config }

// Groups returns how many query heads share one key-value head.
func (s Spec) Groups() int { return s.NumHeads / s.NumKVHeads }

// Target is one adaptable linear map of a layer, in the order of the weights.
type Target int

// The linear maps of a layer. Their names are Hugging Face's.
const (
	Q Target = iota
	K
	V
	O
	Gate
	Up
	Down
	NumTargets
)

var targetPaths = [NumTargets]string{"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
	"mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"}

// Name returns the last part of the target's path, as adapter configurations list it.
func (t Target) Name() string {
	p := targetPaths[t]
	for i := len(p) - 1; ; i-- {
		if p[i] == '.' {
			return p[i+1:]
		}
	}
}

// Path returns the target's module path in a layer of the model, "model.layers.3.self_attn.q_proj".
func (t Target) Path(layer int) string {
	return fmt.Sprintf("model.layers.%d.%s", layer, targetPaths[t])
}

// Dims returns the width in and out of the target.
func (s Spec) Dims(t Target) (in, out int) {
	kv := s.NumKVHeads * s.HeadDim
	switch t {
	case Q:
		return s.Hidden, s.NumHeads * s.HeadDim
	case K, V:
		return s.Hidden, kv
	case O:
		return s.NumHeads * s.HeadDim, s.Hidden
	case Gate, Up:
		return s.Hidden, s.Intermediate
	default:
		return s.Intermediate, s.Hidden
	}
}

// perLayer is the number of weight buffers of a layer: two norms, then the targets.
const perLayer = 2 + int(NumTargets)

// WeightParams declares the weights as program parameters: embedding, final norm, then each layer's two norms and
// linear maps, each map [out, in].
func (s Spec) WeightParams() []engine.Param {
	params := []engine.Param{
		{Name: "embedding", Shape: engine.F32(s.VocabSize, s.Hidden)},
		{Name: "norm", Shape: engine.F32(s.Hidden)},
	}
	for l := range s.NumLayers {
		params = append(params,
			engine.Param{Name: fmt.Sprintf("layer%d.attention_norm", l), Shape: engine.F32(s.Hidden)},
			engine.Param{Name: fmt.Sprintf("layer%d.mlp_norm", l), Shape: engine.F32(s.Hidden)})
		for t := range NumTargets {
			in, out := s.Dims(t)
			params = append(params, engine.Param{Name: fmt.Sprintf("layer%d.%s", l, t.Name()), Shape: engine.F32(out, in)})
		}
	}
	return params
}

// Load copies a model's weights to the device, in the order of WeightParams.
func Load(e *engine.Engine, m *modelfile.Model) (Spec, []engine.Buffer, error) {
	s := Spec{m.Config}
	if !s.TiedHead {
		return s, nil, fmt.Errorf("%s has an output head of its own, which is not supported", m.Path)
	}
	names := []string{"model.embed_tokens.weight", "model.norm.weight"}
	for l := range s.NumLayers {
		names = append(names, fmt.Sprintf("model.layers.%d.input_layernorm.weight", l),
			fmt.Sprintf("model.layers.%d.post_attention_layernorm.weight", l))
		for t := range NumTargets {
			names = append(names, t.Path(l)+".weight")
		}
	}
	var buffers []engine.Buffer
	for i, p := range s.WeightParams() {
		flat, dims, err := m.Tensor(names[i])
		if err != nil {
			return s, nil, err
		}
		if fmt.Sprint(dims) != fmt.Sprint(p.Shape.Dimensions) {
			return s, nil, fmt.Errorf("%s: %s is %v, expected %v", m.Path, names[i], dims, p.Shape.Dimensions)
		}
		b, err := e.Upload(flat, dims...)
		if err != nil {
			return s, nil, err
		}
		buffers = append(buffers, b)
	}
	return s, buffers, nil
}

// WithLinearMaps returns weights, in WeightParams' order, with other linear maps in place of their own.
func (s Spec) WithLinearMaps(weights, maps []engine.Buffer) []engine.Buffer {
	out := append([]engine.Buffer{}, weights...)
	for layer := range s.NumLayers {
		copy(out[2+layer*perLayer+2:], maps[layer*int(NumTargets):(layer+1)*int(NumTargets)])
	}
	return out
}
