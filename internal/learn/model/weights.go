package model

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/fault"
	"hone/internal/learn/engine"
	"hone/internal/modelfile"
)

// Weight is one tensor of the model, by its name in the family's files.
type Weight struct {
	Name   string
	Dims   []int
	Linear bool // a linear map [out, in] of a layer
}

// Weights lists the model's tensors: the map from the decoder's parts to the family's names.
func (s Spec) Weights() []Weight {
	all := []Weight{{Name: s.embeddingName(), Dims: []int{s.VocabSize, s.Hidden}}, {Name: s.normName(), Dims: []int{s.Hidden}}}
	if !s.TiedHead {
		all = append(all, Weight{Name: s.headName(), Dims: []int{s.VocabSize, s.Hidden}})
	}
	for layer := range s.NumLayers {
		at := s.layer(layer)
		for _, norm := range s.norms() {
			all = append(all, Weight{Name: at + norm + ".weight", Dims: []int{s.Hidden}})
		}
		if s.QKNorm {
			all = append(all, Weight{Name: at + queryNorm + ".weight", Dims: []int{s.HeadDim}},
				Weight{Name: at + keyNorm + ".weight", Dims: []int{s.HeadDim}})
		}
		for _, t := range s.Targets() {
			in, out := s.Dims(t)
			all = append(all, Weight{Name: s.linearName(layer, t) + ".weight", Dims: []int{out, in}, Linear: true})
			if s.hasBias(t) {
				all = append(all, Weight{Name: s.linearName(layer, t) + ".bias", Dims: []int{out}})
			}
		}
	}
	return all
}

// Parts of a layer.
const (
	attentionNorm = "input_layernorm"
	queryNorm     = "self_attn.q_norm"
	keyNorm       = "self_attn.k_norm"
)

func (s Spec) norms() []string {
	if s.PostNorms {
		return []string{attentionNorm, s.attentionPostNorm(), s.mlpNorm(), s.mlpPostNorm()}
	}
	return []string{attentionNorm, s.mlpNorm()}
}

// mlpNorm stands before the MLP. Its name in most families is that of another norm, after attention, where PostNorms.
func (s Spec) mlpNorm() string {
	if s.PostNorms {
		return "pre_feedforward_layernorm"
	}
	return "post_attention_layernorm"
}

func (s Spec) attentionPostNorm() string { return "post_attention_layernorm" }
func (s Spec) mlpPostNorm() string       { return "post_feedforward_layernorm" }
func (s Spec) embeddingName() string     { return s.Prefix + "model.embed_tokens.weight" }
func (s Spec) normName() string          { return s.Prefix + "model.norm.weight" }
func (s Spec) headName() string          { return s.Prefix + "lm_head.weight" }

// WeightParams declares Weights as program parameters.
func (s Spec) WeightParams() []engine.Param {
	var params []engine.Param
	for _, w := range s.Weights() {
		params = append(params, s.param(w))
	}
	return params
}

// PartParams declares what one device has of Weights, as it lies there.
func (s Spec) PartParams() []engine.Param {
	params := s.WeightParams()
	for i, p := range params {
		if p.Sharded {
			shape := p.Shape.Clone()
			shape.Dimensions[0] /= s.Shards
			params[i].Shape, params[i].Sharded = shape, false
		}
	}
	return params
}

func (s Spec) param(w Weight) engine.Param {
	return engine.Param{Name: w.Name, Shape: s.weightShape(w), Sharded: s.Shards > 1 && w.Linear && w.Dims[0]%s.Shards == 0}
}

// weightShape returns the shape of a weight: what is no matrix is small, and stays float32.
func (s Spec) weightShape(w Weight) shapes.Shape {
	if len(w.Dims) < 2 {
		return engine.F32(w.Dims...)
	}
	return s.Shape(w.Dims...)
}

// Load copies a model's weights to the device, in the order of Weights and the engine's type. Where the files hold another model than the
// configuration says, or numbers that are none, the error names the tensor.
//
// A longrope model is loaded for sequences up to the length of its pre-training, as MaxContext then says; ForContext
// makes a spec for longer ones.
func Load(e *engine.Engine, m *modelfile.Model) (Spec, []engine.Buffer, error) {
	return load(e, m, Spec{Config: m.Config, BF16: e.IsBF16()})
}

// LoadSharded is Load, but each of several devices gets a part of the linear maps, as Spec.Shards then says.
func LoadSharded(e *engine.Engine, m *modelfile.Model) (Spec, []engine.Buffer, error) {
	return load(e, m, Spec{Config: m.Config, BF16: e.IsBF16(), Shards: e.NumDevices()})
}

