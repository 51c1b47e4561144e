package stablehlo

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapeinference"
	"github.com/gomlx/compute/shapes"
)

// broadcast expands a scalar, or the axes of length 1, to the dimensions of shape.
func (f *function) broadcast(v compute.Value, shape shapes.Shape) compute.Value {
	x := v.(*value)
	to := shapes.Make(x.shape.DType, shape.Dimensions...)
	if x.shape.Equal(to) {
		return v
	}
	var axes, kept []int
	for i, d := range x.shape.Dimensions {
		if d == to.Dimensions[i] {
			axes, kept = append(axes, i), append(kept, d)
		}
	}
	squeezed := v
	if len(kept) != x.shape.Rank() {
		squeezed, _ = f.op("reshape", "", shapes.Make(x.shape.DType, kept...), v)
	}
	r, _ := f.op("broadcast_in_dim", "broadcast_dimensions = "+array(axes), to, squeezed)
	return r
}

func (f *function) unary(name string, x compute.Value) (compute.Value, error) {
	return f.op(name, "", x.(*value).shape, x)
}

func (f *function) binary(name string, op compute.OpType, a, b compute.Value) (compute.Value, error) {
	shape, err := shapeinference.BinaryOp(op, a.(*value).shape, b.(*value).shape)
	if err != nil {
		return nil, err
	}
	return f.op(name, "", shape, f.broadcast(a, shape), f.broadcast(b, shape))
}

func (f *function) compare(direction string, op compute.OpType, a, b compute.Value) (compute.Value, error) {
	shape, err := shapeinference.ComparisonOp(op, a.(*value).shape, b.(*value).shape)
	if err != nil {
		return nil, err
	}
	attribute := "comparison_direction = #stablehlo<comparison_direction " + direction + ">"
	return f.op("compare", attribute, shape, f.broadcast(a, shape), f.broadcast(b, shape))
}

// The element-wise operations of compute.Function.

func (f *function) Add(a, b compute.Value) (compute.Value, error) {
	return f.binary("add", compute.OpTypeAdd, a, b)
}
func (f *function) Sub(a, b compute.Value) (compute.Value, error) {
	return f.binary("subtract", compute.OpTypeSub, a, b)
}
func (f *function) Mul(a, b compute.Value) (compute.Value, error) {
	return f.binary("multiply", compute.OpTypeMul, a, b)
}
func (f *function) Div(a, b compute.Value) (compute.Value, error) {
	return f.binary("divide", compute.OpTypeDiv, a, b)
}
func (f *function) Max(a, b compute.Value) (compute.Value, error) {
	return f.binary("maximum", compute.OpTypeMax, a, b)
}
func (f *function) Min(a, b compute.Value) (compute.Value, error) {
	return f.binary("minimum", compute.OpTypeMin, a, b)
}
func (f *function) Pow(a, b compute.Value) (compute.Value, error) {
	return f.binary("power", compute.OpTypePow, a, b)
}
func (f *function) LogicalAnd(a, b compute.Value) (compute.Value, error) {
	return f.binary("and", compute.OpTypeLogicalAnd, a, b)
}
func (f *function) LogicalOr(a, b compute.Value) (compute.Value, error) {
	return f.binary("or", compute.OpTypeLogicalOr, a, b)
}
func (f *function) LogicalNot(x compute.Value) (compute.Value, error) { return f.unary("not", x) }

func (f *function) Equal(a, b compute.Value) (compute.Value, error) {
	return f.compare("EQ", compute.OpTypeEqual, a, b)
}
func (f *function) NotEqual(a, b compute.Value) (compute.Value, error) {
	return f.compare("NE", compute.OpTypeNotEqual, a, b)
}
func (f *function) LessThan(a, b compute.Value) (compute.Value, error) {
	return f.compare("LT", compute.OpTypeLessThan, a, b)
}
func (f *function) LessOrEqual(a, b compute.Value) (compute.Value, error) {
	return f.compare("LE", compute.OpTypeLessOrEqual, a, b)
}
func (f *function) GreaterThan(a, b compute.Value) (compute.Value, error) {
	return f.compare("GT", compute.OpTypeGreaterThan, a, b)
}
func (f *function) GreaterOrEqual(a, b compute.Value) (compute.Value, error) {
	return f.compare("GE", compute.OpTypeGreaterOrEqual, a, b)
}

func (f *function) Sign(x compute.Value) (compute.Value, error) { return f.unary("sign", x) }
func (f *function) Neg(x compute.Value) (compute.Value, error) {
	r, err := f.unary("negate", x)
	if from := x.(*value).rows; err == nil && from.is == gathered {
		r.(*value).rows = rows{from.of, from.indices, from.axes, negated}
	}
	return r, err
}
func (f *function) Exp(x compute.Value) (compute.Value, error)      { return f.unary("exponential", x) }
func (f *function) Log(x compute.Value) (compute.Value, error)      { return f.unary("log", x) }
func (f *function) Sqrt(x compute.Value) (compute.Value, error)     { return f.unary("sqrt", x) }
func (f *function) Logistic(x compute.Value) (compute.Value, error) { return f.unary("logistic", x) }
func (f *function) Sin(x compute.Value) (compute.Value, error)      { return f.unary("sine", x) }
func (f *function) Cos(x compute.Value) (compute.Value, error)      { return f.unary("cosine", x) }
func (f *function) Identity(x compute.Value) (compute.Value, error) { return x, nil }

