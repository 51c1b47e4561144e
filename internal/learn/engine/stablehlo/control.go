package stablehlo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// The operation of compute.Function that runs functions. A closure is written as a region, whose text may use all values
// around it. XLA compiles it once, however often it runs, and updates the state of a loop in place.

// Name implements compute.Function; closures have none.
func (f *function) Name() string {
	if f.parent != nil {
		return ""
	}
	return compute.MainName
}

// Parent implements compute.Function.
func (f *function) Parent() compute.Function {
	if f.parent == nil {
		return nil
	}
	return f.parent
}

// Closure implements compute.Function.
func (f *function) Closure() (compute.Function, error) { return f.builder.function(f), nil }

// While implements compute.Function.
func (f *function) While(cond, body compute.Function, initial ...compute.Value) ([]compute.Value, error) {
	state := make([]*value, len(initial))
	for i, v := range initial {
		state[i] = v.(*value)
	}
	is, next := cond.(*function), body.(*function)
	truth := []*value{{shape: shapes.Make(dtypes.Bool)}}
	if !sameShapes(is.params, state) || !sameShapes(next.params, state) || !sameShapes(next.outs, state) || !sameShapes(is.outs, truth) {
		return nil, fmt.Errorf("stablehlo backend: While: condition and body do not take a state of %d values and return a truth value and a state", len(state))
	}
	r := f.builder.newName()
	f.builder.loops = true
	names, types := operandText(state)
	fmt.Fprintf(&f.text, "%s:%d = \"stablehlo.while\"(%s) ({\n%s}, {\n%s}) : (%s) -> (%s)\n", r, len(state), names,
		is.region(), next.region(), types, types)
	return results(r, state), nil
}

// region is the text of a closure.
func (f *function) region() string {
	typed := make([]string, len(f.params))
	for i, p := range f.params {
		typed[i] = p.name + ": " + typeOf(p.shape)
	}
	names, types := operandText(f.outs)
	return fmt.Sprintf("^bb0(%s):\n%sstablehlo.return %s : %s\n", strings.Join(typed, ", "), f.text.String(), names, types)
}

// results are the values of an operation that has several.
func results(name string, like []*value) []compute.Value {
	out := make([]compute.Value, len(like))
	for i, x := range like {
		out[i] = &value{name: name + "#" + strconv.Itoa(i), shape: x.shape, parts: x.parts}
	}
	return out
}

func sameShapes(a, b []*value) bool {
	return slices.EqualFunc(a, b, func(x, y *value) bool { return x.shape.Equal(y.shape) })
}