func load(e *engine.Engine, m *modelfile.Model, s Spec) (Spec, []engine.Buffer, error) {
	if s.Rope.Kind == "longrope" {
		s.MaxContext = min(s.MaxContext, s.Rope.OriginalContext)
	}
	if err := s.checkNames(m); err != nil {
		return s, nil, err
	}
	weights := s.Weights()
	buffers, errs := make([]engine.Buffer, len(weights)), make([]error, len(weights))
	turn, done := make(chan struct{}, min(4, runtime.GOMAXPROCS(0))), sync.WaitGroup{} // each may hold a tensor in another type
	for i, w := range weights {
		turn <- struct{}{}
		done.Go(func() {
			buffers[i], errs[i] = s.upload(e, m, w)
			<-turn
		})
	}
	done.Wait()
	for i, err := range errs {
		if err != nil {
			for _, b := range append(buffers[:i:i], buffers[i+1:]...) {
				if b != nil {
					engine.Free(b)
				}
			}
			return s, nil, err
		}
	}
	return s, buffers, nil
}

func (s Spec) upload(e *engine.Engine, m *modelfile.Model, w Weight) (engine.Buffer, error) {
	p := s.param(w)
	bits, dims, asStored := m.BF16(w.Name)
	var flat []float32
	if asStored = asStored && p.Shape.DType == dtypes.BFloat16; !asStored {
		var err error
		if flat, dims, err = m.Tensor(w.Name); err != nil {
			return nil, err
		}
	}
	if !slices.Equal(dims, w.Dims) {
		return nil, mismatch(m, w.Name, fmt.Sprintf("it is %v, the configuration says %v", dims, w.Dims))
	}
	if asStored && !finiteBF16(bits) || !finite(flat) {
		return nil, mismatch(m, w.Name, "it holds numbers that are not finite")
	}
	if asStored {
		return e.UploadBF16(p, bits)
	}
	return e.UploadParam(p, flat)
}

func finite(flat []float32) bool {
	for _, x := range flat {
		if x-x != 0 {
			return false
		}
	}
	return true
}

// finiteBF16 reports whether no number is infinite or NaN, which have all bits of the exponent set. It takes four at once:
// a number with all of them overflows into its sign when one is added to its exponent.
func finiteBF16(bits []uint16) bool {
	const exponents, one, signs = 0x7F80_7F80_7F80_7F80, 0x0080_0080_0080_0080, 0x8000_8000_8000_8000
	overflow := uint64(0)
	for ; len(bits) >= 4; bits = bits[4:] {
		four := uint64(bits[0]) | uint64(bits[1])<<16 | uint64(bits[2])<<32 | uint64(bits[3])<<48
		overflow |= four&exponents + one
	}
	for _, x := range bits {
		overflow |= uint64(x)&0x7F80 + 0x80
	}
	return overflow&signs == 0
}

// checkNames refuses files with tensors the configuration knows nothing of, a bias for example. It lets pass what
// transformers ignores: positions kept by old files, the tied head's copy, the part of a model that sees images.
func (s Spec) checkNames(m *modelfile.Model) error {
	known := map[string]bool{}
	for _, w := range s.Weights() {
		known[w.Name] = true
	}
	for _, name := range m.Names() {
		ignored := strings.HasSuffix(name, ".rotary_emb.inv_freq") || name == s.headName() ||
			s.Prefix != "" && !strings.HasPrefix(name, s.Prefix)
		if !known[name] && !ignored {
			return mismatch(m, name, "the configuration knows no such tensor")
		}
	}
	return nil
}

func mismatch(m *modelfile.Model, name, why string) error {
	return &fault.Error{Code: fault.CodeUsage, What: "the base model's weights are not what its configuration says",
		Where: m.Path + ": " + name, Why: why, Next: "fetch the model again, or name another with --base-model"}
}

// LinearMaps returns the linear maps among weights in the order of Weights.
func (s Spec) LinearMaps(weights []*Node) []*Node {
	var maps []*Node
	for i, w := range s.Weights() {
		if w.Linear {
			maps = append(maps, weights[i])
		}
	}
	return maps
}

// WithLinearMaps returns weights, in the order of Weights, with other linear maps in place of their own.
func (s Spec) WithLinearMaps(weights, maps []engine.Buffer) []engine.Buffer {
	out := slices.Clone(weights)
	for i, w := range s.Weights() {
		if w.Linear {
			out[i], maps = maps[0], maps[1:]
		}
	}
	return out
}
