package modelfile

import (
	"fmt"
	"math"
	"slices"
)

// Config is the shape of a decoder-only transformer. The zero value of what follows NormEps is Llama's.
type Config struct {
	Architecture string // transformers' model_type: "llama", "qwen3", ...
	Name         string // for people
	NumLayers    int
	Hidden       int
	Intermediate int // width of the MLP
	NumHeads     int
	NumKVHeads   int
	HeadDim      int
	VocabSize    int
	MaxContext   int
	NormEps      float64
	Rope         Rope
	TiedHead     bool // the embedding is also the output head

	QKVBias, OBias, MLPBias bool
	QKNorm                  bool    // queries and keys are normalised head by head
	NormOffset              bool    // norms multiply by 1 + weight
	PostNorms               bool    // attention's and the MLP's outputs are normalised too
	FusedLinears            bool    // q, k and v are one linear map, gate and up another
	GELU                    bool    // the gate's activation is GELU by tanh (arXiv 1606.08415), not SiLU
	EmbeddingScale          float64 // factor of embeddings; 0: 1
	QueryScale              float64 // factor of attention scores; 0: 1/sqrt(HeadDim)
	ScoreCap                float64 // c: scores become c tanh(score/c) (arXiv 2408.00118); 0: none
	LogitCap                float64 // the same of logits
	LocalRope               Rope    // of layers that say so
	Layers                  []Layer // nil: all alike, the zero Layer
	Prefix                  string  // of tensor names, before "model."
}

// Layer is what differs between layers.
type Layer struct {
	Window    int // tokens a query sees, itself included; 0: all before it
	NoRope    bool
	LocalRope bool
}

// Layer returns what is particular to layer i.
func (c Config) Layer(i int) Layer {
	if c.Layers == nil {
		return Layer{}
	}
	return c.Layers[i]
}

// maxLayers bounds what a damaged file can make the reader allocate.
const maxLayers = 1 << 12

// validate refuses sizes that no decoder can have.
func (c Config) validate() error {
	if min(c.NumLayers, c.Hidden, c.Intermediate, c.NumHeads, c.NumKVHeads, c.VocabSize, c.MaxContext) < 1 {
		return fmt.Errorf("a size of the model is missing or not positive: %+v", c)
	}
	if c.NumLayers > maxLayers {
		return fmt.Errorf("it says it has %d layers", c.NumLayers)
	}
	if c.NumHeads%c.NumKVHeads != 0 {
		return fmt.Errorf("%d key-value heads do not divide %d heads", c.NumKVHeads, c.NumHeads)
	}
	if c.HeadDim < 2 || c.HeadDim%2 != 0 {
		return fmt.Errorf("a head width of %d has no halves for rotary positions", c.HeadDim)
	}
	if c.NormEps <= 0 || math.IsInf(c.NormEps, 0) {
		return fmt.Errorf("the epsilon of its norms is %v", c.NormEps)
	}
	if c.Layers != nil && len(c.Layers) != c.NumLayers {
		return fmt.Errorf("%d layers are described, the model has %d", len(c.Layers), c.NumLayers)
	}
	for _, l := range c.Layers {
		if l.Window < 0 {
			return fmt.Errorf("a sliding window of %d tokens", l.Window)
		}
	}
	if slices.ContainsFunc(c.Layers, func(l Layer) bool { return l.LocalRope }) {
		if err := c.LocalRope.validate(c.HeadDim); err != nil {
			return err
		}
	}
	return c.Rope.validate(c.HeadDim)
}
