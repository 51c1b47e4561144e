package objective

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// rowMean is the mean of x [M] over the tokens of each row, at each of its tokens; 0 where there is no row. Everything
// is a sum over N x M numbers: no product, which a GPU would round to fewer bits, and no scatter, which may add in any
// order.
func (t Tokens) rowMean(x *Node) *Node {
	m := x.Shape().Dimensions[0]
	row := Iota(x.Graph(), shapes.Make(dtypes.Int32, t.NumRows, 1), 0)
	is := Equal(BroadcastToDims(row, t.NumRows, m), BroadcastToDims(Reshape(t.Rows, 1, m), t.NumRows, m)) // [N, M]
	zero := ScalarZero(x.Graph(), x.DType())
	sum := ReduceSum(Where(is, BroadcastToDims(Reshape(x, 1, m), t.NumRows, m), zero), 1)
	count := ReduceSum(ConvertDType(is, x.DType()), 1)
	mean := Div(sum, MaxScalar(count, 1)) // [N]
	return ReduceSum(Where(is, BroadcastToDims(Reshape(mean, t.NumRows, 1), t.NumRows, m), zero), 0)
}

// mean is that of numbers, 0 of none.
func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v / float64(len(x))
	}
	return sum
}
