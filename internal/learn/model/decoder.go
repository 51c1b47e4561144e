package model

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/learn/modelfile"
)

// Decoder is the transformer over given weights, with or without an adapter.
type Decoder struct {
	spec    Spec
	weights map[string]*Node
	pieces  []Piece
	adapter []*Node            // pieces' order, then rows of tokens; nil without one
	at      map[site]int       // of a linear map's A among pieces; B follows
	applied applied            // a sampler's adapters; zero without
	rows    map[string]ownRows // of tokens, that adapters have of a weight; nil without
	dropout dropout
	late    late
	chunk   int // tokens that the MLP takes at one time where layers are computed again; 0 where they are not
}

// site is one linear map of the model.
type site struct {
	layer  int
	target Target
}

// NewDecoder returns a decoder over weights without an adapter, in the order of Spec.Weights.
func NewDecoder(s Spec, weights []*Node) *Decoder {
	d := &Decoder{spec: s, weights: map[string]*Node{}}
	for i, w := range s.Weights() {
		d.weights[w.Name()] = weights[i]
	}
	return d
}

// NewAdapterDecoder returns a decoder whose linear maps carry the adapter given as a flat vector; Adapter returns the
// nodes its gradient is taken for.
func NewAdapterDecoder(s Spec, weights []*Node, l LoRA, flat *Node) *Decoder {
	if s.Joined {
		panic("an adapter beside weights that are joined")
	}
	d := NewDecoder(s, weights)
	d.pieces, _ = l.Pieces(s)
	d.adapter, d.at = adapterNodes(d.pieces, flat), sites(d.pieces)
	rows := l.Rows(s)
	for i, x := range rowNodes(s, rows, flat) {
		d.adapter = append(d.adapter, x)
		d.setRows(rows[i], x, 1)
	}
	return d
}

// Adapter returns the adapter's matrices in LoRA.Pieces' order, and behind them those of LoRA.Rows.
func (d *Decoder) Adapter() []*Node { return d.adapter }

// RecomputeLayers makes the backward pass compute each layer again (gradient checkpointing, arXiv 1604.06174): of a
// layer are kept its input [N*C, H] and, of fused attention, the output and one number for each query and head, since
// that is dear to compute twice where rows are long. Wide activations of an MLP exist for chunk tokens at a time.
func (d *Decoder) RecomputeLayers(chunk int) { d.chunk = chunk }

func (d *Decoder) recomputesLayers() bool { return d.chunk > 0 }

// Forward runs new tokens through all layers and returns their hidden states hNCH (before the final norm).
//
// ids and positions are [N, C] int32. For each layer, segments gets the layer's index and the new tokens' own keys and
// values [K, N, C, D] and returns what the queries attend to; this is where caches are read and written. With an
// adapter, the backward pass computes the scores of attention again, which are more memory than all else that it would
// keep.
func (d *Decoder) Forward(idsNC, positionsNC *Node, segments func(layer int, k, v *Node) []KeyValues) *Node {
	return d.layers(idsNC, positionsNC, func(layer int, h *Node, r rotation) *Node {
		return d.attendSegments(layer, h, positionsNC, r, segments)
	})
}

// layers is Forward with a layer's attention, from the normed hNCH flat [N*C, H] to [N*C, heads*D], given.
func (d *Decoder) layers(idsNC, positionsNC *Node, attention func(layer int, h *Node, r rotation) *Node) *Node {
	s := d.spec
	n, c := idsNC.Shape().Dimensions[0], idsNC.Shape().Dimensions[1]
	rotations := map[bool]rotation{false: newRotation(s.Rope, s.HeadDim, positionsNC)}
	x := d.embed(Reshape(idsNC, n*c)) // [N*C, H]
	if s.EmbeddingScale != 0 {
		x = MulScalar(x, s.EmbeddingScale)
	}
	var h *Node // x normed for the attention that comes, where that was computed with x
	for layer := range s.NumLayers {
		l := s.Layer(layer)
		if _, ok := rotations[l.LocalRope]; !ok {
			rotations[true] = newRotation(s.LocalRope, s.HeadDim, positionsNC)
		}
		if d.recomputesLayers() {
			x = x.Checkpoint()
		}
		d.late = newLate(s, x)
		if h == nil {
			h = d.norm(layer, attentionNorm, x)
		}
		x, h = d.plus(layer, O, attention(layer, h, rotations[l.LocalRope]), x, s.attentionPostNorm(),
			s.layer(layer)+s.mlpNorm()+".weight")
		x, h = d.feedForward(layer, x, h)
	}
	if d.recomputesLayers() {
		x = x.StopCheckpoint()
	}
	return Reshape(x, n, c, s.Hidden)
}