func (f *function) Where(c, a, b compute.Value) (compute.Value, error) {
	shape, err := shapeinference.Where(c.(*value).shape, a.(*value).shape, b.(*value).shape)
	if err != nil {
		return nil, err
	}
	return f.op("select", "", shape, f.broadcast(c, shape), f.broadcast(a, shape), f.broadcast(b, shape))
}

func (f *function) ConvertDType(x compute.Value, dtype dtypes.DType) (compute.Value, error) {
	if x.(*value).shape.DType == dtype {
		return x, nil
	}
	return f.op("convert", "", shapes.Make(dtype, x.(*value).shape.Dimensions...), x)
}

// DotGeneral implements compute.Function. A product of bf16 is accumulated in f32, whatever its output's type.
func (f *function) DotGeneral(lhs compute.Value, lhsContracting, lhsBatch []int, rhs compute.Value,
	rhsContracting, rhsBatch []int, cfg compute.DotGeneralConfig) (compute.Value, error) {
	x, y := lhs.(*value).shape, rhs.(*value).shape
	dtype := x.DType
	if cfg.OutputDType != dtypes.InvalidDType {
		dtype = cfg.OutputDType
	}
	var dims []int
	for _, axis := range lhsBatch {
		dims = append(dims, x.Dimensions[axis])
	}
	dims = append(dims, without(x.Dimensions, lhsBatch, lhsContracting)...)
	dims = append(dims, without(y.Dimensions, rhsBatch, rhsContracting)...)
	precision := f.builder.backend.precision
	if x.DType == dtypes.BFloat16 {
		precision = "DEFAULT" // more would split the factors of what is already exact
	}
	attributes := fmt.Sprintf("dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [%s], "+
		"rhs_batching_dimensions = [%s], lhs_contracting_dimensions = [%s], rhs_contracting_dimensions = [%s]>, "+
		"precision_config = [#stablehlo<precision %s>, #stablehlo<precision %s>]",
		join(lhsBatch), join(rhsBatch), join(lhsContracting), join(rhsContracting), precision, precision)
	return f.op("dot_general", attributes, shapes.Make(dtype, dims...), lhs, rhs)
}

// without returns the dimensions whose axis is in neither list.
func without(dims []int, lists ...[]int) []int {
	drop := make([]bool, len(dims))
	for _, l := range lists {
		for _, axis := range l {
			drop[axis] = true
		}
	}
	var kept []int
	for i, d := range dims {
		if !drop[i] {
			kept = append(kept, d)
		}
	}
	return kept
}

func (f *function) reduce(name, start string, x compute.Value, axes []int) (compute.Value, error) {
	operand := x.(*value)
	if len(axes) == 0 {
		for i := range operand.shape.Rank() {
			axes = append(axes, i)
		}
	}
	shape, err := shapeinference.Reduce(operand.shape, axes)
	if err != nil {
		return nil, err
	}
	scalar := shapes.Make(operand.shape.DType)
	c, err := f.op("constant", fmt.Sprintf("value = dense<%s> : %s", start, typeOf(scalar)), scalar)
	if err != nil {
		return nil, err
	}
	r := f.newValue(shape)
	fmt.Fprintf(&f.text,
		"%s = stablehlo.reduce(%s init: %s) applies stablehlo.%s across dimensions = [%s] : (%s, %s) -> %s\n",
		r.name, operand.name, c.(*value).name, name, join(axes), typeOf(operand.shape), typeOf(scalar), typeOf(shape))
	return r, nil
}

func (f *function) ReduceSum(x compute.Value, axes ...int) (compute.Value, error) {
	start := "0"
	if x.(*value).shape.DType.IsFloat() {
		start = "0.0"
	}
	return f.reduce("add", start, x, axes)
}

func (f *function) ReduceMax(x compute.Value, axes ...int) (compute.Value, error) {
	if x.(*value).shape.DType != dtypes.Float32 {
		return nil, fmt.Errorf("stablehlo backend: maximum of integers: %w", compute.ErrNotImplemented)
	}
	return f.reduce("maximum", "0xFF800000", x, axes)
}

// ArgMinMax implements compute.Function for the maximum over f32: the first index that holds it.
func (f *function) ArgMinMax(x compute.Value, axis int, dtype dtypes.DType, isMin bool) (compute.Value, error) {
	shape := x.(*value).shape
	if isMin || shape.DType != dtypes.Float32 || dtype != dtypes.Int32 {
		return nil, fmt.Errorf("stablehlo backend: ArgMin, or ArgMax not of f32: %w", compute.ErrNotImplemented)
	}
	max, err := f.ReduceMax(x, axis)
	if err != nil {
		return nil, err
	}
	var kept []int
	for i := range shape.Rank() {
		if i != axis {
			kept = append(kept, i)
		}
	}
	wide, _ := f.op("broadcast_in_dim", "broadcast_dimensions = "+array(kept), shape, max)
	isMax, _ := f.Equal(x, wide)
	indices := shapes.Make(dtype, shape.Dimensions...)
	iota, _ := f.Iota(indices, axis)
	last, _ := f.Constant([]int32{2147483647})
	candidates, _ := f.op("select", "", indices, isMax, iota, f.broadcast(last, indices))
	return f.reduce("minimum", "2147483647", candidates, []int{axis})
}
