package main

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
	"hone/internal/learn/model"
)

// randomWeights makes weights on the device, in the order of Spec.Weights: a program for each shape, run once for each
// weight. Matrices have elements of about the size that such models have, norms are about 1. Of what is sharded each
// device makes its part.
func randomWeights(e *engine.Engine, s model.Spec) ([]engine.Buffer, error) {
	programs := map[string]*engine.Program{}
	var weights []engine.Buffer
	whole := s.WeightParams()
	for i, p := range s.PartParams() {
		key := p.Shape.String()
		if programs[key] == nil {
			program, err := e.Compile("weights", []engine.Param{{Name: "seed", Shape: engine.F32()},
				{Name: "first", Shape: engine.F32()}}, func(in []*graph.Node) []*graph.Node {
				return []*graph.Node{graph.ConvertDType(random(in[0], in[1], p.Shape), p.Shape.DType)}
			})
			if err != nil {
				return nil, err
			}
			programs[key] = program
		}
		seed, err := e.Upload([]float32{float32(i) * 0.37})
		if err != nil {
			return nil, err
		}
		first := make([]any, e.NumDevices()) // row of the whole that a device begins with
		for d := range first {
			first[d] = []float32{0}
			if whole[i].Sharded {
				first[d] = []float32{float32(d * p.Shape.Dimensions[0])}
			}
		}
		from, err := e.UploadEach(first)
		if err != nil {
			return nil, err
		}
		out, err := programs[key].Run(seed, from)
		if err != nil {
			return nil, err
		}
		engine.Free(seed, from)
		weights = append(weights, out[0])
	}
	return weights, nil
}

// random is a sine of a sine: one alone, of a sum over the axes, would be a matrix of rank 2.
func random(seed, first *graph.Node, shape shapes.Shape) *graph.Node {
	f32 := shapes.Make(dtypes.Float32, shape.Dimensions...)
	x := graph.BroadcastToDims(seed, shape.Dimensions...)
	for axis := range shape.Rank() {
		at := graph.Iota(seed.Graph(), f32, axis)
		if axis == 0 {
			at = graph.Add(at, graph.BroadcastToDims(first, shape.Dimensions...))
		}
		x = graph.Add(x, graph.MulScalar(at, []float64{12.9898, 78.233}[axis]))
	}
	x = graph.Sin(graph.MulScalar(graph.Sin(x), 7919))
	if shape.Rank() == 1 {
		return graph.AddScalar(graph.MulScalar(x, 0.1), 1)
	}
	return graph.MulScalar(x, 0.03)
}
