package model

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
)

// applied are adapters that a decoder applies beside its weights.
type applied struct {
	readers  map[site]*reader // by the first target of each
	arrays   map[*reader][]*Node
	adapterM *Node // [M] int32: which adapter each token has, another number for none; nil where all have the only one
}

// NewSampling returns a decoder over weights and adapters as Adapters.Params declares them. adapterM [M] int32 says
// which adapter each of the tokens has, in the order that Forward and Decode compute them in, and another number for
// none; it is nil where there is one adapter.
func NewSampling(a Adapters, in []*Node, adapterM *Node) *Decoder {
	d := NewDecoder(a.Spec, in[:len(a.Spec.Weights())])
	d.applied = applied{map[site]*reader{}, map[*reader][]*Node{}, adapterM}
	places := a.Arrays()
	for i, h := range a.holders() {
		if h.rows != nil {
			d.setRows(*h.rows, in[places[i]], a.Count)
			continue
		}
		d.applied.readers[site{h.reader.layer, h.reader.maps[0][0]}] = h.reader
		d.applied.arrays[h.reader] = append(d.applied.arrays[h.reader], in[places[i]])
	}
	return d
}

// adapterTerms applies the linear maps of a reader, as they are held, with their adapters, to x [M, in]. What adapters
// add is added before the sum is rounded.
func (d *Decoder) adapterTerms(r *reader, x *Node) (out []*Node) {
	arrays := d.applied.arrays[r]
	if d.spec.Joined {
		if t := d.thin(r); t.HasKernel(x.Graph(), x.Shape().Dimensions[0]) {
			return []*Node{t.Add(d.wide(r.layer, x, r.maps[0][0]), arrays[1])}
		}
		y, n := d.wide(r.layer, x, r.maps[0][0]), r.ups[0].out
		down := d.own(r, ConvertDType(columns(y, n, n+r.width), x.DType()))
		return []*Node{d.sumAndRound(r.layer, r.maps[0][0], columns(y, 0, n),
			upProjection(r.ups[0], down, arrays[1]), x.DType())}
	}
	down := d.own(r, timesTranspose(x, arrays[0]))
	arrays = arrays[1:]
	for i, m := range r.maps {
		u := r.ups[i]
		if len(u.blocks) == 0 {
			out = append(out, d.product(r.layer, x, m[0]))
			continue
		}
		out = append(out,
			d.sumAndRound(r.layer, m[0], d.wide(r.layer, x, m[0]), upProjection(u, down, arrays[0]), x.DType()))
		arrays = arrays[1:]
	}
	return out
}

