package sample

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// draw picks a token of each row of logits [B, V]: the largest where the temperature is 0, else by inverting the
// cumulative distribution of softmax(logits/temperature) at the uniform number. The inversion is done in two levels,
// blocks of about sqrt(V) tokens and then tokens, so one uniform number a row is all the randomness there is. It
// returns the ids [B] and their natural-log probabilities [B] (at temperature 1 where it is 0).
func draw(logits, temperature, uniform *Node) (ids, logprobs *Node) {
	g := logits.Graph()
	b, v := logits.Shape().Dimensions[0], logits.Shape().Dimensions[1]
	size := blockSize(v)
	n := v / size
	one := OnesLike(temperature)
	greedy := Equal(temperature, ZerosLike(temperature))
	best := ArgMax(logits, -1, dtypes.Int32)
	// All logits are read twice, here and for the blocks' masses; what else is needed of them is picked out by its
	// index.
	logits = Div(logits, Reshape(Where(greedy, one, temperature), b, 1))
	max := rowsAt(logits, 1, best)
	blocks := ReduceSum(Reshape(Exp(Sub(logits, max)), b, n, size), -1)
	upTo := Dot(blocks, triangle(g, n)).General([]int{1}, nil, []int{0}, nil)
	total := ReduceSum(blocks, -1)
	at := Mul(uniform, total)
	target := Reshape(at, b, 1)
	block := countBelow(upTo, target)
	isBlock := Equal(Reshape(block, b, 1), Iota(g, shapes.Make(dtypes.Int32, b, n), 1))
	before := Sub(pick(upTo, isBlock), pick(blocks, isBlock))
	row := Exp(Sub(rowsAt(logits, size, block), max))
	within := Add(Dot(row, triangle(g, size)).General([]int{1}, nil, []int{0}, nil), Reshape(before, b, 1))
	token := countBelow(within, target)
	isToken := Equal(Reshape(token, b, 1), Iota(g, shapes.Make(dtypes.Int32, b, size), 1))
	// The sums are rounded differently, so a target at a block's end may lie outside of the block as its tokens add up,
	// and its first or last token stands for it, however improbable. A rare one would be drawn far too often so: the
	// likeliest token of all stands in for it.
	chosen := pick(row, isToken)
	outside := LogicalOr(LessThan(at, before), GreaterOrEqual(at, ReduceMax(within, -1)))
	rare := LessThan(chosen, MulScalar(total, 1.0/(1<<16)))
	strayed := LogicalOr(LessOrEqual(chosen, ZerosLike(total)), LogicalAnd(outside, rare))
	ids = Where(LogicalOr(greedy, strayed), best, Add(MulScalar(block, size), token))
	return ids, Reshape(Sub(Sub(rowsAt(logits, 1, ids), max), Reshape(Log(total), b, 1)), b)
}

// rowsAt returns of each row of x [B, V], seen as pieces of so many elements, the piece with the row's index [B]: [B,
// size].
func rowsAt(x *Node, size int, index *Node) *Node {
	b, v := x.Shape().Dimensions[0], x.Shape().Dimensions[1]
	row := Iota(x.Graph(), shapes.Make(dtypes.Int32, b, 1), 0)
	// an index of all pieces might not fit into 32 bits
	return Gather(Reshape(x, b, v/size, size), Concatenate([]*Node{row, Reshape(index, b, 1)}, 1))
}

// blockSize returns the divisor of v nearest above its square root.
func blockSize(v int) int {
	for size := 1; ; size++ {
		if size*size >= v && v%size == 0 {
			return size
		}
	}
}

// triangle returns ones[n,n] at and above the diagonal: x times it is x's cumulative sum.
func triangle(g *Graph, n int) *Node {
	shape := shapes.Make(dtypes.Int32, n, n)
	return ConvertDType(LessOrEqual(Iota(g, shape, 0), Iota(g, shape, 1)), dtypes.Float32)
}

// countBelow counts, in each row of rising numbers, those not above the target, but never all of them.
func countBelow(rising, target *Node) *Node {
	n := rising.Shape().Dimensions[1]
	count := ReduceSum(ConvertDType(LessOrEqual(rising, target), dtypes.Int32), -1)
	return Min(count, Scalar(rising.Graph(), dtypes.Int32, n-1))
}

// pick returns the one element of each row that the mask marks.
func pick(x, mask *Node) *Node { return ReduceSum(Where(mask, x, ZerosLike(x)), -1) }
