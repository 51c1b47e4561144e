package model

import (
	"math"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// masked is the score of a key that may not be seen. It is finite, so that a row with nothing to see stays a number.
const masked = -1e30

// KeyValues is one segment of keys and values that queries attend to. The segments that a row sees follow each other in
// its text, in order, from position 0: sliding windows count by that.
type KeyValues struct {
	K, V *Node // shared: [K, P, D]; private: [K, N, T, D]
	// Mask says which keys a query sees: shared [N], private [N, C, T]; nil sees all.
	Mask *Node
	// Causal says, in place of a mask, that the keys are those of the queries' own tokens, which see themselves and what
	// stands before them.
	Causal bool
}

func (s KeyValues) shared() bool { return s.K.Rank() == 3 }

func (s KeyValues) len() int { return s.K.Shape().Dimensions[s.K.Rank()-2] }

// attend is softmax attention of q [heads, N, C, D] over all segments at once, returning [N*C, heads*D]. Each segment
// yields unnormalised sums over one common maximum, so a prefix shared by all rows is read once and the result equals
// attention over the concatenation. positions [N, C] and the window, 0 for none, say which keys are too far back.
func attend(s Spec, q, positionsNC *Node, window int, segments []KeyValues) *Node {
	n, c := positionsNC.Shape().Dimensions[0], positionsNC.Shape().Dimensions[1]
	k, d, gc := s.NumKVHeads, s.HeadDim, s.Groups()*c
	scale := s.queryScale()
	for i, seg := range segments {
		if seg.Causal {
			segments[i].Mask = Causal(q.Graph(), n, c)
		}
	}
	// Queries [heads, N, C, D] are seen as [K, N, G*C, D]: heads that share a key-value head are neighbours.
	q = TransposeAllAxes(Reshape(q, k, s.Groups(), n, c, d), 0, 2, 1, 3, 4)
	q = ConvertDType(MulScalar(ConvertDType(Reshape(q, k, n, gc, d), dtypes.Float32), scale), q.DType())
	near := nearness(positionsNC, window, segments)
	scores := make([]*Node, len(segments))
	var max *Node
	for i, seg := range segments {
		t := seg.len()
		if seg.shared() {
			x := contract(Reshape(q, k, n*gc, d), seg.K, []int{2}, []int{0}, []int{2}, []int{0}, dtypes.Float32)
			scores[i] = Reshape(x, k, n, gc, t)
		} else {
			scores[i] = contract(q, seg.K, []int{3}, []int{0, 1}, []int{3}, []int{0, 1}, dtypes.Float32)
		}
		scores[i] = capped(scores[i], s.ScoreCap)
		if m := visible(s, seg, near[i], n, c); m != nil {
			scores[i] = Where(m, scores[i], Scalar(q.Graph(), dtypes.Float32, masked))
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
		factor := ConvertDType(p, q.DType())
		var o *Node
		if seg.shared() {
			o = Reshape(contract(Reshape(factor, k, n*gc, seg.len()), seg.V, []int{2}, []int{0}, []int{1}, []int{0}, dtypes.Float32), k, n, gc, d)
		} else {
			o = contract(factor, seg.V, []int{3}, []int{0, 1}, []int{2}, []int{0, 1}, dtypes.Float32)
		}
		l := ReduceAndKeep(p, ReduceSum, -1)
		if sum == nil {
			sum, out = l, o
		} else {
			sum, out = Add(sum, l), Add(out, o)
		}
	}
	o := Reshape(ConvertDType(Div(out, sum), q.DType()), k, n, s.Groups(), c, d)
	return Reshape(TransposeAllAxes(o, 1, 3, 0, 2, 4), n*c, s.NumHeads*d)
}

func (s Spec) queryScale() float64 {
	if s.QueryScale != 0 {
		return s.QueryScale
	}
	return 1 / math.Sqrt(float64(s.HeadDim))
}

// fusable reports whether attendFused computes this attention: in bfloat16, of a causal segment, alone or after a prefix
// that all rows see whole, with no cap on scores and no window that leaves keys out.
func fusable(s Spec, q *Node, window int, segments []KeyValues) bool {
	total := 0
	for i, seg := range segments {
		last := i == len(segments)-1
		if seg.Causal != last || seg.Mask != nil || !last && !seg.shared() {
			return false
		}
		total += seg.len()
	}
	fits := len(segments) <= 2 && s.ScoreCap == 0 && s.HeadDim%8 == 0 && s.HeadDim <= 128 && (window == 0 || total <= window)
	return fits && s.BF16 && q.Graph().Backend().Capabilities().Operations[compute.OpTypeFusedScaledDotProductAttention]
}

// attendFused is attend by the device's kernel, which keeps no scores for the backward pass.
func attendFused(s Spec, q *Node, segments []KeyValues) *Node {
	tokensFirst := func(x *Node) *Node { // [heads, N, C, D] to [N, C, heads, D]
		return TransposeAllAxes(x, 1, 2, 0, 3)
	}
	text := func(of func(KeyValues) *Node) *Node { // [1, P + N*C, K, D]
		own := tokensFirst(of(segments[len(segments)-1]))
		d := own.Shape().Dimensions
		own = Reshape(own, 1, d[0]*d[1], d[2], d[3])
		if len(segments) == 1 {
			return own
		}
		shared := ExpandAxes(TransposeAllAxes(of(segments[0]), 1, 0, 2), 0)
		return Concatenate([]*Node{shared, own}, 1)
	}
	key, value := text(func(x KeyValues) *Node { return x.K }), text(func(x KeyValues) *Node { return x.V })
	o, _ := BackendFusedScaledDotProductAttention(tokensFirst(q), key, value, compute.AttentionAxesLayoutBSHD,
		&compute.ScaledDotProductAttentionConfig{Scale: s.queryScale(), Causal: true})
	d := o.Shape().Dimensions
	return Reshape(o, d[0]*d[1], d[2]*d[3])
}

// nearness returns for each segment the mask [N, C, T] of keys within the window; all nil where nothing can be outside.
func nearness(positionsNC *Node, window int, segments []KeyValues) []*Node {
	masks := make([]*Node, len(segments))
	total := 0
	for _, seg := range segments {
		total += seg.len()
	}
	if window == 0 || total <= window {
		return masks
	}
	g := positionsNC.Graph()
	n, c := positionsNC.Shape().Dimensions[0], positionsNC.Shape().Dimensions[1]
	first := Zeros(g, shapes.Make(dtypes.Int32, n)) // position of the segment's first key in each row
	for i, seg := range segments {
		t := seg.len()
		keys := Add(Iota(g, shapes.Make(dtypes.Int32, n, c, t), 2), BroadcastToDims(Reshape(first, n, 1, 1), n, c, t))
		oldest := AddScalar(BroadcastToDims(Reshape(positionsNC, n, c, 1), n, c, t), -window)
		masks[i] = GreaterThan(keys, oldest)
		length := MulScalar(OnesLike(first), t)
		if seg.shared() && seg.Mask != nil {
			length = Where(seg.Mask, length, ZerosLike(first))
		}
		first = Add(first, length)
	}
	return masks
}

// visible broadcasts a segment's mask and its nearness to its scores [K, N, G*C, T]; nil where all is seen.
func visible(s Spec, seg KeyValues, near *Node, n, c int) *Node {
	k, groups, t := s.NumKVHeads, s.Groups(), seg.len()
	wide := func(x *Node) *Node { // [N, C, T]
		return Reshape(BroadcastToDims(Reshape(x, 1, n, 1, c, t), k, n, groups, c, t), k, n, groups*c, t)
	}
	switch {
	case seg.Mask == nil && near == nil:
		return nil
	case seg.Mask == nil:
		return wide(near)
	case seg.shared():
		m := BroadcastToDims(Reshape(seg.Mask, 1, n, 1, 1), k, n, groups*c, t)
		if near != nil {
			m = LogicalAnd(m, wide(near))
		}
		return m
	case near != nil:
		return wide(LogicalAnd(seg.Mask, near))
	default:
		return wide(seg.Mask)
	}
}
