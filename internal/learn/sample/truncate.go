package sample

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
	"hone/internal/episode/policy"
)

// wordBits is how many ids one number of a mask speaks of.
const wordBits = 16

// rankProgram lists the likeliest tokens of the logits that decoding returns; it is compiled when a request first asks
// for them. Inputs: logits[B,V], temperature[B]. Outputs: ids[B,N] and their logprobs[B,N]
// under softmax(logits/temperature), the likeliest first.
func (s *Sampler) rankProgram() (*engine.Program, error) {
	params := []engine.Param{
		{Name: "logits", Shape: engine.F32(s.slots, s.spec.VocabSize)},
		{Name: "temperature", Shape: engine.F32(s.slots)},
	}
	return s.engine.Compile("rank", params, func(in []*Node) []*Node {
		ids, logprobs := rank(in[0], in[1], policy.MaxTopLogprobs)
		return []*Node{ids, logprobs}
	}, "ids", "logprobs")
}

func numWords(v int) int { return (v + wordBits - 1) / wordBits }

// maskLogits sets the logits [B, V] to -Inf where allowed [B, V/16] has a 0.
func maskLogits(logits, allowed *Node) *Node {
	g := logits.Graph()
	b, v := logits.Shape().Dimensions[0], logits.Shape().Dimensions[1]
	n := allowed.Shape().Dimensions[1]
	powers := make([]int32, wordBits)
	for i := range powers {
		powers[i] = 1 << i
	}
	words := BroadcastToDims(Reshape(allowed, b, n, 1), b, n, wordBits)
	shifted := Div(words, BroadcastToDims(Reshape(Const(g, powers), 1, 1, wordBits), b, n, wordBits))
	bits := Sub(shifted, MulScalar(Div(shifted, MulScalar(OnesLike(shifted), 2)), 2))
	bits = Slice(Reshape(bits, b, n*wordBits), AxisRange(), AxisRange(0, v))
	return without(logits, Equal(bits, ZerosLike(bits)))
}

// without sets x to -Inf where the mask holds.
func without(x, mask *Node) *Node {
	return Where(mask, BroadcastToDims(Infinity(x.Graph(), x.DType(), -1), x.Shape().Dimensions...), x)
}

// truncate sets the logits [B, V] of tokens that topK, topP and minP (each [B]) leave out to -Inf. Nothing is sorted:
// what is kept is all above a threshold, and the threshold is found by bisection. Tokens whose logits, divided by the
// temperature, differ by less than 1e-7 count as equally likely.
func truncate(logits, temperature, topK, topP, minP *Node) *Node {
	g := logits.Graph()
	b, v := logits.Shape().Dimensions[0], logits.Shape().Dimensions[1]
	column := func(x *Node) *Node { return Reshape(x, b, 1) }
	one := OnesLike(temperature)
	x := Div(logits, column(Where(Equal(temperature, ZerosLike(temperature)), one, temperature)))
	x = Sub(x, ReduceAndKeep(x, ReduceMax, -1))
	mass := Exp(x)
	above := func(of, threshold *Node) *Node { // the sum over what is not below the threshold
		return ReduceAndKeep(Where(GreaterOrEqual(x, BroadcastToDims(threshold, b, v)), of, ZerosLike(of)),
			ReduceSum, -1)
	}
	// Where it is off, nothing is below the threshold but what was masked.
	lowest := BroadcastToDims(Scalar(g, dtypes.Float32, -math.MaxFloat32), b, 1)
	count := OnesLike(x)
	k := ConvertDType(column(topK), dtypes.Float32) // exact: a vocabulary has fewer than 2^24 tokens
	threshold := bisect(BroadcastToDims(Scalar(g, dtypes.Float32, underflow), b, 1), func(at *Node) *Node {
		return GreaterOrEqual(above(count, at), k)
	})
	threshold = Where(GreaterOrEqual(k, Scalar(g, dtypes.Float32, float64(v))), lowest, threshold)
	p := column(topP)
	wanted := Mul(p, above(mass, threshold))
	byMass := bisect(Max(threshold, Scalar(g, dtypes.Float32, underflow)), func(at *Node) *Node {
		return GreaterOrEqual(above(mass, at), wanted)
	})
	threshold = Where(GreaterOrEqual(p, OnesLike(p)), threshold, byMass)
	cut := LogicalOr(LessThan(x, BroadcastToDims(threshold, b, v)), LessThan(mass, BroadcastToDims(column(minP), b, v)))
	return without(logits, cut)
}

// underflow is below what Exp makes more than 0 of, so no token below it can be drawn.
const underflow = -104

// bisect returns the largest threshold [B, 1] between low and 0 that is enough, to within 104/2^32. What is enough must
// be so for all thresholds below it, and low is taken to be.
func bisect(low *Node, enough func(threshold *Node) *Node) *Node {
	high := ZerosLike(low)
	for range 32 {
		middle := MulScalar(Add(low, high), 0.5)
		is := enough(middle)
		low, high = Where(is, middle, low), Where(is, high, middle)
	}
	return low
}

// rank takes the n largest of each row of logits [B, V], one after the other: ids [B, n], and natural-log probabilities
// [B, n] under softmax(logits/temperature), at temperature 1 where it is 0. Ids of probability 0 mean nothing.
func rank(logits, temperature *Node, n int) (ids, logprobs *Node) {
	g := logits.Graph()
	b, v := logits.Shape().Dimensions[0], logits.Shape().Dimensions[1]
	x := Div(logits,
		Reshape(Where(Equal(temperature, ZerosLike(temperature)), OnesLike(temperature), temperature), b, 1))
	x = Sub(x, ReduceAndKeep(x, ReduceMax, -1))
	x = Sub(x, Log(ReduceAndKeep(Exp(x), ReduceSum, -1)))
	index := Iota(g, shapes.Make(dtypes.Int32, b, v), 1)
	var best, values []*Node
	for range n {
		id := Reshape(ArgMax(x, -1, dtypes.Int32), b, 1)
		best, values = append(best, id), append(values, ReduceAndKeep(x, ReduceMax, -1))
		x = without(x, Equal(index, BroadcastToDims(id, b, v)))
	}
	return Concatenate(best, 1), Concatenate(values, 1)
}
