package stablehlo

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"
)

// Sharded parameters (arXiv 2304.11277): each device holds a part, and an operation that reads the whole gathers it
// first, over all devices. Barriers let the parts through. So a graph says by a barrier when a parameter is gathered,
// and by another that it is to be gathered once more rather than kept.

// parts is how many parts a sharding cuts a parameter into: its first axis is divided among the devices, or nothing is.
func (f *function) parts(shape shapes.Shape, s *compute.ShardingSpec) (int, error) {
	if s == nil || len(s.Axes) == 0 || len(s.Axes[0]) == 0 {
		return 0, nil
	}
	n := len(f.builder.backend.devices)
	if len(s.Axes) > 1 || shape.Rank() == 0 || shape.Dimensions[0]%n != 0 {
		return 0, fmt.Errorf("stablehlo backend: a sharding of %s over %d devices: %w",
			shape, n, compute.ErrNotImplemented)
	}
	return n, nil
}

// here is the shape of what one device has of a value.
func (v *value) here() shapes.Shape { return part(v.shape, v.parts) }

func part(shape shapes.Shape, n int) shapes.Shape {
	if n > 1 {
		shape = shape.Clone()
		shape.Dimensions[0] /= n
	}
	return shape
}

// whole is a value of which each device has all: a sharded one is gathered, once for each value and function.
func (f *function) whole(v *value) *value {
	if v.parts <= 1 {
		return v
	}
	if w := f.gathered[v]; w != nil {
		return w
	}
	w := f.newValue(v.shape)
	fmt.Fprintf(&f.text, "%s = \"stablehlo.all_gather\"(%s) <{all_gather_dim = 0 : i64, "+
		"replica_groups = dense<[[%s]]> : tensor<1x%dxi64>}> : (%s) -> %s\n",
		w.name, v.name, join(first(v.parts)), v.parts, typeOf(v.here()), typeOf(v.shape))
	if f.gathered == nil {
		f.gathered = map[*value]*value{}
	}
	f.gathered[v] = w
	return w
}

// BufferFromShards copies to each device its part of a flat slice of shape: those of the first axis that are its turn.
func (b *Backend) BufferFromShards(flat any, shape shapes.Shape) (compute.Buffer, error) {
	n := len(b.devices)
	if shape.Rank() == 0 || shape.Dimensions[0]%n != 0 {
		return nil, errors.New("stablehlo backend: " + shape.String() + " is not to be divided")
	}
	here := part(shape, n)
	if b.dry != nil {
		return b.Blank(here), nil
	}
	all, size := reflect.ValueOf(flat), here.Size()
	return b.upload(here, func(d int) any { return all.Slice(d*size, (d+1)*size).Interface() })
}