// attendSegments is a layer's attention from h [N*C, H] to the segments.
func (d *Decoder) attendSegments(
	layer int, h, positionsNC *Node, r rotation, segments func(layer int, k, v *Node) []KeyValues,
) *Node {
	q, k, v := d.queriesKeysValues(layer, h, positionsNC, r)
	return d.attention(q, positionsNC, d.spec.Layer(layer).Window, segments(layer, k, v))
}

// queriesKeysValues are the queries, keys and values [heads, N, C, D] of h [N*C, H].
func (d *Decoder) queriesKeysValues(layer int, h, positionsNC *Node, r rotation) (q, k, v *Node) {
	n, c := positionsNC.Shape().Dimensions[0], positionsNC.Shape().Dimensions[1]
	q, k, v = d.queryKeyValue(layer, h, n, c)
	if !d.spec.Layer(layer).NoRope {
		q, k = r.apply(q), r.apply(k)
	}
	return q, k, v
}

// feedForward adds the MLP's part to x [M, H], which normed for it is h, where that is known. It returns the sum normed
// for the next layer's attention too, where one kernel gives both; else nil.
func (d *Decoder) feedForward(layer int, x, h *Node) (sum, normed *Node) {
	if d.recomputesLayers() && x.Shape().Dimensions[0] > d.chunk {
		return InChunks(x, d.chunk, func(start, end int, x *Node) *Node {
			part := *d
			part.dropout = d.dropout.tokens(start, end)
			sum, _ := part.feedForward(layer, x, nil)
			return sum
		}), nil
	}
	if h == nil {
		h = d.norm(layer, d.spec.mlpNorm(), x)
	}
	return d.plus(layer, Down, d.mlp(layer, h), x, d.spec.mlpPostNorm(), d.spec.layer(layer+1)+attentionNorm+".weight")
}

// InChunks applies f to chunks of x's rows [M, ...], of a checkpoint that has begun; f is given which rows they are.
// Each is computed again by itself in the backward pass, and none before the one behind it is done: of what is wide in
// f one chunk's exists at a time. Only x is kept, where what computed it is not computed again.
func InChunks(x *Node, size int, f func(start, end int, x *Node) *Node) *Node {
	m := x.Shape().Dimensions[0]
	one := func(x *Node) *Node {
		for x.Rank() > 0 {
			x = Squeeze(Slice(x, AxisElem(0)), 0)
		}
		return x.StopCheckpoint()
	}
	var parts []*Node
	var behind *Node // the gradient of the chunk behind, once the backward pass has it
	before := one(x) // a number that is there when the chunk before is done, for what waits for it
	for start := 0; start < m; start += size {
		end := min(start+size, m)
		y := SchedulingBarrier(Slice(x, AxisRange(start, end)), before)
		y = f(start, end, IdentityWithCustomGradient(y, func(_, v *Node) *Node {
			behind = v
			return v
		})).StopCheckpoint()
		before = one(y)
		parts = append(parts, IdentityWithCustomGradient(y, func(_, v *Node) *Node {
			if behind == nil {
				return v
			}
			return SchedulingBarrier(v, behind)
		}))
	}
	return Concatenate(parts, 0)
}

// again begins a part of a layer that the backward pass computes again; until ends it. Where whole layers are, neither
// does anything: what ends a part is kept.
func (d *Decoder) again(x *Node) *Node {
	if d.adapter == nil || d.recomputesLayers() {
		return x
	}
	return x.Checkpoint()
}

func (d *Decoder) until(x *Node) *Node {
	if d.adapter == nil || d.recomputesLayers() {
		return x
	}
	return x.StopCheckpoint()
}

