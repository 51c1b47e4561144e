// Package model defines the decoder as graphs: one definition for scoring, training, prefill and decoding.
//
// Axis letters in variable names: N rows of a batch, C tokens of a row, H hidden width, K key-value heads, G query
// heads that share one, D head width, P tokens of the shared prefix, T slots of a private cache, V vocabulary.
package model

import (
	"fmt"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"hone/internal/learn/modelfile"
)

// Spec is the shape of the decoder.
type Spec struct {
	modelfile.Config
	// BF16 makes linear maps, embeddings, activations and caches bfloat16. Norms, softmax and logits are computed in
	// float32, products are accumulated in it, and adapters stay in it.
	BF16 bool
	// Joined makes linear maps that read the same x one matrix, their rows below each other: x is read once and a
	// product is large, which counts where a product is as thin as in decoding. A trainer's adapter needs them apart; a
	// sampler's (Adapters) does not.
	Joined bool
	// Shards, above 1, is the number of devices that hold a part of each linear map (arXiv 2304.11277), where that
	// divides its rows. A layer's maps are gathered before they are used, in the backward pass once more.
	Shards int
}

// DType returns the type of linear maps, embeddings, activations and caches.
func (s Spec) DType() dtypes.DType {
	if s.BF16 {
		return dtypes.BFloat16
	}
	return dtypes.Float32
}

// Shape returns the shape of an array of that type.
func (s Spec) Shape(dims ...int) shapes.Shape { return shapes.Make(s.DType(), dims...) }

// Groups returns how many query heads share one key-value head.
func (s Spec) Groups() int { return s.NumHeads / s.NumKVHeads }

// ForContext returns the spec for sequences of up to so many tokens. It matters to longrope alone, whose factors change
// at the length of the pre-training, for all positions: a run must settle on one set, since its caches outlive a
// length. As vLLM does by its max_model_len, one that may have longer sequences takes the long factors for all
// (transformers takes them sequence by sequence); with the short ones, positions end with the pre-training's length.
func (s Spec) ForContext(tokens int) Spec {
	if s.Rope.Kind != "longrope" {
		return s
	}
	if s.Rope.Long = tokens > s.Rope.OriginalContext; !s.Rope.Long {
		s.MaxContext = min(s.MaxContext, s.Rope.OriginalContext)
	}
	return s
}

// Target is one adaptable linear map of a layer.
type Target int

// The linear maps of a layer, named as Hugging Face has them. A family has either the first seven, or O, QKV, GateUp
// and Down.
const (
	Q Target = iota
	K
	V
	O
	Gate
	Up
	Down
	QKV
	GateUp
	numTargets
)

var targetPaths = [numTargets]string{"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
	"mlp.gate_proj", "mlp.up_proj", "mlp.down_proj", "self_attn.qkv_proj", "mlp.gate_up_proj"}

// Targets lists the linear maps of a layer in the order of their weights.
func (s Spec) Targets() []Target {
	if s.FusedLinears {
		return []Target{QKV, O, GateUp, Down}
	}
	return []Target{Q, K, V, O, Gate, Up, Down}
}

// maps lists the linear maps of a layer as they are held: several targets are one matrix where Joined.
func (s Spec) maps() (maps [][]Target) {
	if s.Joined && !s.FusedLinears {
		return [][]Target{{Q, K, V}, {O}, {Gate, Up}, {Down}}
	}
	for _, t := range s.Targets() {
		maps = append(maps, []Target{t})
	}
	return maps
}

// Name returns the last part of the target's path, as adapter configurations list it.
func (t Target) Name() string { return targetPaths[t][strings.LastIndexByte(targetPaths[t], '.')+1:] }

// Path returns the target's module path in a layer of a model of text alone, "model.layers.3.self_attn.q_proj".
func (t Target) Path(layer int) string {
	return fmt.Sprintf("model.layers.%d.%s", layer, targetPaths[t])
}

// Path returns the target's module path in a layer of this model, as transformers builds it and PEFT names it. It is
// not always the path in the files: inside a model of text and images, transformers moves the text model on loading.
func (s Spec) Path(layer int, t Target) string {
	if s.Prefix != "" {
		return fmt.Sprintf("model.%slayers.%d.%s", s.Prefix, layer, targetPaths[t])
	}
	return t.Path(layer)
}

// linearName returns the target's name in the files, without ".weight" or ".bias".
func (s Spec) linearName(layer int, t Target) string { return s.layer(layer) + targetPaths[t] }

func (s Spec) layer(i int) string { return fmt.Sprintf("%smodel.layers.%d.", s.Prefix, i) }

// Dims returns the width in and out of the target.
func (s Spec) Dims(t Target) (in, out int) {
	q, kv := s.NumHeads*s.HeadDim, s.NumKVHeads*s.HeadDim
	switch t {
	case Q:
		return s.Hidden, q
	case K, V:
		return s.Hidden, kv
	case QKV:
		return s.Hidden, q + 2*kv
	case O:
		return q, s.Hidden
	case Gate, Up:
		return s.Hidden, s.Intermediate
	case GateUp:
		return s.Hidden, 2 * s.Intermediate
	default:
		return s.Intermediate, s.Hidden
	}
}

func (s Spec) hasBias(t Target) bool {
	switch t {
	case Q, K, V, QKV:
		return s.QKVBias
	case O:
		return s.OBias
	default:
		return s.MLPBias
	}
}