// upProjection is B d of a map as it is held [M, out], in float32, of d [M, width of the reader].
func upProjection(u up, d, b *Node) *Node {
	var parts []*Node
	for i, of := range u.bands {
		from, to := of.row, u.out
		if i == 0 {
			from = 0 // the rows above it are zero
		}
		if i+1 < len(u.bands) {
			to = u.bands[i+1].row
		}
		parts = append(parts, contract(columns(d, of.from, of.from+u.width), Slice(b, AxisRange(from, to)), []int{1},
			nil, []int{1}, nil, dtypes.Float32))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return Concatenate(parts, 1)
}

// sumAndRound is the sum of what a map and its adapter give, and its bias, in float32.
func (d *Decoder) sumAndRound(layer int, first Target, y, term *Node, dtype dtypes.DType) *Node {
	y = Add(y, term)
	if b := d.bias(layer, first); b != nil {
		y = Add(y, ExpandLeftToRank(b, 2))
	}
	return ConvertDType(y, dtype)
}

// own leaves of down [M, width] what is each token's adapter's.
func (d *Decoder) own(r *reader, down *Node) *Node {
	if d.applied.adapterM == nil {
		return down
	}
	m := down.Shape().Dimensions[0]
	of := make([]int32, r.width) // the adapter of each column; of those that are zero it does not matter
	for i, b := range r.downs {
		end := r.width
		if i+1 < len(r.downs) {
			end = r.downs[i+1].row
		}
		for j := b.row; j < end; j++ {
			of[j] = int32(b.adapter)
		}
	}
	columns := BroadcastToDims(Reshape(Const(down.Graph(), of), 1, r.width), m, r.width)
	tokens := BroadcastToDims(Reshape(d.applied.adapterM, m, 1), m, r.width)
	return Where(Equal(columns, tokens), down, ZerosLike(down))
}

// wide is W x [M, out], and what stands below W, in float32.
func (d *Decoder) wide(layer int, x *Node, first Target) *Node {
	w := d.late.weight(d.weights[d.spec.linearName(layer, first)+".weight"])
	return contract(x, w, []int{1}, nil, []int{1}, nil, dtypes.Float32)
}

// inParts is wide of several parts of x's columns, [parts, M, out], which are to be added up.
func (d *Decoder) inParts(layer int, x *Node, first Target, parts int) *Node {
	if parts == 1 {
		return d.wide(layer, x, first)
	}
	cut := func(x *Node) *Node {
		dims := x.Shape().Dimensions
		return Reshape(x, dims[0], parts, dims[1]/parts)
	}
	w := d.late.weight(d.weights[d.spec.linearName(layer, first)+".weight"])
	return contract(cut(x), cut(w), []int{2}, []int{1}, []int{2}, []int{1}, dtypes.Float32)
}

// partsOf is in how many parts a GPU is to compute a product of so many rows and columns in and out whose sum a kernel
// takes: in one, few rows and columns out keep few of its cores busy, or they are cut by the library, whose sum is
// another kernel (docs/PERFORMANCE.md).
func partsOf(rows, in, out int) int {
	if rows <= 128 && out <= 4096 && in >= 1024 && in%128 == 0 {
		return 2
	}
	return 1
}

// bias is that of the map that a target is, or is the first of; nil where there is none.
func (d *Decoder) bias(layer int, first Target) *Node {
	if !d.spec.hasBias(first) {
		return nil
	}
	return d.weights[d.spec.linearName(layer, first)+".bias"]
}

// thin is what the device's kernel is told that adds adapters to a joined product. There is none where tokens have
// adapters of their own.
func (d *Decoder) thin(r *reader) engine.Thin {
	if d.applied.adapterM != nil || !d.spec.BF16 {
		return engine.Thin{}
	}
	t := engine.Thin{Parts: 1, Out: r.ups[0].out, Width: r.ups[0].width, Bias: d.bias(r.layer, r.maps[0][0])}
	for _, b := range r.ups[0].bands {
		t.Bands = append(t.Bands, b.row)
	}
	t.Bands[0] = 0 // the rows above it are zero
	return t
}

// gatedMLP is SiLU(gate) up of an MLP whose input is h [M, H], where the device has one kernel for it and the adapters;
// else nil.
func (d *Decoder) gatedMLP(layer int, h *Node) *Node {
	first := Gate
	if d.spec.FusedLinears {
		first = GateUp
	}
	r := d.applied.readers[site{layer, first}]
	if r == nil || !d.spec.Joined || d.spec.GELU {
		return nil
	}
	t := d.thin(r)
	if t.Gated = true; !t.HasKernel(h.Graph(), h.Shape().Dimensions[0]) {
		return nil
	}
	return t.Add(d.wide(layer, h, first), d.applied.arrays[r][1])
}

// plus is x and what a map gives of its input, added; and, where the device has one kernel for all of it, the sum
// normed by the weight of that name, else nil. post is the name of the norm that stands between, in families that have
// one.
func (d *Decoder) plus(layer int, t Target, input, x *Node, post, norm string) (sum, normed *Node) {
	r := d.readerOf(layer, []Target{t})
	weight := d.weights[norm]
	if r == nil || weight == nil || !d.spec.Joined || d.spec.PostNorms {
		return Add(x, d.postNorm(layer, post, d.linear(layer, t, input))), nil
	}
	dims := input.Shape().Dimensions
	n := engine.ThinNorm{Thin: d.thin(r), Weight: offset(weight, d.spec), Eps: d.spec.NormEps}
	n.Parts = partsOf(dims[0], dims[1], n.Out)
	if !n.HasKernel(x.Graph(), dims[0]) {
		return Add(x, d.linear(layer, t, input)), nil
	}
	return n.Add(d.inParts(layer, input, t, n.Parts), d.applied.arrays[r][1], x)
}

// readerOf is the reader of maps that begin with a target, nil where they have no adapter.
func (d *Decoder) readerOf(layer int, targets []Target) *reader {
	r := d.applied.readers[site{layer, targets[0]}]
	if r != nil && !slices.Equal(slices.Concat(r.maps...), targets) {
		panic("linear maps that are not read together")
	}
	return r
}