// attention attends to the segments, by the device's kernel where that knows them.
func (d *Decoder) attention(q, positionsNC *Node, window int, segments []KeyValues) *Node {
	keys := 0
	for _, seg := range segments {
		keys += seg.len()
	}
	if d.spec.hasKernel(q, window, keys) {
		if trainable(segments) {
			return attendInTraining(d.spec, q, segments)
		}
		if d.adapter == nil && isSampling(segments) {
			return attendInSampling(d.spec, q, segments)
		}
	}
	return d.until(attend(d.spec, d.again(q), positionsNC, window, segments))
}

// late makes the sharded weights of a layer wait for the layer's input, so that they are gathered then and not before.
// Where the backward pass computes the layer again they wait for its input there, and are gathered once more instead of
// kept.
type late struct {
	input *Node // nil where no weight is sharded
	has   map[*Node]*Node
}

func newLate(s Spec, x *Node) late {
	if s.Shards <= 1 {
		return late{}
	}
	return late{x, map[*Node]*Node{}}
}

func (l late) weight(w *Node) *Node {
	if l.input == nil {
		return w
	}
	if l.has[w] == nil {
		l.has[w] = SchedulingBarrier(w, l.input)
	}
	return l.has[w]
}

// queryKeyValue projects h [N*C, H] to heads [heads, N, C, D].
func (d *Decoder) queryKeyValue(layer int, h *Node, n, c int) (q, k, v *Node) {
	s := d.spec
	if s.FusedLinears {
		all := d.linear(layer, QKV, h)
		nq, nkv := s.NumHeads*s.HeadDim, s.NumKVHeads*s.HeadDim
		q, k, v = columns(all, 0, nq), columns(all, nq, nq+nkv), columns(all, nq+nkv, nq+2*nkv)
	} else {
		y := d.linears(layer, h, Q, K, V)
		q, k, v = y[0], y[1], y[2]
	}
	q, k, v = heads(q, n, c, s.NumHeads, s.HeadDim), heads(k, n, c, s.NumKVHeads, s.HeadDim), heads(v, n, c,
		s.NumKVHeads, s.HeadDim)
	if s.QKNorm {
		q, k = d.norm(layer, queryNorm, q), d.norm(layer, keyNorm, k)
	}
	return q, k, v
}

// mlp is what the down map of the gated MLP (arXiv 2002.05202) reads, of h [N*C, H].
func (d *Decoder) mlp(layer int, h *Node) *Node {
	if product := d.gatedMLP(layer, h); product != nil {
		return product
	}
	var gate, up *Node
	if i := d.spec.Intermediate; d.spec.FusedLinears {
		both := d.linear(layer, GateUp, h)
		gate, up = columns(both, 0, i), columns(both, i, 2*i)
	} else {
		y := d.linears(layer, h, Gate, Up)
		gate, up = y[0], y[1]
	}
	gate = ConvertDType(d.again(gate), dtypes.Float32)
	if d.spec.GELU {
		gate = gelu(gate)
	} else {
		gate = Mul(gate, Sigmoid(gate))
	}
	product := ConvertDType(Mul(gate, ConvertDType(up, dtypes.Float32)), h.DType())
	return d.until(product)
}

// Logits applies the final norm and the head to hidden states [M, H] and returns [M, V].
func (d *Decoder) Logits(hMH *Node) *Node {
	s := d.spec
	head := s.embeddingName()
	if !s.TiedHead {
		head = s.headName()
	}
	h := rmsNorm(hMH, d.weights[s.normName()], s)
	logits := contract(h, d.weights[head], []int{1}, nil, []int{1}, nil, dtypes.Float32)
	return softcap(d.ownLogits(logits, h, head), s.LogitCap)
}

// norm applies a layer's norm to the last axis of x.
func (d *Decoder) norm(layer int, name string, x *Node) *Node {
	return rmsNorm(x, d.weights[d.spec.layer(layer)+name+".weight"], d.spec)
}

func (d *Decoder) postNorm(layer int, name string, x *Node) *Node {
	if !d.spec.PostNorms {
		return x
	}
	return d.norm(layer, name, x)
}

