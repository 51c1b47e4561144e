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

	"hone/internal/engine"
	"hone/internal/fault"
	"hone/internal/learn/modelfile"
)

// Tensor is an array in the family's files.
type Tensor struct {
	Name string
	Dims []int
}

// Weight is an array on the device: a tensor, or several below each other.
type Weight struct {
	Tensors []Tensor
	Dims    []int
	Linear  bool // linear maps [out, in] of a layer
}

// Name is that of the tensor, or of the first.
func (w Weight) Name() string { return w.Tensors[0].Name }

// Weights lists what the device holds of the model: the map from the decoder's parts to the family's names.
func (s Spec) Weights() []Weight {
	one := func(name string, dims ...int) Weight { return Weight{Tensors: []Tensor{{name, dims}}, Dims: dims} }
	all := []Weight{one(s.embeddingName(), s.VocabSize, s.Hidden), one(s.normName(), s.Hidden)}
	if !s.TiedHead {
		all = append(all, one(s.headName(), s.VocabSize, s.Hidden))
	}
	for layer := range s.NumLayers {
		at := s.layer(layer)
		for _, norm := range s.norms() {
			all = append(all, one(at+norm+".weight", s.Hidden))
		}
		if s.QKNorm {
			all = append(all, one(at+queryNorm+".weight", s.HeadDim), one(at+keyNorm+".weight", s.HeadDim))
		}
		for _, targets := range s.maps() {
			all = append(all, s.linearWeights(layer, targets)...)
		}
	}
	return all
}

// linearWeights are the linear maps of targets as one weight, and their biases where they have them.
func (s Spec) linearWeights(layer int, targets []Target) []Weight {
	var maps, biases []Tensor
	out := 0
	for _, t := range targets {
		in, rows := s.Dims(t)
		maps = append(maps, Tensor{s.linearName(layer, t) + ".weight", []int{rows, in}})
		biases = append(biases, Tensor{s.linearName(layer, t) + ".bias", []int{rows}})
		out += rows
	}
	all := []Weight{{Tensors: maps, Dims: []int{out, maps[0].Dims[1]}, Linear: true}}
	if s.hasBias(targets[0]) {
		all = append(all, Weight{Tensors: biases, Dims: []int{out}})
	}
	return all
}

