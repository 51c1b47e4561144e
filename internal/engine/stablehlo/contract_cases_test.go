package stablehlo

import (
	"math"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// closely is for functions that libraries approximate, and for sums, whose order is not fixed: a few units in the last
// place.
const closely = 2e-6

func contracts() []contract {
	return slices.Concat(unaries(), binaries(), comparisons(), choices(), products(), reductions(), shapesAndMoves(),
		gathers(), constants(), collectives())
}

var (
	inf = float32(math.Inf(1))
	nan = float32(math.NaN())
)

// compares is why a graph must not wait for NaN to come out of a maximum.
const compares = "StableHLO and pure Go hand NaN on; XLA for CPUs compares, and NaN is not above 1"

func unaries() []contract {
	odd := f32(d(8), -2.5, -1, 0, 0.3, 40, inf, -inf, nan)
	positive := f32(d(6), 0, 1e-20, 0.3, 7, inf, nan)
	scalar := f32(nil, 0.7)
	empty := f32(d(1, 1, 1), -0.2)
	var cs []contract
	for op, in := range map[string]tensor{
		"Neg": odd, "Exp": odd, "Logistic": odd, "Sign": f32(d(5), -2.5, 0, 0.3, inf, -inf), "Log": positive,
		"Sqrt": positive, "Sin": f32(d(7), -40, -1, 0, 0.3, 3.1, 700, nan), "Cos": f32(d(7), -40, -1, 0, 0.3,
			3.1, 700, nan),
		"Identity": odd,
	} {
		cs = append(cs, contract{op: op, name: "edges", in: []tensor{in}, tolerance: closely},
			contract{op: op, name: "scalar", in: []tensor{scalar}, tolerance: closely})
		if op != "Log" && op != "Sqrt" {
			cs = append(cs, contract{op: op, name: "axes of 1", in: []tensor{empty}, tolerance: closely})
		}
	}
	cs = append(cs, contract{op: "Sign", name: "not a number", in: []tensor{f32(d(1), nan)},
		want: [][]float64{{math.NaN()}}, why: "pure Go takes it for 0"})
	return append(cs, contract{op: "Neg", name: "integers", in: []tensor{i32(d(3), -5, 0, 7)}},
		contract{op: "LogicalNot", name: "both", in: []tensor{bools(d(2), true, false)}})
}

func binaries() []contract {
	var cs []contract
	for _, op := range []string{"Add", "Sub", "Mul", "Div", "Max", "Min"} {
		tolerance := 0.0
		if op == "Div" {
			tolerance = closely
		}
		cs = append(cs,
			contract{op: op, name: "same shape", in: []tensor{ramp(2, 3), ramp(2, 3)}, tolerance: tolerance},
			contract{op: op, name: "infinities",
				in: []tensor{f32(d(5), inf, -inf, inf, 1, 0), f32(d(5), inf, 1, 2, inf, -inf)}, tolerance: tolerance},
			contract{op: op, name: "scalar and matrix", in: []tensor{f32(nil, 1.5), ramp(2, 3)}, tolerance: tolerance},
			contract{op: op, name: "matrix and scalar", in: []tensor{ramp(2, 3), f32(nil, 1.5)}, tolerance: tolerance},
			contract{op: op, name: "axes of 1 expand", in: []tensor{ramp(2, 1, 4), ramp(1, 3, 4)},
				tolerance: tolerance},
			contract{op: op, name: "scalars", in: []tensor{f32(nil, 3), f32(nil, -2)}, tolerance: tolerance},
			contract{op: op, name: "integers", in: []tensor{i32(d(4), -7, 0, 5, 9), i32(d(4), 2, 3, -1, 4)}})
		c := contract{op: op, name: "not a number", in: []tensor{f32(d(3), nan, 1, nan), f32(d(3), 1, nan, inf)}}
		if op == "Max" || op == "Min" {
			c.cpuOnly, c.want, c.why = true, [][]float64{{math.NaN(), 1, math.NaN()}}, compares
		}
		cs = append(cs, c)
	}
	cs = append(cs,
		contract{op: "Pow", name: "edges", in: []tensor{f32(d(5), 2, 0, 9, 0.5, -2), f32(d(5), 10, 0, 0.5, -1, 3)},
			tolerance: closely},
		contract{op: "Pow", name: "scalar", in: []tensor{ramp(2, 2), f32(nil, 2)}, tolerance: closely})
	for _, op := range []string{"LogicalAnd", "LogicalOr"} {
		cs = append(cs, contract{op: op, name: "table",
			in: []tensor{bools(d(4), true, true, false, false), bools(d(4), true, false, true, false)}},
			contract{op: op, name: "axes of 1 expand",
				in: []tensor{bools(d(2, 1), true, false), bools(d(1, 2), true, false)}})
	}
	for _, op := range []string{"BitwiseXor", "BitwiseAnd"} {
		cs = append(cs, contract{op: op, name: "signs",
			in: []tensor{i32(d(4), -1, 5, math.MaxInt32, math.MinInt32), i32(d(4), 7, 12, -3, 1)}})
	}
	return append(cs, contract{op: "ShiftRightLogical", name: "unsigned",
		in: []tensor{i32(d(3), math.MinInt32, 5, -1), i32(d(3), 31, 1, 16)}})
}

func comparisons() []contract {
	var cs []contract
	for _, op := range []string{"Equal", "NotEqual", "LessThan", "LessOrEqual", "GreaterThan", "GreaterOrEqual"} {
		cs = append(cs,
			contract{op: op, name: "edges",
				in: []tensor{f32(d(7), 1, 2, 3, nan, inf, -inf, nan), f32(d(7), 2, 2, 2, 1, inf, inf, nan)}},
			contract{op: op, name: "integers", in: []tensor{i32(d(3), -1, 2, 3), i32(d(3), 1, 2, -3)}},
			contract{op: op, name: "axes of 1 expand", in: []tensor{i32(d(3, 1), 0, 1, 2), i32(d(1, 3), 0, 1, 2)}},
			contract{op: op, name: "scalar", in: []tensor{i32(d(3), 0, 1, 2), i32(nil, 1)}})
	}
	return cs
}

func choices() []contract {
	return []contract{
		{op: "Where", name: "what is not chosen does not show",
			in: []tensor{bools(d(4), true, false, true, false), f32(d(4), 1, nan, 3, inf), f32(d(4), nan, 2, -inf, 4)}},
		{op: "Where", name: "not a number is chosen", in: []tensor{bools(d(2), true, false), f32(d(2), nan, 1), f32(d(2), 1, -inf)}},
		{op: "Where", name: "scalar branches", in: []tensor{bools(d(3), true, false, true), f32(nil, 1), f32(nil, -1e30)}},
		{op: "Where", name: "scalar branch", in: []tensor{bools(d(2, 2), true, false, false, true), ramp(2, 2), f32(nil, -1e30)}},
		{op: "Where", name: "scalars", in: []tensor{bools(nil, false), f32(nil, 1), f32(nil, 2)}},
		{op: "ConvertDType", name: "to integers, towards zero", in: []tensor{f32(d(5), 2.7, -2.7, 0.5, -0.5, 16777216)}, args: as(dtypes.Int32)},
		{op: "Bitcast", name: "bits", in: []tensor{f32(d(4), -0.5, 0, 1e-40, inf)}, args: as(dtypes.Int32)},
		{op: "ConvertDType", name: "to floats", in: []tensor{i32(d(3), -3, 0, 16777217)}, args: as(dtypes.Float32)},
		{op: "ConvertDType", name: "truth to floats", in: []tensor{bools(d(2), true, false)}, args: as(dtypes.Float32)},
		{op: "ConvertDType", name: "truth to integers", in: []tensor{bools(nil, true)}, args: as(dtypes.Int32)},
		{op: "ConvertDType", name: "the same", in: []tensor{ramp(3)}, args: as(dtypes.Float32)},
		{op: "OptimizationBarrier", name: "two pass through", in: []tensor{ramp(2, 3), i32(nil, 4)}},
		{op: "SchedulingBarrier", name: "the first passes through", in: []tensor{ramp(2, 3), f32(nil, nan)}},
	}
}

func as(dtype dtypes.DType) func(v []compute.Value) []any {
	return func(v []compute.Value) []any { return []any{v[0], dtype} }
}

func products() []contract {
	axes := func(lc, lb, rc, rb []int) func(v []compute.Value) []any {
		return func(v []compute.Value) []any { return []any{v[0], lc, lb, v[1], rc, rb, compute.DotGeneralConfig{}} }
	}
	none := []int{}
	return []contract{
		{op: "DotGeneral", name: "matrices", in: []tensor{ramp(3, 5), ramp(5, 2)}, args: axes(d(1), none, d(0), none), tolerance: closely},
		{op: "DotGeneral", name: "second transposed", in: []tensor{ramp(3, 5), ramp(2, 5)}, args: axes(d(1), none, d(1), none), tolerance: closely},
		{op: "DotGeneral", name: "two batch axes", in: []tensor{ramp(2, 3, 4, 5), ramp(2, 3, 6, 5)},
			args: axes(d(3), d(0, 1), d(3), d(0, 1)), tolerance: closely},
		{op: "DotGeneral", name: "batch axis inside", in: []tensor{ramp(4, 2, 5), ramp(5, 3, 2)}, args: axes(d(2), d(1), d(0), d(2)), tolerance: closely},
		{op: "DotGeneral", name: "two contracted axes", in: []tensor{ramp(2, 3, 4), ramp(3, 4, 5)},
			args: axes(d(1, 2), none, d(0, 1), none), tolerance: closely},
		{op: "DotGeneral", name: "vectors", in: []tensor{ramp(7), ramp(7)}, args: axes(d(0), none, d(0), none), tolerance: closely},
		{op: "DotGeneral", name: "axes of 1", in: []tensor{ramp(1, 1), ramp(1, 1)}, args: axes(d(1), none, d(0), none), tolerance: closely},
		{op: "DotGeneral", name: "outer", in: []tensor{ramp(3), ramp(2)}, args: axes(none, none, none, none), tolerance: closely},
		{op: "DotGeneral", name: "infinity times zero", in: []tensor{f32(d(1, 2), inf, 1), f32(d(2, 1), 0, 1)}, args: axes(d(1), none, d(0), none)},
	}
}

func reductions() []contract {
	over := func(axes ...int) func(v []compute.Value) []any {
		return func(v []compute.Value) []any {
			args := []any{v[0]}
			for _, a := range axes {
				args = append(args, a)
			}
			return args
		}
	}
	arg := func(axis int) func(v []compute.Value) []any {
		return func(v []compute.Value) []any { return []any{v[0], axis, dtypes.Int32, false} }
	}
	var cs []contract
	for _, op := range []string{"ReduceSum", "ReduceMax"} {
		cs = append(cs,
			contract{op: op, name: "all", in: []tensor{ramp(3, 4)}, args: over(), tolerance: closely},
			contract{op: op, name: "first", in: []tensor{ramp(3, 4, 2)}, args: over(0), tolerance: closely},
			contract{op: op, name: "last and first", in: []tensor{ramp(3, 4, 2)}, args: over(0, 2), tolerance: closely},
			contract{op: op, name: "an axis of 1", in: []tensor{ramp(3, 1)}, args: over(1), tolerance: closely},
			contract{op: op, name: "infinities", in: []tensor{f32(d(2, 2), -inf, -inf, inf, 1)}, args: over(1)})
	}
	return append(cs,
		contract{op: "ReduceSum", name: "integers", in: []tensor{i32(d(2, 2), 1, -2, 3, 4)}, args: over(1)},
		contract{op: "ReduceSum", name: "not a number", in: []tensor{f32(d(2, 2), nan, 1, 2, 3)}, args: over(1)},
		contract{op: "ReduceMax", name: "not a number", in: []tensor{f32(d(2, 2), 1, nan, 2, 3)}, args: over(1),
			cpuOnly: true, want: [][]float64{{1, 3}}, why: compares},
		contract{op: "ArgMinMax", name: "the first of equals", in: []tensor{f32(d(2, 4), 1, 5, 5, 2, -1, -1, -3, -1)},
			args: arg(1)},
		contract{op: "ArgMinMax", name: "down", in: []tensor{ramp(5, 3)}, args: arg(0)},
		contract{op: "ArgMinMax", name: "an axis of 1", in: []tensor{ramp(3, 1)}, args: arg(1)},
		contract{op: "ArgMinMax", name: "infinities", in: []tensor{f32(d(2, 3), -inf, -inf, -inf, 1, inf, inf)},
			args: arg(1)})
}

func shapesAndMoves() []contract {
	one := func(rest ...any) func(v []compute.Value) []any {
		return func(v []compute.Value) []any { return append([]any{v[0]}, rest...) }
	}
	pad := func(axes ...any) func(v []compute.Value) []any {
		return func(v []compute.Value) []any { return append([]any{v[0], v[1]}, axes...) }
	}
	float, integer := dtypes.Float32, dtypes.Int32
	return []contract{
		{op: "Iota", name: "first axis", args: func([]compute.Value) []any { return []any{shapes.Make(integer, 3, 2), 0} }},
		{op: "Iota", name: "last axis of floats", args: func([]compute.Value) []any { return []any{shapes.Make(float, 2, 3), 1} }},
		{op: "Iota", name: "one", args: func([]compute.Value) []any { return []any{shapes.Make(integer, 1), 0} }},
		{op: "BroadcastInDim", name: "scalar", in: []tensor{f32(nil, 2)}, args: one(shapes.Make(float, 2, 3), []int{})},
		{op: "BroadcastInDim", name: "to the middle", in: []tensor{ramp(3)}, args: one(shapes.Make(float, 2, 3, 4), d(1))},
		{op: "BroadcastInDim", name: "an axis of 1", in: []tensor{ramp(2, 1)}, args: one(shapes.Make(float, 2, 3), d(0, 1))},
		{op: "Reshape", name: "other axes", in: []tensor{ramp(2, 6)}, args: one(3, 4)},
		{op: "Reshape", name: "to a scalar", in: []tensor{ramp(1, 1)}, args: one()},
		{op: "Reshape", name: "from a scalar", in: []tensor{f32(nil, 4)}, args: one(1, 1)},
		{op: "Transpose", name: "three axes", in: []tensor{ramp(2, 3, 4)}, args: one(2, 0, 1)},
		{op: "Transpose", name: "an axis of 1", in: []tensor{ramp(1, 3)}, args: one(1, 0)},
		{op: "Slice", name: "inside", in: []tensor{ramp(4, 5)}, args: one(d(1, 2), d(3, 5), []int(nil))},
		{op: "Slice", name: "strides", in: []tensor{ramp(7)}, args: one(d(1), d(7), d(3))},
		{op: "Slice", name: "one element", in: []tensor{ramp(3, 3)}, args: one(d(2, 2), d(3, 3), d(1, 1))},
		{op: "Pad", name: "both ends", in: []tensor{ramp(2, 2), f32(nil, -1)}, args: pad(compute.PadAxis{Start: 1, End: 2}, compute.PadAxis{})},
		{op: "Pad", name: "in between", in: []tensor{ramp(3), f32(nil, 9)}, args: pad(compute.PadAxis{Start: 1, Interior: 2})},
		{op: "Pad", name: "negative cuts off", in: []tensor{f32(d(5), 1, 2, 3, 4, 5), f32(nil, 9)},
			args: pad(compute.PadAxis{Start: -1, End: -2}), want: [][]float64{{2, 3}}, fatal: true},
		{op: "Concatenate", name: "first axis", in: []tensor{ramp(2, 2), ramp(1, 2)}, args: func(v []compute.Value) []any { return []any{0, v[0], v[1]} }},
		{op: "Concatenate", name: "last axis of three",
			in:   []tensor{i32(d(2, 1), 1, 2), i32(d(2, 2), 3, 4, 5, 6), i32(d(2, 1), 7, 8)},
			args: func(v []compute.Value) []any { return []any{1, v[0], v[1], v[2]} }},
		{op: "Concatenate", name: "of one", in: []tensor{ramp(2)}, args: func(v []compute.Value) []any { return []any{0, v[0]} }},
		{op: "DynamicSlice", name: "clamped to the end", in: []tensor{f32(d(5), 1, 2, 3, 4, 5), i32(nil, 9)},
			args: func(v []compute.Value) []any { return []any{v[0], []compute.Value{v[1]}, d(2)} },
			want: [][]float64{{4, 5}}},
		{op: "DynamicSlice", name: "inside", in: []tensor{f32(d(2, 3), 1, 2, 3, 4, 5, 6), i32(nil, 1), i32(nil, 1)},
			args: func(v []compute.Value) []any { return []any{v[0], []compute.Value{v[1], v[2]}, d(1, 2)} },
			want: [][]float64{{5, 6}}},
		{
			op:   "DynamicUpdateSlice",
			name: "inside",
			in:   []tensor{f32(d(2, 2), 1, 2, 3, 4), f32(d(1, 2), 8, 9), i32(nil, 1), i32(nil, 0)},
			args: func(v []compute.Value) []any { return []any{v[0], v[1], []compute.Value{v[2], v[3]}} },
			want: [][]float64{{1, 2, 8, 9}},
		},
		{op: "DynamicUpdateSlice", name: "clamped to the beginning",
			in: []tensor{f32(d(3), 1, 2, 3), f32(d(2), 8, 9), i32(nil, -4)}, args: func(v []compute.Value) []any {
				return []any{v[0], v[1], []compute.Value{v[2]}}
			},
			want: [][]float64{{8, 9, 3}}},
	}
}

func gathers() []contract {
	gather := func(vector int, offset, collapsed, start, sizes []int, sorted bool) func(v []compute.Value) []any {
		return func(v []compute.Value) []any {
			return []any{v[0], v[1], vector, offset, collapsed, start, sizes, sorted}
		}
	}
	scatter := func(vector int, window, inserted, to []int, unique bool) func(v []compute.Value) []any {
		return func(v []compute.Value) []any {
			return []any{v[0], v[1], v[2], vector, window, inserted, to, false, unique}
		}
	}
	return []contract{
		{op: "Gather", name: "rows, one twice", in: []tensor{ramp(4, 3), i32(d(3, 1), 2, 0, 2)}, args: gather(1, d(1), d(0), d(0), d(1, 3), false)},
		{op: "Gather", name: "one row, sorted", in: []tensor{ramp(4, 3), i32(d(1, 1), 3)}, args: gather(1, d(1), d(0), d(0), d(1, 3), true)},
		{op: "Gather", name: "windows of two axes", in: []tensor{ramp(3, 4, 5), i32(d(2, 2), 0, 1, 2, 3)},
			args: gather(1, d(1), d(0, 1), d(0, 1), d(1, 1, 5), false)},
		{op: "Gather", name: "windows that keep an axis", in: []tensor{ramp(5, 3), i32(d(2, 1), 1, 3)},
			args: gather(1, d(1, 2), []int{}, d(0), d(2, 3), false)},
		{op: "Gather", name: "an axis of 1", in: []tensor{ramp(1, 1), i32(d(1, 1), 0)}, args: gather(1, d(1), d(0), d(0), d(1, 1), false)},
		{op: "ScatterSum", name: "rows, one twice", in: []tensor{ramp(4, 3), i32(d(3, 1), 2, 0, 2), ramp(3, 3)},
			args: scatter(1, d(1), d(0), d(0), false), tolerance: closely},
		{op: "ScatterSum", name: "unique rows", in: []tensor{ramp(4, 3), i32(d(2, 1), 3, 1), ramp(2, 3)},
			args: scatter(1, d(1), d(0), d(0), true), tolerance: closely},
		{op: "ScatterSum", name: "places of two axes", in: []tensor{ramp(3, 4), i32(d(2, 2), 0, 1, 2, 3), ramp(2)},
			args: scatter(1, []int{}, d(0, 1), d(0, 1), false), tolerance: closely},
		{op: "ScatterSum", name: "an infinity", in: []tensor{ramp(2, 1), i32(d(1, 1), 1), f32(d(1, 1), inf)}, args: scatter(1, d(1), d(0), d(0), false)},
	}
}

// collectives are over one device here; devices_test.go has several.
func collectives() []contract {
	one := func(v []compute.Value) []any { return []any{v, compute.ReduceOpSum, [][]int{{0}}} }
	return []contract{
		{op: "AllReduce", name: "vector and scalar", in: []tensor{f32(d(3), 1, -2, 0.5), f32(nil, 7)}, args: one,
			want: [][]float64{{1, -2, 0.5}, {7}}, why: "pure Go is one device and has none"},
	}
}

func constants() []contract {
	of := func(flat any, dims ...any) func([]compute.Value) []any {
		return func([]compute.Value) []any { return append([]any{flat}, dims...) }
	}
	return []contract{
		{op: "Constant", name: "scalar", args: of([]float32{-1e30})},
		{op: "Constant", name: "odd floats", args: of([]float32{0, -0.1, inf, -inf, nan, math.MaxFloat32, 1e-20}, 7)},
		{op: "Constant", name: "integers", args: of([]int32{math.MinInt32, 0, math.MaxInt32}, 3)},
		{op: "Constant", name: "long integers", args: of([]int64{-1 << 40, 1 << 40}, 2)},
		{op: "Constant", name: "truth", args: of([]bool{true, false}, 2)},
		{op: "Constant", name: "one", args: of([]int32{5}, 1)},
	}
}