// linear applies W [out, in] and its bias, and the adapter where there is one, to x [M, in].
func (d *Decoder) linear(layer int, t Target, x *Node) *Node { return d.linears(layer, x, t)[0] }

// linears applies several linear maps to one x. In bfloat16, without dropout, their adapters' A are one product, as
// each alone is too thin for its reading of x to be hidden.
func (d *Decoder) linears(layer int, x *Node, targets ...Target) []*Node {
	if d.spec.Joined {
		return d.jointLinears(layer, x, targets)
	}
	if r := d.readerOf(layer, targets); r != nil {
		return d.adapterTerms(r, x)
	}
	var down []*Node
	if d.spec.BF16 && d.dropout.keysM == nil {
		down = d.downTogether(layer, x, targets)
	}
	out := make([]*Node, len(targets))
	for i, t := range targets {
		j, ok := d.at[site{layer, t}]
		if !ok {
			out[i] = d.product(layer, x, t)
			continue
		}
		a, b := ConvertDType(d.adapter[j], x.DType()), ConvertDType(d.adapter[j+1], x.DType())
		var thin *Node
		if down == nil {
			thin = MulScalar(timesTranspose(d.dropout.apply(x, j), a), d.pieces[j].Scale)
		} else {
			thin = down[i]
		}
		// Added before they are rounded: what a step changes is small beside W x, and lost where W x is rounded first.
		term := ConvertDType(timesTranspose(thin, b), dtypes.Float32)
		out[i] = ConvertDType(Add(d.productAs(layer, x, t, dtypes.Float32), term), x.DType())
	}
	return out
}

// whole is the output of linear maps that are one matrix.
func (d *Decoder) whole(layer int, x *Node, targets ...Target) *Node {
	if r := d.readerOf(layer, targets); r != nil {
		return d.adapterTerms(r, x)[0]
	}
	return d.product(layer, x, targets[0])
}

// jointLinears is linears where they are one matrix.
func (d *Decoder) jointLinears(layer int, x *Node, targets []Target) (out []*Node) {
	y, from := d.whole(layer, x, targets...), 0
	for _, t := range targets {
		_, rows := d.spec.Dims(t)
		out = append(out, columns(y, from, from+rows))
		from += rows
	}
	return out
}

// product is W x and its bias for the matrix that a map is, or is the first of in joined weights.
func (d *Decoder) product(layer int, x *Node, first Target) *Node {
	return d.productAs(layer, x, first, x.DType())
}

// productAs is product in a type of its own.
func (d *Decoder) productAs(layer int, x *Node, first Target, out dtypes.DType) *Node {
	y := contract(x, d.late.weight(d.weights[d.spec.linearName(layer, first)+".weight"]), []int{1}, nil,
		[]int{1}, nil, out)
	if b := d.bias(layer, first); b != nil {
		y = Add(y, ConvertDType(ExpandLeftToRank(b, 2), y.DType()))
	}
	return y
}

// downTogether returns scale A x of each target, nil for those without an adapter.
func (d *Decoder) downTogether(layer int, x *Node, targets []Target) []*Node {
	var all []*Node
	for _, t := range targets {
		if j, ok := d.at[site{layer, t}]; ok {
			all = append(all, MulScalar(d.adapter[j], d.pieces[j].Scale))
		}
	}
	if all == nil {
		return nil
	}
	product := timesTranspose(x, ConvertDType(concatenate(all), x.DType()))
	down, from := make([]*Node, len(targets)), 0
	for i, t := range targets {
		if j, ok := d.at[site{layer, t}]; ok {
			down[i] = columns(product, from, from+d.pieces[j].Rows)
			from += d.pieces[j].Rows
		}
	}
	return down
}

func concatenate(xs []*Node) *Node {
	if len(xs) == 1 {
		return xs[0]
	}
	return Concatenate(xs, 0)
}

// timesTranspose is x [M, in] times w [out, in] transposed, in x's type.
func timesTranspose(x, w *Node) *Node { return contract(x, w, []int{1}, nil, []int{1}, nil, x.DType()) }

