package model

import (
	"math"

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
	// Causal says, in place of a mask, that the keys are those of the queries' own tokens, which see themselves and
	// what stands before them.
	Causal bool
	// Positions [N, T] int32 says where in its row's text each private key stands, where keys do not follow each other.
	Positions *Node
	// Keys, above 0, is how many keys a shared segment has: what follows them is padding.
	Keys int
	// Length [N] int32 says, in place of a mask, of how many of the first private keys a row sees. Slot [N] int32 then
	// says which rows of K and V [K, slots, T, D] those are, where they are not in the order of the queries'.
	Length, Slot *Node
	// Own are the keys and values [K, N, C, D] of the queries' own tokens, which stand in K and V too, behind the first
	// Length, and are seen as by Causal.
	Own *KeyValues
}

func (s KeyValues) isShared() bool { return s.K.Rank() == 3 }

func (s KeyValues) len() int { return s.K.Shape().Dimensions[s.K.Rank()-2] }

// attend is softmax attention of q [heads, N, C, D] over all segments at once, returning [N*C, heads*D]. Each segment
// yields unnormalised sums over one common maximum, so a prefix shared by all rows is read once and the result equals
// attention over the concatenation. positions [N, C] and the window, 0 for none, say which keys are too far back.
func attend(s Spec, q, positionsNC *Node, window int, segments []KeyValues) *Node {
	n, c := positionsNC.Shape().Dimensions[0], positionsNC.Shape().Dimensions[1]
	k, d, gc := s.NumKVHeads, s.HeadDim, s.Groups()*c
	scale := s.queryScale()
	for i, seg := range segments {
		segments[i] = seg.withMask(n, c)
	}
	// Queries [heads, N, C, D] are seen as [K, N, G*C, D]: heads that share a key-value head are neighbours.
	q = TransposeAllAxes(Reshape(q, k, s.Groups(), n, c, d), 0, 2, 1, 3, 4)
	q = ConvertDType(MulScalar(ConvertDType(Reshape(q, k, n, gc, d), dtypes.Float32), scale), q.DType())
	near := nearness(positionsNC, window, segments)
	scores := make([]*Node, len(segments))
	var max *Node
	for i, seg := range segments {
		t := seg.len()
		if seg.isShared() {
			x := contract(Reshape(q, k, n*gc, d), seg.K, []int{2}, []int{0}, []int{2}, []int{0}, dtypes.Float32)
			scores[i] = Reshape(x, k, n, gc, t)
		} else {
			scores[i] = contract(q, seg.K, []int{3}, []int{0, 1}, []int{3}, []int{0, 1}, dtypes.Float32)
		}
		scores[i] = softcap(scores[i], s.ScoreCap)
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
		if seg.isShared() {
			o = Reshape(contract(Reshape(factor, k, n*gc, seg.len()), seg.V, []int{2}, []int{0}, []int{1}, []int{0},
				dtypes.Float32), k, n, gc, d)
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

// withMask is the segment with a mask in place of what else says which keys are seen by N rows of C queries.
func (s KeyValues) withMask(n, c int) KeyValues {
	if s.Causal {
		s.Mask = Causal(s.K.Graph(), n, c)
	}
	if s.Keys > 0 && s.Keys < s.len() {
		s.K, s.V = Slice(s.K, AxisRange(), AxisRange(0, s.Keys)), Slice(s.V, AxisRange(), AxisRange(0, s.Keys))
	}
	if s.Slot != nil {
		s.K, s.V = rowsOf(s.K, s.Slot), rowsOf(s.V, s.Slot)
	}
	if s.Length != nil {
		index := shapes.Make(dtypes.Int32, n, c, s.len())
		end := BroadcastToDims(Reshape(s.Length, n, 1, 1), index.Dimensions...)
		if s.Own != nil {
			end = Add(AddScalar(end, 1), Iota(s.K.Graph(), index, 1))
		}
		s.Mask = LessThan(Iota(s.K.Graph(), index, 2), end)
	}
	return s
}

// rowsOf gathers the slots [R] of a cache: [K, R, T, D].
func rowsOf(cache, slot *Node) *Node {
	d, r := cache.Shape().Dimensions, slot.Shape().Dimensions[0]
	g := cache.Graph()
	at := Concatenate([]*Node{Iota(g, shapes.Make(dtypes.Int32, d[0], r, 1), 0),
		BroadcastToDims(Reshape(slot, 1, r, 1), d[0], r, 1)}, -1)
	return Reshape(GatherSlices(cache, []int{0, 1}, at, []int{1, 1}, false), d[0], r, d[2], d[3])
}

func (s Spec) queryScale() float64 {
	if s.QueryScale != 0 {
		return s.QueryScale
	}
	return 1 / math.Sqrt(float64(s.HeadDim))
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
		if seg.Positions != nil {
			keys = BroadcastToDims(Reshape(seg.Positions, n, 1, t), n, c, t)
		}
		oldest := AddScalar(BroadcastToDims(Reshape(positionsNC, n, c, 1), n, c, t), -window)
		masks[i] = GreaterThan(keys, oldest)
		length := MulScalar(OnesLike(first), t)
		if seg.isShared() && seg.Mask != nil {
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
	case seg.isShared():
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
