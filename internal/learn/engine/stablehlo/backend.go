// Package stablehlo is a GoMLX compute backend that writes StableHLO text and runs it through a PJRT plug-in.
//
// It knows only the operations our graphs use; everything else reports compute.ErrNotImplemented. What it adds over
// the ready backend of go-xla: a parameter whose name ends in DonatedSuffix is written with jax.buffer_donor, so that
// XLA updates caches and optimiser state in place, and the number of aliased bytes can be asserted.
package stablehlo

import (
	"fmt"
	"runtime"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/notimplemented"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/go-xla/pjrt"
)

// DonatedSuffix marks, at the end of a parameter's name, that the program may overwrite its buffer.
const DonatedSuffix = "!donated"

// Backend runs programs on device 0 of one PJRT client.
type Backend struct {
	notimplemented.Backend
	plugin    *pjrt.Plugin
	client    *pjrt.Client
	precision string // of matrix products of float32
	dry       *dry   // in place of plug-in and client; nil where there is a device
	finalized bool
}

// New loads the plug-in at path (a shared library) and opens a client on it.
func New(path string) (*Backend, error) {
	plugin, err := pjrt.GetPlugin(path)
	if err != nil {
		return nil, err
	}
	options, precision := pjrt.NamedValuesMap{}, "DEFAULT"
	if plugin.IsCUDA() {
		// Processes may share the device, so memory is taken as it is needed, all but a reserve. DEFAULT would round factors to TF32
		// there, whose 10 bits set sampler and trainer further apart than a run in float32 tolerates.
		options["preallocate"], options["memory_fraction"], precision = false, float32(0.93), "HIGHEST"
	}
	client, err := plugin.NewClient(options)
	if err != nil {
		return nil, err
	}
	return &Backend{plugin: plugin, client: client, precision: precision}, nil
}

// IsGPU reports whether the device is a GPU.
func (b *Backend) IsGPU() bool {
	if b.dry != nil {
		return b.dry.gpu
	}
	return b.plugin.IsCUDA()
}

// Name implements compute.Backend.
func (b *Backend) Name() string { return "stablehlo" }

// String implements compute.Backend.
func (b *Backend) String() string { return b.Name() }

// Description names platform, its version and the plug-in.
func (b *Backend) Description() string {
	if b.dry != nil {
		return "no device"
	}
	return fmt.Sprintf("%s (%s)", b.client.Platform(), b.client.PlatformVersion())
}

// NumDevices implements compute.Backend.
func (b *Backend) NumDevices() int {
	if b.dry != nil {
		return 1
	}
	return b.client.NumDevices()
}

// Finalize implements compute.Backend. Programs and buffers are invalid afterwards.
func (b *Backend) Finalize() {
	if b.dry != nil {
		b.finalized = true
	}
	if !b.finalized {
		b.finalized = true
		_ = b.client.Destroy() // the process is about to end or to open another client: there is nothing to do about it
	}
}

// IsFinalized implements compute.Backend.
func (b *Backend) IsFinalized() bool { return b.finalized }

// Capabilities implements compute.Backend.
func (b *Backend) Capabilities() compute.Capabilities {
	c := b.Backend.Capabilities()
	for dtype := range dtypeNames {
		c.DTypes[dtype] = true
	}
	c.Operations[compute.OpTypeFusedScaledDotProductAttention] = true
	c.Operations[compute.OpTypeFusedScaledDotProductAttentionVJP] = true
	return c
}

// Builder implements compute.Backend.
func (b *Backend) Builder(name string) compute.Builder {
	return &builder{backend: b, name: name}
}

// BufferFromFlatData copies a flat slice to the device.
func (b *Backend) BufferFromFlatData(_ compute.DeviceNum, flat any, shape shapes.Shape) (compute.Buffer, error) {
	if b.dry != nil {
		return b.Blank(shape), nil
	}
	p, err := b.client.BufferFromHost().FromFlatDataWithDimensions(flat, shape.Dimensions).Done()
	if err != nil {
		return nil, err
	}
	return &buffer{backend: b, pjrt: p, shape: shape}, nil
}

type buffer struct {
	backend *Backend
	pjrt    *pjrt.Buffer
	shape   shapes.Shape
}

func (b *buffer) Backend() compute.Backend              { return b.backend }
func (b *buffer) Finalize() error                       { return b.pjrt.Destroy() }
func (b *buffer) Shape() (shapes.Shape, error)          { return b.shape, nil }
func (b *buffer) DeviceNum() (compute.DeviceNum, error) { return 0, nil }
func (b *buffer) Data() (any, error)                    { return nil, compute.ErrNotImplemented }
func (b *buffer) CopyToDevice(compute.DeviceNum) (compute.Buffer, error) {
	return nil, compute.ErrNotImplemented
}

// ToFlatData copies the buffer into flat, waiting for it to be computed.
func (b *buffer) ToFlatData(flat any) error {
	data := dtypes.UnsafeByteSliceFromAny(flat)
	var pin runtime.Pinner
	pin.Pin(b.pjrt)
	defer pin.Unpin()
	return b.pjrt.ToHost(data)
}

// Executable is a compiled program.
type Executable struct {
	backend  *Backend
	loaded   *pjrt.LoadedExecutable
	names    []string
	in, out  []shapes.Shape
	HLO      string // the StableHLO text it was compiled from
	NumAlias int64  // bytes of inputs that outputs are written over
}

// Finalize implements compute.Executable.
func (e *Executable) Finalize() {
	if e.loaded != nil {
		_ = e.loaded.Destroy()
	}
}

// Inputs implements compute.Executable.
func (e *Executable) Inputs() ([]string, []shapes.Shape) { return e.names, e.in }

// Outputs implements compute.Executable.
func (e *Executable) Outputs() []shapes.Shape { return e.out }

// Execute implements compute.Executable. Donated inputs are invalid afterwards.
func (e *Executable) Execute(inputs []compute.Buffer, donate []bool, _ compute.DeviceNum) ([]compute.Buffer, error) {
	if e.loaded == nil {
		return e.pretend(inputs, donate), nil
	}
	in := make([]*pjrt.Buffer, len(inputs))
	for i, x := range inputs {
		in[i] = x.(*buffer).pjrt
	}
	call := e.loaded.Execute(in...).DonateNone()
	if len(donate) > 0 {
		call = call.SetDonate(donate)
	}
	results, err := call.Done()
	if err != nil {
		return nil, err
	}
	out := make([]compute.Buffer, len(results))
	for i, r := range results {
		out[i] = &buffer{backend: e.backend, pjrt: r, shape: e.out[i]}
	}
	return out, nil
}