// contract is DotGeneral with the output's type given. For the gradient's sake bfloat16 is said to be the type that it
// accumulates in: GoMLX converts the factors of the backward products to that type, and products of float32 are many
// times slower. The products themselves are accumulated in float32, whatever is said.
func contract(x, y *Node, xAxes, xBatch, yAxes, yBatch []int, out dtypes.DType) *Node {
	dot := Dot(x, y)
	if x.DType() == dtypes.BFloat16 {
		dot = dot.WithAccumulatorDType(dtypes.BFloat16).WithOutputDType(out)
	}
	return dot.General(xAxes, xBatch, yAxes, yBatch)
}

// columns slices [M, W].
func columns(x *Node, from, to int) *Node { return Slice(x, AxisRange(), AxisRange(from, to)) }

// heads turns [N*C, heads*D] into [heads, N, C, D].
func heads(x *Node, n, c, numHeads, headDim int) *Node {
	return TransposeAllAxes(Reshape(x, n, c, numHeads, headDim), 2, 0, 1, 3)
}

// rmsNorm is x / sqrt(mean(x^2) + eps) * w over the last axis (arXiv 1910.07467), or times 1 + w.
func rmsNorm(x, w *Node, s Spec) *Node {
	dtype := x.DType()
	x = ConvertDType(x, dtypes.Float32)
	mean := ReduceAndKeep(Square(x), ReduceMean, -1)
	return ConvertDType(Mul(Div(x, Sqrt(AddScalar(mean, s.NormEps))), ExpandLeftToRank(offset(w, s), x.Rank())), dtype)
}

// offset is what a norm's weights are factors of.
func offset(w *Node, s Spec) *Node {
	if s.NormOffset {
		return AddScalar(w, 1)
	}
	return w
}

// gelu is the approximation by tanh of x times the normal distribution function of x (arXiv 1606.08415):
// x sigmoid(2u) with u = sqrt(2/pi) (x + 0.044715 x^3), since (1 + tanh u)/2 = sigmoid(2u).
func gelu(x *Node) *Node {
	cubic := Mul(x, AddScalar(MulScalar(Square(x), 0.044715), 1))
	return Mul(x, Sigmoid(MulScalar(cubic, 2*math.Sqrt(2/math.Pi))))
}

// softcap is limit tanh(x/limit); x itself where there is no limit. tanh u = 2 sigmoid(2u) - 1.
func softcap(x *Node, limit float64) *Node {
	if limit == 0 {
		return x
	}
	return AddScalar(MulScalar(Sigmoid(MulScalar(x, 2/limit)), 2*limit), -limit)
}

// rotation holds the cosines and sines [1, N, C, R] of positions' angles for the R elements of a head that are rotated,
// both halves alike (arXiv 2104.09864).
type rotation struct{ cos, sin *Node }

func newRotation(r modelfile.Rope, headDim int, positionsNC *Node) rotation {
	n, c := positionsNC.Shape().Dimensions[0], positionsNC.Shape().Dimensions[1]
	frequencies := r.Frequencies(headDim)
	inverse := Reshape(Const(positionsNC.Graph(), frequencies), 1, 1, len(frequencies))
	angle := Mul(Reshape(ConvertDType(positionsNC, dtypes.Float32), n, c, 1), inverse)
	angle = Reshape(Concatenate([]*Node{angle, angle}, -1), 1, n, c, 2*len(frequencies))
	x := rotation{Cos(angle), Sin(angle)}
	if r.Magnitude != 0 {
		x = rotation{MulScalar(x.cos, r.Magnitude), MulScalar(x.sin, r.Magnitude)}
	}
	return x
}

// apply rotates [heads, N, C, D], pairing element i with i + R/2 as Hugging Face does; elements from R on stay.
func (r rotation) apply(x *Node) *Node {
	dims, dtype := r.cos.Shape().Dimensions[3], x.DType()
	x = ConvertDType(x, dtypes.Float32)
	part := func(from, to int) *Node { return Slice(x, AxisRange(), AxisRange(), AxisRange(), AxisRange(from, to)) }
	turned := part(0, dims)
	turned = Add(Mul(turned, r.cos), Mul(Concatenate([]*Node{Neg(part(dims/2, dims)), part(0, dims/2)}, -1), r.sin))
	if width := x.Shape().Dimensions[3]; dims < width {
		turned = Concatenate([]*Node{turned, part(dims, width)}, -1)
	}
	return ConvertDType(turned, dtype)
}

