package stablehlo

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapeinference"
	"github.com/gomlx/compute/shapes"
)

// The operations of compute.Function that move data.

func (f *function) BroadcastInDim(x compute.Value, shape shapes.Shape, axes []int) (compute.Value, error) {
	return f.op("broadcast_in_dim", "broadcast_dimensions = "+array(axes), shape, x)
}

func (f *function) Reshape(x compute.Value, dims ...int) (compute.Value, error) {
	shape, err := shapeinference.Reshape(x.(*value).shape, dims)
	if err != nil {
		return nil, err
	}
	return f.op("reshape", "", shape, x)
}

func (f *function) Transpose(x compute.Value, permutation ...int) (compute.Value, error) {
	shape, err := shapeinference.Transpose(x.(*value).shape, permutation)
	if err != nil {
		return nil, err
	}
	return f.op("transpose", "permutation = "+array(permutation), shape, x)
}

func (f *function) Slice(x compute.Value, starts, limits, strides []int) (compute.Value, error) {
	if len(strides) == 0 {
		strides = make([]int, len(starts))
		for i := range strides {
			strides[i] = 1
		}
	}
	shape, err := shapeinference.Slice(x.(*value).shape, starts, limits, strides)
	if err != nil {
		return nil, err
	}
	return f.op("slice", fmt.Sprintf("start_indices = %s, limit_indices = %s, strides = %s",
		array(starts), array(limits), array(strides)), shape, x)
}

// Pad is what the gradient of Slice is made of.
func (f *function) Pad(x, fill compute.Value, axes ...compute.PadAxis) (compute.Value, error) {
	shape, err := shapeinference.Pad(x.(*value).shape, axes...)
	if err != nil {
		return nil, err
	}
	rank := x.(*value).shape.Rank()
	low, high, interior := make([]int, rank), make([]int, rank), make([]int, rank)
	for i, a := range axes {
		low[i], high[i], interior[i] = a.Start, a.End, a.Interior
	}
	return f.op("pad", fmt.Sprintf("edge_padding_low = %s, edge_padding_high = %s, interior_padding = %s",
		array(low), array(high), array(interior)), shape, x, fill)
}

func (f *function) Concatenate(axis int, xs ...compute.Value) (compute.Value, error) {
	in := make([]shapes.Shape, len(xs))
	for i, x := range xs {
		in[i] = x.(*value).shape
	}
	shape, err := shapeinference.Concatenate(in, axis)
	if err != nil {
		return nil, err
	}
	return f.op("concatenate", fmt.Sprintf("dimension = %d : i64", axis), shape, xs...)
}

func (f *function) Iota(shape shapes.Shape, axis int) (compute.Value, error) {
	return f.op("iota", fmt.Sprintf("iota_dimension = %d : i64", axis), shape)
}

func (f *function) Gather(x, indices compute.Value, indexVectorAxis int,
	offsetAxes, collapsedAxes, startIndexMap, sizes []int, sorted bool) (compute.Value, error) {
	shape, err := shapeinference.Gather(x.(*value).shape, indices.(*value).shape,
		indexVectorAxis, offsetAxes, collapsedAxes, startIndexMap, sizes, sorted)
	if err != nil {
		return nil, err
	}
	r, err := f.op("gather", fmt.Sprintf("dimension_numbers = #stablehlo.gather<offset_dims = [%s], "+
		"collapsed_slice_dims = [%s], start_index_map = [%s], index_vector_dim = %d>, slice_sizes = %s, "+
		"indices_are_sorted = %v",
		join(offsetAxes), join(collapsedAxes), join(startIndexMap), indexVectorAxis, array(sizes), sorted),
		shape, x, indices)
	if err == nil && len(sizes) == len(offsetAxes)+len(collapsedAxes) &&
		wholeRows(x.(*value).shape, collapsedAxes, sizes) {
		r.(*value).rows = rows{x.(*value), indices.(*value),
			indexing(indexVectorAxis, startIndexMap, collapsedAxes), gathered}
	}
	return r, err
}

// rows says that a value is rows of another: those gathered at the indices, or their negative, or the whole of the
// other with those rows cleared.
type rows struct {
	of, indices *value
	axes        string // how the indices are read
	is          rowsKind
}

