package model

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/gomlx/compute/dtypes/bfloat16"
	"github.com/gomlx/compute/dtypes/float16"
	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
	"hone/internal/learn/modelfile"
)

// maxShard is the size of a merged model's shards in bytes, transformers' own.
const maxShard = 5e9

// Merged is a model with an adapter, to be written as one.
type Merged struct {
	Model   *modelfile.Model
	LoRA    LoRA
	Adapter []float32 // LoRA.Pieces' layout
	DType   string    // of the weights, "F32" or "BF16"; empty: as they are stored, which out of a GGUF file is F32
	// Kept adds up what Save keeps of the adapter; nil where nobody asks.
	Kept *Kept
}

// Kept is how much of what an adapter changes is left once its sums with weights are rounded to the type that they are
// stored in.
type Kept struct {
	DTypes         []string // of the adapted weights
	product, whole float64
}

// Share is the slope of the changes that are left against those that the adapter makes, by least squares over all
// adapted weights: 1 where nothing is lost.
func (k *Kept) Share() float64 {
	if k.whole == 0 {
		return 1
	}
	return k.product / k.whole
}

// add counts a weight, the sum with its adapter's term, and the type that this is stored in.
func (k *Kept) add(before, after []float32, dtype string) {
	if !slices.Contains(k.DTypes, dtype) {
		k.DTypes = append(k.DTypes, dtype)
	}
	for i, w := range before {
		stored := after[i]
		switch dtype {
		case "BF16":
			stored = bfloat16.FromFloat32(stored).Float32()
		case "F16":
			stored = float16.FromFloat32(stored).Float32()
		}
		x := float64(after[i]) - float64(w)
		k.product, k.whole = k.product+x*(float64(stored)-float64(w)), k.whole+x*x
	}
}

// Save writes the merged model into a folder that transformers reads: weights, configuration, and the tokenizer where
// there is one that can be written, which it reports. The sum of a weight and its adapter's term is taken in float32
// and rounded once. One weight is in memory at a time.
func (m Merged) Save(ctx context.Context, dir string, e *engine.Engine) (tokenizer bool, err error) {
	tensors, err := m.tensors(ctx, e)
	if err != nil {
		return false, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return false, err
	}
	if err := modelfile.WriteShards(dir, tensors, maxShard); err != nil {
		return false, err
	}
	return m.Model.CopyRest(dir, m.DType)
}

// Size returns the bytes of the weights that Save writes, and checks what can be checked before it does.
func (m Merged) Size() (int64, error) {
	tensors, err := m.tensors(context.Background(), nil)
	return modelfile.Size(tensors), err
}

// tensors lists what is to be written; they are computed when they are read.
func (m Merged) tensors(ctx context.Context, e *engine.Engine) ([]modelfile.NewTensor, error) {
	s := Spec{Config: m.Model.Config}
	if err := m.LoRA.Check(s); err != nil {
		return nil, err
	}
	pieces, size := m.LoRA.Pieces(s)
	if len(m.Adapter) != size {
		return nil, fmt.Errorf("an adapter of %d numbers is not one of %d", len(m.Adapter), size)
	}
	if err := s.checkNames(m.Model); err != nil {
		return nil, err
	}
	merger := &merger{engine: e, model: m.Model, flat: m.Adapter, programs: map[[3]int]*engine.Program{}, kept: m.Kept,
		stored: map[string]string{}}
	adapted, rows := map[string][]Piece{}, map[string]TokenRows{}
	for _, r := range m.LoRA.Rows(s) {
		if rows[r.Weight] = r; s.TiedHead {
			rows[s.headName()] = r // where the file has both
		}
	}
	for i := 0; i < len(pieces); i += 2 {
		adapted[s.linearName(pieces[i].Layer, pieces[i].Target)+".weight"] = pieces[i : i+2]
	}
	shapes := map[string][]int{}
	for _, t := range s.Tensors() {
		shapes[t.Name] = t.Dims
	}
	var tensors []modelfile.NewTensor
	for _, name := range m.Model.Names() {
		dims := shapes[name]
		if dims == nil { // not the decoder's: it goes through as it is
			_, own, err := m.Model.Tensor(name)
			if err != nil {
				return nil, err
			}
			dims = own
		}
		read := func() ([]float32, error) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			w, err := merger.weight(name, dims, adapted[name])
			if r, ok := rows[name]; ok && err == nil {
				w = merger.rows(name, w, dims[1], r)
			}
			return w, err
		}
		dtype := cmp.Or(m.DType, m.Model.DType(name))
		merger.stored[name] = dtype
		tensors = append(tensors, modelfile.NewTensor{Name: name, DType: dtype, Dims: dims, Read: read})
	}
	return tensors, nil
}

// merger computes W + scale B A on a device, with one program for each shape.
type merger struct {
	engine   *engine.Engine
	model    *modelfile.Model
	flat     []float32
	programs map[[3]int]*engine.Program
	kept     *Kept
	stored   map[string]string // types of weights
}

// weight reads a weight and adds what the adapter's A and B, if there are any, say.
func (m *merger) weight(name string, dims []int, pieces []Piece) ([]float32, error) {
	w, own, err := m.model.Tensor(name)
	if err != nil {
		return nil, err
	}
	if fmt.Sprint(own) != fmt.Sprint(dims) {
		return nil, mismatch(m.model, name, fmt.Sprintf("it is %v, the configuration says %v", own, dims))
	}
	if pieces == nil {
		return w, nil
	}
	a, b := pieces[0], pieces[1]
	p, err := m.program(dims[0], dims[1], a.Rows)
	if err != nil {
		return nil, err
	}
	var in []engine.Buffer
	defer func() { engine.Free(in...) }()
	for _, x := range []struct {
		flat []float32
		dims []int
	}{
		{w, dims}, {m.flat[a.Offset:b.Offset], []int{a.Rows, a.Cols}}, {m.flat[b.Offset : b.Offset+b.Rows*b.Cols],
			[]int{b.Rows, b.Cols}},
		{[]float32{float32(a.Scale)}, nil},
	} {
		buffer, err := m.engine.Upload(x.flat, x.dims...)
		if err != nil {
			return nil, err
		}
		in = append(in, buffer)
	}
	out, err := p.Run(in...)
	if err != nil {
		return nil, err
	}
	defer engine.Free(out...)
	sum, err := engine.Floats(out[0])
	if err == nil && m.kept != nil {
		m.kept.add(w, sum, m.stored[name])
	}
	return sum, err
}

// rows are a weight [V, width] with the adapter's rows of tokens in the place of its own.
func (m *merger) rows(name string, w []float32, width int, r TokenRows) []float32 {
	w = slices.Clone(w) // it may be the file itself
	for i, id := range r.IDs {
		row, own := w[int(id)*width:][:width], m.flat[r.Offset+i*width:][:width]
		if m.kept != nil {
			m.kept.add(row, own, m.stored[name])
		}
		copy(row, own)
	}
	return w
}

func (m *merger) program(out, in, rank int) (*engine.Program, error) {
	key := [3]int{out, in, rank}
	if p := m.programs[key]; p != nil {
		return p, nil
	}
	params := []engine.Param{{Name: "w", Shape: engine.F32(out, in)}, {Name: "a", Shape: engine.F32(rank, in)},
		{Name: "b", Shape: engine.F32(out, rank)}, {Name: "scale", Shape: engine.F32()}}
	p, err := m.engine.Compile("merge_weight", params, func(in []*Node) []*Node {
		return []*Node{Add(in[0], Mul(product(in[2], in[1]), in[3]))}
	}, "merged")
	if err == nil {
		m.programs[key] = p
	}
	return p, err
}
