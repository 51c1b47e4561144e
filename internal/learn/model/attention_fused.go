package model

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

// Attention by the device's kernel, which holds no scores in memory: in bfloat16, with no cap on scores, no window that
// leaves keys out and heads of up to 128. What is trained is one operation with a derivative; what is sampled is one
// for each segment, merged by their denominators, so that of a cache is read what is filled.

// hasKernel reports whether the device's kernel computes attention to so many keys.
func (s Spec) hasKernel(q *Node, window, keys int) bool {
	fits := s.ScoreCap == 0 && s.HeadDim%8 == 0 && s.HeadDim <= 128 && (window == 0 || keys <= window)
	return fits && s.BF16 && q.Graph().Backend().Capabilities().Operations[compute.OpTypeFusedScaledDotProductAttention]
}

// trainable reports whether the segments are what attendInTraining takes: a causal one, alone or after a prefix that
// all rows see whole.
func trainable(segments []KeyValues) bool {
	for i, seg := range segments {
		last := i == len(segments)-1
		if seg.Causal != last || seg.Mask != nil || !last && !seg.isShared() {
			return false
		}
	}
	return len(segments) <= 2
}

// attendInTraining is attend by the device's kernel, which keeps no scores for the backward pass either.
func attendInTraining(s Spec, q *Node, segments []KeyValues) *Node {
	text := func(of func(KeyValues) *Node) *Node { // [1, P + N*C, K, D]
		own := ownText(of(segments[len(segments)-1]))
		if len(segments) == 1 {
			return own
		}
		shared := ExpandAxes(TransposeAllAxes(of(segments[0]), 1, 0, 2), 0)
		return Concatenate([]*Node{shared, own}, 1)
	}
	key, value := text(func(x KeyValues) *Node { return x.K }), text(func(x KeyValues) *Node { return x.V })
	o, _ := s.kernel(tokensFirst(q), key, value, compute.ScaledDotProductAttentionConfig{Causal: true})
	d := o.Shape().Dimensions
	return Reshape(o, d[0]*d[1], d[2]*d[3])
}

func (s Spec) kernel(q, k, v *Node, o compute.ScaledDotProductAttentionConfig) (out *Node, states []*Node) {
	o.Scale = s.queryScale()
	return BackendFusedScaledDotProductAttention(q, k, v, compute.AttentionAxesLayoutBSHD, &o)
}

// tokensFirst turns [heads, N, C, D] into [N, C, heads, D].
func tokensFirst(x *Node) *Node { return TransposeAllAxes(x, 1, 2, 0, 3) }

// ownText turns rows' own keys [K, N, C, D] into one text [1, N*C, K, D].
func ownText(x *Node) *Node {
	x = tokensFirst(x)
	d := x.Shape().Dimensions
	return Reshape(x, 1, d[0]*d[1], d[2], d[3])
}

// isSampling reports whether all segments are what attendInSampling takes: a shared one, a causal one, or one with
// lengths.
func isSampling(segments []KeyValues) bool {
	for _, seg := range segments {
		if !seg.isShared() && !seg.Causal && seg.Length == nil {
			return false
		}
	}
	return true
}

// part is attention to some of the keys: its output [N, C, H, D] and the log of its softmax's denominator [N, H, C].
type part struct{ out, log *Node }

// attendInSampling is attend by the device's kernel, without a derivative. With o and L of the parts the whole's
// L = log sum exp L_i and o = sum exp(L_i - L) o_i (arXiv 2307.08691). A part without keys has any output, numbers or
// not.
func attendInSampling(s Spec, q *Node, segments []KeyValues) *Node {
	q = tokensFirst(q)
	d := q.Shape().Dimensions
	var parts []part
	for _, seg := range segments {
		parts = append(parts, attendPart(s, q, seg)...)
	}
	out := parts[0].out
	if len(parts) > 1 {
		out = mergeParts(parts)
	}
	return Reshape(out, d[0]*d[1], d[2]*d[3])
}

