// Package stablehlo is a GoMLX compute backend that writes StableHLO text and runs it through a PJRT plug-in.
//
// It knows only the operations our graphs use; everything else reports compute.ErrNotImplemented. What it adds over
// the ready backend of go-xla: a parameter whose name ends in DonatedSuffix is written with jax.buffer_donor, so that
// XLA updates caches and optimiser state in place, and the number of aliased bytes can be asserted.
package stablehlo

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/notimplemented"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/go-xla/pjrt"
)

// DonatedSuffix marks, at the end of a parameter's name, that the program may overwrite its buffer.
const DonatedSuffix = "!donated"

// Backend runs programs on the devices of one PJRT client: on one of them, or the same program on several at once, a
// replica on each. A buffer is then one array for each device.
type Backend struct {
	notimplemented.Backend
	plugin    *plugin
	options   string // of the client
	client    *pjrt.Client
	devices   []int     // numbers among the client's of those that programs run on
	compiled  *compiled // where there are several
	kept      *kept     // on disk; nil: nowhere
	announce  Announce  // before one is compiled, and not taken from where it is kept; nil: nobody asks
	precision string    // of matrix products of float32
	clusters  bool      // a GPU's blocks can share memory in clusters
	dry       *dry      // in place of plug-in and client; nil where there is a device
	turns     turns     // of the client's devices; nil: all at once
	borrowed  bool      // the client is another's, who finalizes it
	finalized bool
}

// New loads the plug-in at path (a shared library) and opens a client on it. Programs run on its first numDevices
// devices; that there are fewer is a *TooFewError. Where the devices are CPUs there are as many as are asked for, which
// share the machine's.
func New(path string, numDevices int) (*Backend, error) {
	plugin, err := openPlugin(path)
	if err != nil {
		return nil, err
	}
	options, precision := pjrt.NamedValuesMap{}, "DEFAULT"
	if plugin.IsCUDA() {
		// Processes may share the device, so memory is taken as it is needed, all but a reserve. DEFAULT would round
		// factors to TF32 there, whose 10 bits set sampler and trainer further apart than a run in float32 tolerates.
		options["preallocate"], options["memory_fraction"], precision = false, float32(0.95), "HIGHEST"
	} else if numDevices > 1 {
		options["cpu_device_count"] = int64(numDevices)
	}
	defer guardSignals()()
	client, err := plugin.NewClient(options)
	if err != nil {
		return nil, err
	}
	b := &Backend{plugin: plugin, client: client, options: fmt.Sprint(options), precision: precision,
		devices: first(numDevices), turns: turnsOf(plugin.IsCUDA())}
	b.clusters = plugin.IsCUDA() && hasClusters(plugin.attribute(client, "compute_capability"))
	if numDevices > 1 {
		b.compiled = &compiled{programs: map[string]program{}}
	}
	if names := b.Devices(); len(names) < numDevices {
		b.Finalize()
		return nil, &TooFewError{Want: numDevices, Found: names}
	}
	return b, nil
}

// IsGPU reports whether the device is a GPU.
func (b *Backend) IsGPU() bool {
	if b.dry != nil {
		return b.dry.gpu
	}
	return b.plugin.IsCUDA()
}

// hasClusters reports whether a GPU of a compute capability, "9.0", has clusters of blocks.
func hasClusters(capability string) bool {
	major, _, _ := strings.Cut(capability, ".")
	n, err := strconv.Atoi(major)
	return err == nil && n >= 9
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
	text := fmt.Sprintf("%s (%s)", b.client.Platform(), b.client.PlatformVersion())
	if n := len(b.devices); n > 1 {
		text = fmt.Sprintf("%d devices of %s", n, text)
	}
	return text
}

// NumDevices implements compute.Backend: it is the number of those that programs run on.
func (b *Backend) NumDevices() int { return len(b.devices) }

// Finalize implements compute.Backend. Programs and buffers are invalid afterwards.
func (b *Backend) Finalize() {
	if b.borrowed {
		return
	}
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
	c.Functions = true
	c.Operations[compute.OpTypeFusedScaledDotProductAttention] = true
	c.Operations[compute.OpTypeFusedScaledDotProductAttentionVJP] = true
	return c
}

