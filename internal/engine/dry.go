package engine

import (
	"github.com/gomlx/compute/shapes"

	"hone/internal/engine/stablehlo"
)

// Dry is an engine without a device. Samplers and trainers work on it as on any: it notes which programs they compile
// and how much memory they hold, and computes nothing. Buffers read as zeros.
type Dry struct {
	*Engine
	backend *stablehlo.Backend
	account *account
}

// account is what a dry engine notes.
type account struct {
	live     func() int64
	programs []*Program
	most     map[*Program]int64
}

// OpenDry returns an engine without a device whose programs are those for a number of GPUs, or of CPUs. What it says of
// bytes is of each.
func OpenDry(gpu bool, numDevices int) *Dry {
	b := stablehlo.NewDry(gpu, numDevices)
	a := &account{live: b.Live, most: map[*Program]int64{}}
	return &Dry{&Engine{backend: b, isGPU: gpu, account: a}, b, a}
}

// Blank makes a buffer of a shape.
func (d *Dry) Blank(shape shapes.Shape) Buffer { return d.backend.Blank(shape) }

// BlankParam makes a buffer for a program's input: what one device has of it.
func (d *Dry) BlankParam(p Param) (Buffer, error) {
	if p.Sharded && d.NumDevices() > 1 {
		return d.backend.BufferFromShards(nil, p.Shape)
	}
	return d.Blank(p.Shape), nil
}

// Live returns the bytes of all buffers that are not released.
func (d *Dry) Live() int64 { return d.account.live() }

// Programs returns the programs in the order they were compiled in.
func (d *Dry) Programs() []*Program { return d.account.programs }

// MostLive returns the most bytes that buffers held while the program ran: its inputs, its outputs, and what belongs to
// others. It is 0 where the program did not run.
func (d *Dry) MostLive(p *Program) int64 { return d.account.most[p] }

// note takes in what is live once a program has run.
func (a *account) note(p *Program) {
	if a != nil {
		a.most[p] = max(a.most[p], a.live())
	}
}
