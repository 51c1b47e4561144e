package main

import (
	"fmt"

	"hone/internal/learn/batch"
	"hone/internal/learn/model"
	"hone/internal/learn/modelfile"
)

// specOf is a shape of Qwen3 (arXiv 2505.09388, table 1, and the files' config.json), or a toy's with its heads' ratio.
func specOf(name string, toy bool) (model.Spec, error) {
	c := modelfile.Config{Architecture: "qwen3", Name: "random", NumKVHeads: 8, HeadDim: 128, VocabSize: 151936,
		MaxContext: 1 << 17, Rope: modelfile.Rope{Theta: 1e6}, NormEps: 1e-6, QKNorm: true, TiedHead: name != "8B"}
	switch name {
	case "0.6B":
		c.NumLayers, c.Hidden, c.Intermediate, c.NumHeads = 28, 1024, 3072, 16
	case "1.7B":
		c.NumLayers, c.Hidden, c.Intermediate, c.NumHeads = 28, 2048, 6144, 16
	case "4B":
		c.NumLayers, c.Hidden, c.Intermediate, c.NumHeads = 36, 2560, 9728, 32
	case "8B":
		c.NumLayers, c.Hidden, c.Intermediate, c.NumHeads = 36, 4096, 12288, 32
	default:
		return model.Spec{}, fmt.Errorf("there is no shape %q", name)
	}
	if toy {
		c.NumHeads, c.NumKVHeads = c.NumHeads/8, 2
		c.NumLayers, c.Hidden, c.Intermediate, c.HeadDim, c.VocabSize = 2, 64, 96, 16, 512
	}
	return model.Spec{Config: c}, nil
}

// numLinear is how many parameters the linear maps of all layers have, and the head.
func numLinear(s model.Spec) (layers, head float64) {
	for _, t := range s.Targets() {
		in, out := s.Dims(t)
		layers += float64(in * out)
	}
	return layers * float64(s.NumLayers), float64(s.Hidden * s.VocabSize)
}

// pairs is how many pairs of a query and a key that it sees n tokens have which see all of a prefix, and themselves
// causally.
func pairs(prefix, n int) float64 { return float64(prefix)*float64(n) + float64(n)*float64(n+1)/2 }

// forwardFlop counts the floating-point operations of a forward pass: two for each parameter of the layers' linear maps
// and each token, two for each parameter of the head and each token whose logits are needed, and, for attention's two
// products, four for each pair, head and number of its width. What adapters, norms and softmax take is left out.
func forwardFlop(s model.Spec, tokens, logits, pairs float64) (linear, attention float64) {
	layers, head := numLinear(s)
	return 2 * (layers*tokens + head*logits), 4 * pairs * float64(s.NumHeads*s.HeadDim*s.NumLayers)
}

// stepFlop counts those of a training step that computes nothing twice: the backward pass of a linear map under an
// adapter is one product (its weights have no gradient), that of attention five where the forward pass has two. A
// prefix is computed once.
func stepFlop(s model.Spec, x batch.Batch) float64 {
	p := len(x.Prefix)
	tokens, seen := float64(p), pairs(0, p)
	for _, r := range x.Rows {
		tokens, seen = tokens+float64(len(r.IDs)), seen+pairs(p, len(r.IDs))
	}
	linear, attention := forwardFlop(s, tokens, float64(x.NumTrained()), seen)
	return 2*linear + 3.5*attention
}

// stepBytes is what a step of decoding must read: all weights but the embeddings of other tokens, so many columns of
// each slot's caches, and the prefix once.
func stepBytes(s model.Spec, slots, context, prefix int) float64 {
	layers, head := numLinear(s)
	column := float64(2 * s.NumLayers * s.NumKVHeads * s.HeadDim)
	return float64(s.DType().Size()) * (layers + head + column*float64(slots*context+prefix))
}