// Tensors lists the tensors of the family's files.
func (s Spec) Tensors() (all []Tensor) {
	for _, w := range s.Weights() {
		all = append(all, w.Tensors...)
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
	return engine.Param{Name: w.Name(), Shape: s.weightShape(w),
		Sharded: s.Shards > 1 && w.Linear && w.Dims[0]%s.Shards == 0}
}

// weightShape returns the shape of a weight: what is no matrix is small, and stays float32.
func (s Spec) weightShape(w Weight) shapes.Shape {
	if len(w.Dims) < 2 {
		return engine.F32(w.Dims...)
	}
	return s.Shape(w.Dims...)
}

// Load copies a model's weights to the device, in the order of Weights and the engine's type. Where the files hold
// another model than the configuration says, or numbers that are none, the error names the tensor.
//
// A longrope model is loaded for sequences up to the length of its pre-training, as MaxContext then says; ForContext
// of the file's configuration makes a spec for longer ones.
func Load(e *engine.Engine, m *modelfile.Model) (Spec, []engine.Buffer, error) {
	return Spec{Config: m.Config, BF16: e.IsBF16()}.load(e, m)
}

// LoadToSample is Load for samplers alone, which need no copy of weights that are joined as theirs are.
func LoadToSample(e *engine.Engine, m *modelfile.Model) (Spec, []engine.Buffer, error) {
	return Spec{Config: m.Config, BF16: e.IsBF16(), Joined: e.IsGPU()}.load(e, m)
}

// LoadShards is Load, but each of several devices gets a part of the linear maps, as Spec.Shards then says.
func LoadShards(e *engine.Engine, m *modelfile.Model) (Spec, []engine.Buffer, error) {
	return Spec{Config: m.Config, BF16: e.IsBF16(), Shards: e.NumDevices()}.load(e, m)
}

func (s Spec) load(e *engine.Engine, m *modelfile.Model) (Spec, []engine.Buffer, error) {
	s = s.ForContext(0)
	if err := s.checkNames(m); err != nil {
		return s, nil, err
	}
	weights := s.Weights()
	buffers, errs := make([]engine.Buffer, len(weights)), make([]error, len(weights))
	// each may hold a tensor in another type
	turn, done := make(chan struct{}, min(4, runtime.GOMAXPROCS(0))), sync.WaitGroup{}
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

// upload reads a weight's tensors, one after the other, to the device.
func (s Spec) upload(e *engine.Engine, m *modelfile.Model, w Weight) (engine.Buffer, error) {
	p := s.param(w)
	if asStored := p.Shape.DType == dtypes.BFloat16 && allBF16(m, w.Tensors); asStored {
		bits, err := read(m, w.Tensors, func(name string) ([]uint16, []int, error) {
			bits, dims, _ := m.BF16(name)
			return bits, dims, nil
		}, finiteBF16)
		if err != nil {
			return nil, err
		}
		return e.UploadBF16(p, bits)
	}
	flat, err := read(m, w.Tensors, m.Tensor, finite)
	if err != nil {
		return nil, err
	}
	return e.UploadParam(p, flat)
}

func allBF16(m *modelfile.Model, tensors []Tensor) bool {
	for _, t := range tensors {
		if _, _, ok := m.BF16(t.Name); !ok {
			return false
		}
	}
	return true
}

// read returns the numbers of tensors, which must have the dimensions said and be finite.
func read[T any](
	m *modelfile.Model, tensors []Tensor, numbers func(name string) ([]T, []int, error), finite func([]T) bool,
) ([]T, error) {
	var all []T
	for i, t := range tensors {
		flat, dims, err := numbers(t.Name)
		if err != nil {
			return nil, err
		}
		if !slices.Equal(dims, t.Dims) {
			return nil, mismatch(m, t.Name, fmt.Sprintf("it is %v, the configuration says %v", dims, t.Dims))
		}
		if !finite(flat) {
			return nil, mismatch(m, t.Name, "it holds numbers that are not finite")
		}
		if len(tensors) == 1 {
			return flat, nil
		}
		if i == 0 {
			all = make([]T, 0, len(flat)*len(tensors))
		}
		all = append(all, flat...)
	}
	return all, nil
}

func finite(flat []float32) bool {
	for _, x := range flat {
		if x-x != 0 {
			return false
		}
	}
	return true
}

// finiteBF16 reports whether no number is infinite or NaN, which have all bits of the exponent set. It takes four at
// once: a number with all of them overflows into its sign when one is added to its exponent.
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
	for _, t := range s.Tensors() {
		known[t.Name] = true
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

// IsMade reports whether joining makes the weight anew; others are the base's.
func (w Weight) IsMade() bool { return w.Linear || len(w.Tensors) > 1 }

// JointWeights returns those of weights, in the order of Weights, that joining makes.
func (s Spec) JointWeights(weights []*Node) []*Node {
	var made []*Node
	for i, w := range s.Weights() {
		if w.IsMade() {
			made = append(made, weights[i])
		}
	}
	return made
}

// JointWeightNames are the names of the weights that Made returns.
func (s Spec) JointWeightNames() (names []string) {
	for _, w := range s.Weights() {
		if w.IsMade() {
			names = append(names, w.Name())
		}
	}
	return names
}

// WithJointWeights returns the weights of s: those made, and for the others those of the base's spec.
func (s Spec) WithJointWeights(base Spec, weights, made []engine.Buffer) (out []engine.Buffer) {
	at := map[string]engine.Buffer{}
	for i, w := range base.Weights() {
		at[w.Name()] = weights[i]
	}
	for _, w := range s.Weights() {
		if w.IsMade() {
			out, made = append(out, made[0]), made[1:]
		} else {
			out = append(out, at[w.Name()])
		}
	}
	return out
}

// Join returns weights of s as those of a spec that differs in Joined alone.
func (s Spec) Join(weights []*Node) (out []*Node) {
	at := map[string]*Node{}
	for i, w := range s.Weights() {
		at[w.Name()] = weights[i]
	}
	s.Joined = true
	for _, w := range s.Weights() {
		var parts []*Node
		for _, t := range w.Tensors {
			if x := at[t.Name]; x != nil { // joined already but for the first
				parts = append(parts, x)
			}
		}
		out = append(out, concatenate(parts))
	}
	return out
}