// Causal returns the mask [N, C, C] of tokens that see themselves and what stands before them.
func Causal(g *Graph, n, c int) *Node {
	shape := shapes.Make(dtypes.Int32, n, c, c)
	return LessOrEqual(Iota(g, shape, 2), Iota(g, shape, 1))
}

// Branches returns the mask [N, C, C] of the tokens of trees: each sees itself and those before it whose branch goes on
// to it. Tokens of a branch follow each other, and ends [N, C] says for each token where what goes on from it ends.
func Branches(ends *Node) *Node {
	n, c := ends.Shape().Dimensions[0], ends.Shape().Dimensions[1]
	query := Iota(ends.Graph(), shapes.Make(dtypes.Int32, n, c, c), 1)
	on := LessThan(query, BroadcastToDims(Reshape(ends, n, 1, c), n, c, c))
	return LogicalAnd(on, Causal(ends.Graph(), n, c))
}

// Tree runs a prefix [1, P] and the rows [N, C] that follow it through all layers together, and returns the rows'
// hidden states [N, C, H] (before the final norm). All tokens are one text to the linear maps; dropout's keys are the
// prefix's, then the rows'.
func Tree(d *Decoder, prefix, ids *Node) *Node {
	g, p := ids.Graph(), prefix.Shape().Dimensions[1]
	n, c := ids.Shape().Dimensions[0], ids.Shape().Dimensions[1]
	text := func(prefix, rows *Node) *Node { return Concatenate([]*Node{prefix, Reshape(rows, 1, n*c)}, 1) }
	first := Iota(g, shapes.Make(dtypes.Int32, 1, p), 1)
	behind := AddScalar(Iota(g, shapes.Make(dtypes.Int32, n, c), 1), p)
	positions := text(first, behind)
	split := func(x *Node) (prefix, rows *Node) { // of [heads, 1, P+N*C, D]
		dims := x.Shape().Dimensions
		part := func(at SliceAxisSpec) *Node { return Slice(x, AxisRange(), AxisRange(), at, AxisRange()) }
		return part(AxisRange(0, p)), Reshape(part(AxisRange(p)), dims[0], n, c, dims[3])
	}
	h := d.layers(text(prefix, ids), positions, func(layer int, h *Node, r rotation) *Node {
		q, k, v := d.queriesKeysValues(layer, h, positions, r)
		q0, q1 := split(q)
		k0, k1 := split(k)
		v0, v1 := split(v)
		shared := func(x *Node) *Node { return Reshape(x, d.spec.NumKVHeads, p, d.spec.HeadDim) }
		window := d.spec.Layer(layer).Window
		return Concatenate([]*Node{d.attention(q0, first, window, []KeyValues{{K: k0, V: v0, Causal: true}}),
			d.attention(q1, behind, window,
				[]KeyValues{{K: shared(k0), V: shared(v0)}, {K: k1, V: v1, Causal: true}})}, 0)
	})
	return Reshape(Slice(h, AxisRange(), AxisRange(p)), n, c, d.spec.Hidden)
}

// Prefix computes the keys and values of ids [1, P], causally, from position 0: for each layer K then V, [K, P, D].
func Prefix(d *Decoder, ids *Node) []*Node {
	g := ids.Graph()
	p := ids.Shape().Dimensions[1]
	positions := Iota(g, shapes.Make(dtypes.Int32, 1, p), 1)
	var out []*Node
	d.Forward(ids, positions, func(_ int, k, v *Node) []KeyValues {
		for _, x := range []*Node{k, v} {
			x = Reshape(x, d.spec.NumKVHeads, p, d.spec.HeadDim)
			if d.recomputesLayers() { // what is computed from the outputs is not the layer's, and not computed again
				x = x.StopCheckpoint()
			}
			out = append(out, x)
		}
		return []KeyValues{{K: k, V: v, Causal: true}}
	})
	return out
}
