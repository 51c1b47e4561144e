package model

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// masked is the score of a key that may not be seen. It is finite, so that a row with nothing to see stays a number.
const masked = -1e30

// Decoder is the transformer over given weights, with or without an adapter.
type Decoder struct {
	spec    Spec
	weights []*Node // WeightParams' order
	lora    LoRA
	adapter []*Node // LoRA.Pieces' order; nil without one
}

// NewDecoder returns a decoder over plain (or merged) weights.
func NewDecoder(s Spec, weights []*Node) *Decoder { return &Decoder{spec: s, weights: weights} }

// NewAdapted returns a decoder whose linear maps carry the adapter given as a flat vector; Adapter returns the nodes
// its gradient is taken for.
func NewAdapted(s Spec, weights []*Node, l LoRA, flat *Node) *Decoder {
	return &Decoder{spec: s, weights: weights, lora: l, adapter: adapterNodes(s, l, flat)}
}

// Adapter returns the adapter's matrices in LoRA.Pieces' order.
func (d *Decoder) Adapter() []*Node { return d.adapter }

// KeyValues is one segment of keys and values that queries attend to.
type KeyValues struct {
	K, V *Node // shared: [K, P, D]; private: [K, N, T, D]
	// Mask says which keys a query sees: shared [N], private [N, C, T]; nil sees all.
	Mask *Node
}

func (s KeyValues) shared() bool { return s.K.Rank() == 3 }

// Forward runs new tokens through all layers and returns their hidden states hNCH (before the final norm).
//
// ids and positions are [N, C] int32. For each layer, segments gets the layer's index and the new tokens' own keys and
// values [K, N, C, D] and returns what the queries attend to; this is where caches are read and written. After each
// layer boundary(h) may mark a point of recomputation; nil marks none.
func (d *Decoder) Forward(idsNC, positionsNC *Node, segments func(layer int, k, v *Node) []KeyValues,
	boundary func(*Node) *Node) *Node {
	s := d.spec
	n, c := idsNC.Shape().Dimensions[0], idsNC.Shape().Dimensions[1]
	cos, sin := rotary(s, positionsNC)
	x := Gather(d.weights[0], Reshape(idsNC, n*c, 1)) // [N*C, H]
	for layer := range s.NumLayers {
		if boundary != nil {
			x = boundary(x)
		}
		w := d.weights[2+layer*perLayer:]
		h := rmsNorm(x, w[0], s.NormEps)
		q := rotate(heads(d.linear(layer, Q, h), n, c, s.NumHeads, s.HeadDim), cos, sin)
		k := rotate(heads(d.linear(layer, K, h), n, c, s.NumKVHeads, s.HeadDim), cos, sin)
		v := heads(d.linear(layer, V, h), n, c, s.NumKVHeads, s.HeadDim)
		// Queries [heads, N, C, D] are seen as [K, N, G*C, D]: heads that share a key-value head are neighbours.
		q = TransposeAllAxes(Reshape(q, s.NumKVHeads, s.Groups(), n, c, s.HeadDim), 0, 2, 1, 3, 4)
		q = MulScalar(Reshape(q, s.NumKVHeads, n, s.Groups()*c, s.HeadDim), 1/math.Sqrt(float64(s.HeadDim)))
		o := attend(s, q, c, segments(layer, k, v))
		o = Reshape(o, s.NumKVHeads, n, s.Groups(), c, s.HeadDim)
		o = Reshape(TransposeAllAxes(o, 1, 3, 0, 2, 4), n*c, s.NumHeads*s.HeadDim)
		x = Add(x, d.linear(layer, O, o))
		h = rmsNorm(x, w[1], s.NormEps)
		gate := d.linear(layer, Gate, h)
		x = Add(x, d.linear(layer, Down, Mul(Mul(gate, Sigmoid(gate)), d.linear(layer, Up, h))))
	}
	return Reshape(x, n, c, s.Hidden)
}

// Logits applies the final norm and the head to hidden states [M, H] and returns [M, V].
func (d *Decoder) Logits(hMH *Node) *Node {
	h := rmsNorm(hMH, d.weights[1], d.spec.NormEps)
	return Dot(h, d.weights[0]).General([]int{1}, nil, []int{1}, nil)
}

// linear applies W [out, in], and the adapter where there is one, to x [M, in].
func (d *Decoder) linear(layer int, t Target, x *Node) *Node {
	y := Dot(x, d.weights[2+layer*perLayer+2+int(t)]).General([]int{1}, nil, []int{1}, nil)
	if d.adapter == nil {
		return y
	}
	j := 2 * (layer*int(NumTargets) + int(t))
	down := MulScalar(Dot(x, d.adapter[j]).General([]int{1}, nil, []int{1}, nil), d.lora.Scale())
	return Add(y, Dot(down, d.adapter[j+1]).General([]int{1}, nil, []int{1}, nil))
}

// heads turns [N*C, heads*D] into [heads, N, C, D].
func heads(x *Node, n, c, numHeads, headDim int) *Node {
	return TransposeAllAxes(Reshape(x, n, c, numHeads, headDim), 2, 0, 1, 3)
}

