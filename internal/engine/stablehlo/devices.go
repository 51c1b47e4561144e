package stablehlo

import (
	"fmt"
	"strings"
	"sync"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"
)

// TooFewError says that a plug-in has fewer devices than are asked for.
type TooFewError struct {
	Want  int
	Found []string // their names
}

func (e *TooFewError) Error() string {
	return fmt.Sprintf("%d devices are asked for, and there are %d: %s",
		e.Want, len(e.Found), strings.Join(e.Found, ", "))
}

func first(n int) []int {
	devices := make([]int, n)
	for i := range devices {
		devices[i] = i
	}
	return devices
}

// On returns a backend of device i alone, of those that b runs programs on. It is good as long as b is, and finalizing
// it does nothing. What one of them compiles runs on all, so each text is compiled once.
func (b *Backend) On(i int) *Backend {
	if len(b.devices) == 1 {
		return b
	}
	return &Backend{plugin: b.plugin, client: b.client, precision: b.precision, clusters: b.clusters, dry: b.dry,
		devices: b.devices[i : i+1], compiled: b.compiled, kept: b.kept, announce: b.announce, turns: b.turns,
		borrowed: true}
}

// Part returns what device i has of a buffer: the same memory, which lives as long as the buffer does.
func Part(x compute.Buffer, i int) compute.Buffer {
	whole, ok := x.(*buffer)
	if !ok || len(whole.pjrt) == 1 {
		return x
	}
	return &buffer{backend: whole.backend.On(i), pjrt: whole.pjrt[i : i+1], shape: whole.shape}
}

// BufferFromEach copies to each device a flat slice of its own.
func (b *Backend) BufferFromEach(flat []any, shape shapes.Shape) (compute.Buffer, error) {
	if b.dry != nil {
		return b.Blank(shape), nil
	}
	return b.upload(shape, func(d int) any { return flat[d] })
}

func (b *Backend) upload(shape shapes.Shape, flat func(d int) any) (compute.Buffer, error) {
	x := &buffer{backend: b, shape: shape}
	for d, device := range b.devices {
		done := b.turn(false)
		p, err := b.client.BufferFromHost().FromFlatDataWithDimensions(flat(d),
			shape.Dimensions).ToDeviceNum(device).Done()
		done()
		if err != nil {
			_ = x.Finalize() // the error before it says more
			return nil, err
		}
		x.pjrt = append(x.pjrt, p)
	}
	return x, nil
}

// compiled are the programs of a client of several devices, by their text, which says whether it is for one or all.
type compiled struct {
	sync.Mutex
	programs map[string]program
}

// compile compiles a text, unless it was compiled for another of several devices.
func (b *Backend) compile(text string, tokens int) (program, error) {
	if b.compiled == nil {
		return b.load(text, tokens)
	}
	b.compiled.Lock()
	defer b.compiled.Unlock()
	p, ok := b.compiled.programs[text]
	if !ok {
		var err error
		if p, err = b.load(text, tokens); err != nil {
			return p, err
		}
		b.compiled.programs[text] = p
	}
	return p, nil
}

// DistributedSPMD implements compute.Builder for a replica on each device of the backend.
func (b *builder) DistributedSPMD(numDevices int) error {
	if numDevices != len(b.backend.devices) {
		return fmt.Errorf("stablehlo backend: a program for %d devices of %d", numDevices, len(b.backend.devices))
	}
	return nil
}

// DeviceAssignment implements compute.Builder: replicas are in the order of the devices.
func (b *builder) DeviceAssignment(devices ...compute.DeviceNum) error {
	for i, d := range devices {
		if int(d) != i {
			return fmt.Errorf("stablehlo backend: devices in the order %v: %w", devices, compute.ErrNotImplemented)
		}
	}
	return nil
}

// replicas are the module's attributes where it has several.
func (b *builder) replicas() string {
	if n := len(b.backend.devices); n > 1 {
		return fmt.Sprintf(" attributes {mhlo.num_replicas = %d : i32, mhlo.num_partitions = 1 : i32}", n)
	}
	return ""
}

// AllReduce implements compute.Function for sums: each operand becomes the sum of what the devices of a group have.
func (f *function) AllReduce(
	operands []compute.Value, by compute.ReduceOpType, groups [][]int,
) ([]compute.Value, error) {
	if by != compute.ReduceOpSum {
		return nil, fmt.Errorf("stablehlo backend: reducing over devices by %s: %w", by, compute.ErrNotImplemented)
	}
	var rows []string
	for _, g := range groups {
		rows = append(rows, "["+join(g)+"]")
	}
	attribute := fmt.Sprintf("replica_groups = dense<[%s]> : tensor<%dx%dxi64>",
		strings.Join(rows, ", "), len(groups), len(groups[0]))
	var out []compute.Value
	for _, x := range operands {
		in := x.(*value)
		r, scalar := f.newValue(in.shape), typeOf(shapes.Make(in.shape.DType))
		fmt.Fprintf(&f.text, "%s = \"stablehlo.all_reduce\"(%s) <{%s}> ({\n^bb0(%%x: %s, %%y: %s):\n",
			r.name, in.name, attribute, scalar, scalar)
		fmt.Fprintf(&f.text, "%%sum = stablehlo.add %%x, %%y : %s\nstablehlo.return %%sum : %s\n}) : (%s) -> %s\n",
			scalar, scalar, typeOf(in.shape), typeOf(in.shape))
		out = append(out, r)
	}
	return out, nil
}