type rowsKind int

const (
	gathered rowsKind = iota + 1
	negated
	cleared
)

// wholeRows reports whether a gather's slices are whole but for the axes that its indices are for.
func wholeRows(x shapes.Shape, collapsed, sizes []int) bool {
	for axis, size := range sizes {
		if !slices.Contains(collapsed, axis) && size != x.Dimensions[axis] {
			return false
		}
	}
	return true
}

// replaces recognises a scatter that replaces rows, which GoMLX has no operation for: a graph clears them by adding the
// negative of what is gathered there, and then adds the new ones. Written so, XLA copies the operand twice, and a cache
// is large; as one scatter that replaces, it is updated in place. replaces returns the operand whose rows are replaced.
func replaces(x, indices *value, axes string) (operand *value, ok bool) {
	return x.rows.of, x.rows == rows{x.rows.of, indices, axes, cleared}
}

func indexing(vectorAxis int, toOperand, dropped []int) string {
	return fmt.Sprint(vectorAxis, toOperand, dropped)
}

// ScatterSum is what the gradient of Gather is made of.
func (f *function) ScatterSum(x, indices, updates compute.Value, indexVectorAxis int,
	windowAxes, insertedAxes, scatterToOperand []int, sorted, unique bool) (compute.Value, error) {
	operand, at, update := x.(*value), indices.(*value), updates.(*value)
	r := f.newValue(operand.shape)
	result, axes := "%sum", indexing(indexVectorAxis, scatterToOperand, insertedAxes)
	if unique && update.rows == (rows{operand, at, axes, negated}) {
		r.rows = rows{operand, at, axes, cleared}
	}
	if whole, ok := replaces(operand, at, axes); ok && unique {
		operand, result = whole, "%b"
	}
	names, types := operandText([]*value{operand, at, update})
	scalar := typeOf(shapes.Make(operand.shape.DType))
	fmt.Fprintf(&f.text, "%s = \"stablehlo.scatter\"(%s) <{scatter_dimension_numbers = #stablehlo.scatter<"+
		"update_window_dims = [%s], inserted_window_dims = [%s], scatter_dims_to_operand_dims = [%s], "+
		"index_vector_dim = %d>, indices_are_sorted = %v, unique_indices = %v}> ({\n^bb0(%%a: %s, %%b: %s):\n"+
		"%%sum = stablehlo.add %%a, %%b : %s\nstablehlo.return %s : %s\n}) : (%s) -> %s\n",
		r.name, names, join(windowAxes), join(insertedAxes), join(scatterToOperand), indexVectorAxis,
		sorted, unique, scalar, scalar, scalar, result, scalar, types, typeOf(operand.shape))
	return r, nil
}

func (f *function) DynamicSlice(x compute.Value, starts []compute.Value, sizes []int) (compute.Value, error) {
	shape, err := shapeinference.DynamicSlice(x.(*value).shape, sizes)
	if err != nil {
		return nil, err
	}
	return f.op("dynamic_slice", "slice_sizes = "+array(sizes), shape, append([]compute.Value{x}, starts...)...)
}

func (f *function) DynamicUpdateSlice(x, update compute.Value, starts []compute.Value) (compute.Value, error) {
	return f.op("dynamic_update_slice", "", x.(*value).shape, append([]compute.Value{x, update}, starts...)...)
}

// OptimizationBarrier keeps XLA from merging a recomputed block with its first computation.
func (f *function) OptimizationBarrier(xs ...compute.Value) ([]compute.Value, error) {
	in := make([]*value, len(xs))
	for i, x := range xs {
		in[i] = x.(*value)
	}
	names, types := operandText(in)
	r := f.builder.newName()
	fmt.Fprintf(&f.text, "%s:%d = \"stablehlo.optimization_barrier\"(%s) : (%s) -> (%s)\n",
		r, len(in), names, types, types)
	return results(r, in), nil
}

// SchedulingBarrier makes x wait for the dependencies.
func (f *function) SchedulingBarrier(x compute.Value, dependencies ...compute.Value) (compute.Value, error) {
	out, err := f.OptimizationBarrier(append([]compute.Value{x}, dependencies...)...)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}