// rmsNorm is x / sqrt(mean(x^2) + eps) * w (arXiv 1910.07467).
func rmsNorm(x, w *Node, eps float64) *Node {
	mean := ReduceAndKeep(Square(x), ReduceMean, -1)
	return Mul(Div(x, Sqrt(AddScalar(mean, eps))), ExpandLeftToRank(w, x.Rank()))
}

// rotary returns cosines and sines [1, N, C, D] of the positions' angles, both halves alike (arXiv 2104.09864).
func rotary(s Spec, positionsNC *Node) (cos, sin *Node) {
	g := positionsNC.Graph()
	n, c, half := positionsNC.Shape().Dimensions[0], positionsNC.Shape().Dimensions[1], s.HeadDim/2
	exponent := Iota(g, shapes.Make(dtypes.Float32, 1, 1, half), 2)
	inverse := Exp(MulScalar(exponent, -math.Log(s.RopeTheta)*2/float64(s.HeadDim)))
	angle := Mul(Reshape(ConvertDType(positionsNC, dtypes.Float32), n, c, 1), inverse)
	angle = Reshape(Concatenate([]*Node{angle, angle}, -1), 1, n, c, s.HeadDim)
	return Cos(angle), Sin(angle)
}

// rotate applies rotary positions to [heads, N, C, D], pairing element i with i + D/2 as Hugging Face does.
func rotate(x, cos, sin *Node) *Node {
	half := x.Shape().Dimensions[3] / 2
	first := Slice(x, AxisRange(), AxisRange(), AxisRange(), AxisRange(0, half))
	second := Slice(x, AxisRange(), AxisRange(), AxisRange(), AxisRange(half))
	return Add(Mul(x, cos), Mul(Concatenate([]*Node{Neg(second), first}, -1), sin))
}

// attend is softmax attention of q [K, N, G*C, D] over all segments at once, returning the same shape. Each segment
// yields unnormalised sums over one common maximum, so a prefix shared by all rows is read once and the result equals
// attention over the concatenation.
func attend(s Spec, q *Node, c int, segments []KeyValues) *Node {
	k, n, d := s.NumKVHeads, q.Shape().Dimensions[1], s.HeadDim
	gc := s.Groups() * c
	scores := make([]*Node, len(segments))
	var max *Node
	for i, seg := range segments {
		t := seg.K.Shape().Dimensions[seg.K.Rank()-2]
		if seg.shared() {
			x := Dot(Reshape(q, k, n*gc, d), seg.K).General([]int{2}, []int{0}, []int{2}, []int{0})
			scores[i] = Reshape(x, k, n, gc, t)
		} else {
			scores[i] = Dot(q, seg.K).General([]int{3}, []int{0, 1}, []int{3}, []int{0, 1})
		}
		if seg.Mask != nil {
			scores[i] = Where(expandMask(s, seg, n, c, t), scores[i], Scalar(q.Graph(), dtypes.Float32, masked))
		}
		m := StopGradient(ReduceAndKeep(scores[i], ReduceMax, -1))
		if max == nil {
			max = m
		} else {
			max = Max(max, m)
		}
	}
	var sum, out *Node
	for i, seg := range segments {
		p := Exp(Sub(scores[i], max))
		var o *Node
		if seg.shared() {
			t := seg.K.Shape().Dimensions[1]
			o = Reshape(Dot(Reshape(p, k, n*gc, t), seg.V).General([]int{2}, []int{0}, []int{1}, []int{0}), k, n, gc, d)
		} else {
			o = Dot(p, seg.V).General([]int{3}, []int{0, 1}, []int{2}, []int{0, 1})
		}
		l := ReduceAndKeep(p, ReduceSum, -1)
		if sum == nil {
			sum, out = l, o
		} else {
			sum, out = Add(sum, l), Add(out, o)
		}
	}
	return Div(out, sum)
}

// expandMask broadcasts a segment's mask to its scores [K, N, G*C, T].
func expandMask(s Spec, seg KeyValues, n, c, t int) *Node {
	if seg.shared() {
		return BroadcastToDims(Reshape(seg.Mask, 1, n, 1, 1), s.NumKVHeads, n, s.Groups()*c, t)
	}
	m := BroadcastToDims(Reshape(seg.Mask, 1, n, 1, c, t), s.NumKVHeads, n, s.Groups(), c, t)
	return Reshape(m, s.NumKVHeads, n, s.Groups()*c, t)
}

// Causal returns the mask [N, C, C] of tokens that see themselves and what stands before them.
func Causal(g *Graph, n, c int) *Node {
	shape := shapes.Make(dtypes.Int32, n, c, c)
	return LessOrEqual(Iota(g, shape, 2), Iota(g, shape, 1))
}

// Prefix computes the keys and values of ids [1, P], causally, from position 0: for each layer K then V, [K, P, D].
func Prefix(d *Decoder, ids *Node) []*Node {
	g := ids.Graph()
	p := ids.Shape().Dimensions[1]
	positions := Iota(g, shapes.Make(dtypes.Int32, 1, p), 1)
	causal := Causal(g, 1, p)
	var out []*Node
	d.Forward(ids, positions, func(_ int, k, v *Node) []KeyValues {
		out = append(out, Reshape(k, d.spec.NumKVHeads, p, d.spec.HeadDim), Reshape(v, d.spec.NumKVHeads, p, d.spec.HeadDim))
		return []KeyValues{{K: k, V: v, Mask: causal}}
	}, nil)
	return out
}
