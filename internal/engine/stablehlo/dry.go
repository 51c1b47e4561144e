package stablehlo

import (
	"reflect"
	"sync/atomic"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"
)

// NewDry returns a backend without a device: it writes programs and compiles none, its buffers have a shape and a size
// and no contents (they read as zeros), and running a program makes such buffers of its outputs. What a run would
// compile and hold is found out so without any of it. gpu says whether the programs are those for one. Of several
// devices it is one that is accounted for: all hold as much.
func NewDry(gpu bool, numDevices int) *Backend {
	return &Backend{dry: &dry{gpu: gpu}, precision: "DEFAULT", clusters: gpu, devices: first(numDevices)}
}

// dry is the account of a backend without a device.
type dry struct {
	gpu  bool
	live atomic.Int64 // bytes of buffers that were made and not released; a sampler has a goroutine of its own
}

// Live returns the bytes of all buffers of a dry backend that are not released.
func (b *Backend) Live() int64 { return b.dry.live.Load() }

// Blank makes a buffer of a dry backend.
func (b *Backend) Blank(shape shapes.Shape) compute.Buffer {
	x := &blank{buffer: buffer{backend: b, shape: shape}}
	b.dry.live.Add(x.bytes())
	return x
}

// blank is a buffer without contents.
type blank struct {
	buffer
	released bool
}

func (x *blank) bytes() int64 { return int64(x.shape.ByteSize()) }

// Finalize implements compute.Buffer.
func (x *blank) Finalize() error {
	if !x.released {
		x.released = true
		x.backend.dry.live.Add(-x.bytes())
	}
	return nil
}

// ToFlatData implements compute.Buffer.
func (x *blank) ToFlatData(flat any) error {
	reflect.ValueOf(flat).Clear()
	return nil
}

// pretend is Execute without a device.
func (e *Executable) pretend(inputs []compute.Buffer, donate []bool) []compute.Buffer {
	for i, x := range inputs {
		if i < len(donate) && donate[i] {
			_ = x.Finalize() // a blank buffer's cannot fail
		}
	}
	out := make([]compute.Buffer, len(e.out))
	for i, shape := range e.out {
		out[i] = e.backend.Blank(shape)
	}
	return out
}