// Builder implements compute.Backend.
func (b *Backend) Builder(name string) compute.Builder {
	return &builder{backend: b, name: name}
}

// BufferFromFlatData copies a flat slice to each device.
func (b *Backend) BufferFromFlatData(_ compute.DeviceNum, flat any, shape shapes.Shape) (compute.Buffer, error) {
	if b.dry != nil {
		return b.Blank(shape), nil
	}
	return b.upload(shape, func(int) any { return flat })
}

// buffer is an array on each device of its backend.
type buffer struct {
	backend *Backend
	pjrt    []*pjrt.Buffer
	shape   shapes.Shape
}

func (b *buffer) Backend() compute.Backend              { return b.backend }
func (b *buffer) Shape() (shapes.Shape, error)          { return b.shape, nil }
func (b *buffer) DeviceNum() (compute.DeviceNum, error) { return 0, nil }
func (b *buffer) Data() (any, error)                    { return nil, compute.ErrNotImplemented }
func (b *buffer) CopyToDevice(compute.DeviceNum) (compute.Buffer, error) {
	return nil, compute.ErrNotImplemented
}

// Finalize implements compute.Buffer.
func (b *buffer) Finalize() error {
	defer b.backend.turn(false)()
	var errs []error
	for _, p := range b.pjrt {
		errs = append(errs, p.Destroy())
	}
	return errors.Join(errs...)
}

// ToFlatData copies the buffer into flat, waiting for it to be computed. Of several devices it is the first's.
func (b *buffer) ToFlatData(flat any) error {
	data := dtypes.UnsafeByteSliceFromAny(flat)
	var pin runtime.Pinner
	pin.Pin(b.pjrt[0])
	defer pin.Unpin()
	defer b.backend.turn(false)()
	return b.pjrt[0].ToHost(data)
}

// Executable is a compiled program.
type Executable struct {
	backend  *Backend
	program  program
	shared   bool // others run it too
	names    []string
	in, out  []shapes.Shape
	ran      atomic.Bool
	HLO      string // the StableHLO text it was compiled from
	NumAlias int64  // bytes of inputs that outputs are written over
}

// Finalize implements compute.Executable.
func (e *Executable) Finalize() {
	if e.HasProgram() && !e.shared {
		_ = e.program.Destroy()
	}
}

// Inputs implements compute.Executable.
func (e *Executable) Inputs() ([]string, []shapes.Shape) { return e.names, e.in }

// Outputs implements compute.Executable.
func (e *Executable) Outputs() []shapes.Shape { return e.out }

// Execute implements compute.Executable. Donated inputs are invalid afterwards.
func (e *Executable) Execute(inputs []compute.Buffer, donate []bool, _ compute.DeviceNum) ([]compute.Buffer, error) {
	return e.execute(inputs, donate, true)
}

// Start is Execute that does not wait for the end: what fails after it returned is told by what reads the results.
func (e *Executable) Start(inputs []compute.Buffer, donate []bool) ([]compute.Buffer, error) {
	return e.execute(inputs, donate, false)
}

func (e *Executable) execute(inputs []compute.Buffer, donate []bool, wait bool) ([]compute.Buffer, error) {
	if !e.HasProgram() {
		return e.pretend(inputs, donate), nil
	}
	devices := e.backend.devices
	var in []*pjrt.Buffer // all of the first device, then all of the next
	var donated []bool
	for d := range devices {
		for _, x := range inputs {
			in = append(in, x.(*buffer).pjrt[d])
		}
		donated = append(donated, donate...)
	}
	call := e.program.Execute(in...).DonateNone()
	if len(devices) == 1 {
		call = call.OnDeviceByNum(devices[0])
	}
	if len(donate) > 0 {
		call = call.SetDonate(donated)
	}
	first := !e.ran.Load()
	done := e.backend.turn(first)
	if first { // when libraries compile what they left open
		defer guardSignals()()
	}
	results, err := e.backend.plugin.execute(call, wait)
	done()
	if err != nil {
		return nil, err
	}
	e.ran.Store(true)
	out := make([]compute.Buffer, len(e.out))
	for i, shape := range e.out {
		x := &buffer{backend: e.backend, shape: shape}
		for d := range devices {
			x.pjrt = append(x.pjrt, results[d*len(out)+i])
		}
		out[i] = x
	}
	return out, nil
}
