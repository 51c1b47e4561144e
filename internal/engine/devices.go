package engine

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/distributed"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine/stablehlo"
	"hone/internal/fault"
)

// NumDevices returns how many devices programs run on.
func (e *Engine) NumDevices() int {
	if b, ok := e.backend.(*stablehlo.Backend); ok {
		return b.NumDevices()
	}
	return 1
}

// On returns an engine of device i alone, for what the devices do apart from each other; where there is one device it
// is e. It is good until e is closed, and not to be closed itself.
func (e *Engine) On(i int) *Engine {
	if e.NumDevices() == 1 {
		return e
	}
	return &Engine{backend: e.backend.(*stablehlo.Backend).On(i), isGPU: e.isGPU, bf16: e.bf16, account: e.account}
}

// Part returns what device i has of a buffer, for On(i). It is the same memory: to release either is to release it.
func Part(b Buffer, i int) Buffer { return stablehlo.Part(b, i) }

// Parts is Part of several buffers.
func Parts(buffers []Buffer, i int) []Buffer {
	parts := make([]Buffer, len(buffers))
	for j, b := range buffers {
		parts[j] = Part(b, i)
	}
	return parts
}

// UploadEach copies to each device a flat slice of its own, of float32 or int32; where there is one slice, to all the
// same.
func (e *Engine) UploadEach(flat []any, dims ...int) (Buffer, error) {
	if len(flat) == 1 {
		return e.Upload(flat[0], dims...)
	}
	if n := e.NumDevices(); len(flat) != n {
		return nil, fmt.Errorf("%d arrays for %d devices", len(flat), n)
	}
	return e.backend.(*stablehlo.Backend).BufferFromEach(flat, shapes.Make(dtypeOf(flat[0]), dims...))
}

// AllReduce returns the sum of what the devices have of x, on each of them; where there is one device it is x.
func AllReduce(x *graph.Node) *graph.Node {
	if x.Graph().NumDevices() == 1 {
		return x
	}
	return x.Graph().Distributed().AllReduceOne(x, compute.ReduceOpSum)
}

// meshAxis is the name of the one axis that several devices are laid out along.
const meshAxis = "data"

// spread makes a program one that runs on all devices, and returns how they are laid out; nil where there is one.
func (e *Engine) spread(g *graph.Graph) (*distributed.DeviceMesh, error) {
	n := e.NumDevices()
	if n == 1 {
		return nil, nil
	}
	mesh, err := distributed.NewDeviceMesh([]int{n}, []string{meshAxis})
	if err != nil {
		return nil, err
	}
	return mesh, g.SetSPMD(mesh)
}

// shardingSpec says that devices hold parts of a parameter; nil where each has the whole.
func shardingSpec(mesh *distributed.DeviceMesh, p Param) *distributed.ShardingSpec {
	if mesh == nil || !p.Sharded {
		return nil
	}
	return &distributed.ShardingSpec{Mesh: mesh, Axes: []distributed.AxisSpec{{meshAxis}}}
}

// CheckDevices is an error where n devices are asked for and there is no plug-in: before anything is opened. How many a
// plug-in has is known when it is opened.
func CheckDevices(plugin string, n int) error {
	if plugin != "" || n <= 1 {
		return nil
	}
	return tooFew(n, 1, "pure Go computes on the machine as one")
}

func tooFew(want, found int, why string) error {
	return &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("there are not %d devices but %d", want, found),
		Where: fmt.Sprintf("engine.devices: %d",
			want), Why: why, Next: fmt.Sprintf("set engine.devices to %d, or use a machine with more; "+
			"hone doctor shows the devices", found)}
}