func mergeParts(parts []part) *Node {
	max := parts[0].log
	for _, p := range parts[1:] {
		max = Max(max, p.log)
	}
	d := parts[0].out.Shape().Dimensions
	var sum, out *Node
	for _, p := range parts {
		share := Exp(Sub(p.log, max))
		wide := BroadcastToDims(Reshape(TransposeAllAxes(share, 0, 2, 1), d[0], d[1], d[2], 1), d...)
		o := ConvertDType(p.out, dtypes.Float32)
		o = Where(GreaterThan(wide, ZerosLike(wide)), Mul(o, wide), ZerosLike(o))
		if sum == nil {
			sum, out = wide, o
		} else {
			sum, out = Add(sum, wide), Add(out, o)
		}
	}
	return ConvertDType(Div(out, sum), parts[0].out.DType())
}

// attendPart attends from q [N, C, H, D] to one segment.
func attendPart(s Spec, q *Node, seg KeyValues) []part {
	switch {
	case seg.isShared():
		return attendShared(s, q, seg)
	case seg.Causal:
		o, states := s.kernel(q, ownText(seg.K), ownText(seg.V), compute.ScaledDotProductAttentionConfig{Causal: true})
		return []part{{o, states[0]}}
	case seg.Own != nil:
		own := KeyValues{K: seg.Own.K, V: seg.Own.V, Causal: true}
		seg.Own = nil
		return append(attendPart(s, q, seg), attendPart(s, q, own)...)
	}
	config := compute.ScaledDotProductAttentionConfig{KeyValueSeqLen: InternalBackendOutputs(seg.Length)[0]}
	if seg.Slot != nil {
		config.Mask = InternalBackendOutputs(seg.Slot)[0]
	}
	o, states := s.kernel(q, seg.K, seg.V, config)
	return []part{{o, states[0]}}
}

// A shared segment of at least splitFrom keys is split into numSplits parts where queries are few: the kernel works on
// a part with a few cores of the device only.
const splitFrom, numSplits = 1024, 8

// PadPrefix is to how many tokens a shared prefix of p is padded for sampling, so that it can be split.
func (s Spec) PadPrefix(p int) int {
	if !s.BF16 || p < splitFrom {
		return p
	}
	const multiple = 16 * numSplits
	return (p + multiple - 1) / multiple * multiple
}

// attendShared attends to keys that all rows see, or all that the mask says: to the kernel they are one row, and the
// query heads that share a key-value head are more of its queries.
func attendShared(s Spec, q *Node, seg KeyValues) []part {
	g, dims, p := q.Graph(), q.Shape().Dimensions, seg.len()
	n, c, k, groups, d := dims[0], dims[1], s.NumKVHeads, s.Groups(), s.HeadDim
	splits := 1
	if p >= splitFrom && p%numSplits == 0 && n*c*groups <= 1024 {
		splits = numSplits
	}
	rows := Reshape(TransposeAllAxes(Reshape(q, n*c, k, groups, d), 0, 2, 1, 3), 1, n*c*groups, k, d)
	rows = BroadcastToDims(rows, splits, n*c*groups, k, d)
	split := func(x *Node) *Node { return Reshape(x, k, splits, p/splits, d) }
	keys := p
	if seg.Keys > 0 {
		keys = seg.Keys
	}
	lengths := make([]int32, splits)
	for i := range lengths {
		lengths[i] = int32(min(max(0, keys-i*p/splits), p/splits))
	}
	config := compute.ScaledDotProductAttentionConfig{KeyValueSeqLen: InternalBackendOutputs(Const(g, lengths))[0]}
	o, states := s.kernel(rows, split(seg.K), split(seg.V), config)
	var parts []part
	for i := range splits {
		out := TransposeAllAxes(Reshape(Slice(o, AxisElem(i)), n*c, groups, k, d), 0, 2, 1, 3)
		log := Reshape(TransposeAllAxes(Reshape(Slice(states[0], AxisElem(i)), k, n, c, groups), 1, 0, 3, 2), n,
			k*groups, c)
		if seg.Mask != nil {
			mask := BroadcastToDims(Reshape(seg.Mask, n, 1, 1), log.Shape().Dimensions...)
			log = Where(mask, log, MulScalar(OnesLike(log), masked))
		}
		parts = append(parts, part{Reshape(out, dims...), log})
	}
	return parts
}
