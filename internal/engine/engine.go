// Package engine compiles and runs graph programs on a device: a PJRT plug-in where there is one, GoMLX's pure-Go
// backend where there is none. It is the only package that knows which.
package engine

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/dtypes/bfloat16"
	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine/stablehlo"
	"hone/internal/fault"
)

// Engine owns a device, or several: programs then run on all at once, and a buffer is an array of the same shape on
// each. Buffers and programs belong to the engine that made them.
type Engine struct {
	backend             compute.Backend
	pureGo, isGPU, bf16 bool
	// compiled guards what Compile notes: each sampler compiles, in a goroutine of its own, what a request first needs.
	compiled sync.Mutex
	// NumCompiled counts compilations; it stands still in a run whose shapes are settled. NumLoaded counts programs
	// that were kept on disk, and so needed none.
	NumCompiled, NumLoaded int
	account                *account   // of a dry engine; nil otherwise
	zeroing                sync.Mutex // a trainer and its samplers may want zeros at a time
	zeros                  map[string]*Program
}

// DType says what weights, activations and caches are. Norms, softmax, logits, adapters, their gradients and the
// optimiser are float32 in any case.
type DType string

// The values of Options.DType. DTypeAuto is bf16 on a GPU and f32 elsewhere.
const (
	DTypeAuto DType = "auto"
	DTypeF32  DType = "f32"
	DTypeBF16 DType = "bf16"
)

// IsBF16 reports what t means on a GPU or elsewhere.
func (t DType) IsBF16(gpu bool) bool { return t == DTypeBF16 || t != DTypeF32 && gpu }

// Options choose the device. The zero value is the pure-Go backend.
type Options struct {
	Plugin string // path of a PJRT plug-in; empty: pure Go
	DType  DType  // empty: DTypeAuto
	// Devices is how many of the plug-in's devices to use (1). CPUs are as many as are asked for, and share the
	// machine.
	Devices int
	Cache   Cache
	// Compiling is told the name of each program before a plug-in compiles it, which may take minutes, and how many
	// tokens a row of its ids has, 0 where it is given none; those that are kept are none. What it returns is called
	// when the program is compiled. It may be called from several goroutines; nil: nobody is told.
	Compiling func(program string, tokens int) (compiled func())
}

// Cache is where compiled programs are kept, for those who open the same devices later. The zero value keeps none.
type Cache struct {
	Folder string // made where it is not there
	Bytes  int64  // of the programs in it, at most: those used longest ago are removed; 0 keeps none
	// Environment is what of the process's environment the compiler reads: programs that were compiled with another are
	// not used.
	Environment string
	Notice      func(text string) // told once where programs cannot be kept; may be nil
}

// Open opens the device.
func Open(o Options) (*Engine, error) {
	if o.Plugin != "" {
		l, err := Probe(o.Plugin)
		if err != nil {
			return nil, err
		}
		b, err := stablehlo.New(l.Path, max(1, o.Devices))
		if few, ok := errors.AsType[*stablehlo.TooFewError](err); ok {
			return nil, tooFew(few.Want, len(few.Found), "the plug-in has "+strings.Join(few.Found, ", "))
		}
		if err != nil {
			return nil, &fault.Error{Code: fault.CodeExhausted, What: "cannot open the accelerator plug-in",
				Where: o.Plugin, Err: err, Next: "hone engine install cpu"}
		}
		if c := o.Cache; c.Folder != "" && c.Bytes > 0 {
			b.Keep(stablehlo.OpenPrograms(c.Folder, c.Bytes, c.Notice), c.Environment)
		}
		b.Announce(o.Compiling)
		return &Engine{backend: b, isGPU: b.IsGPU(), bf16: o.DType.IsBF16(b.IsGPU())}, nil
	}
	if o.DType == DTypeBF16 {
		return nil, &fault.Error{Code: fault.CodeUsage, What: "pure Go computes in f32 only",
			Where: "engine.dtype: bf16",
			Next:  "set engine.dtype to auto, or install a plug-in: hone engine install cpu"}
	}
	if err := CheckDevices("", o.Devices); err != nil {
		return nil, err
	}
	b, err := gobackend.New("")
	if err == nil {
		err = unlimit(b)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the pure-Go backend: %w", err)
	}
	return &Engine{backend: b, pureGo: true}, nil
}

// unlimit lets the pure-Go backend use as many workers as it likes: its default pool can deadlock when several large
// products are ready at once (measured, docs/log). Its option for that, "parallelism=-1", writes to stdout, which is
// for data.
func unlimit(b compute.Backend) error {
	workers := reflect.Indirect(reflect.ValueOf(b)).FieldByName("Workers")
	if workers.IsValid() && workers.CanInterface() {
		if pool, ok := workers.Interface().(interface{ SetMaxParallelism(int) }); ok {
			pool.SetMaxParallelism(-1)
			return nil
		}
	}
	return errors.New("this version of it does not show its workers")
}

// PureGo reports whether the engine runs without a plug-in, and so without dynamic slices and donation.
func (e *Engine) PureGo() bool { return e.pureGo }

// IsGPU reports whether the device is a GPU, where wide programs are cheap and each compilation is dear.
func (e *Engine) IsGPU() bool { return e.isGPU }

// IsBF16 reports whether weights, activations and caches are bfloat16.
func (e *Engine) IsBF16() bool { return e.bf16 }

// Description names the device for people.
func (e *Engine) Description() string { return e.backend.Description() }

// Close releases the device; its buffers and programs are invalid afterwards.
func (e *Engine) Close() { e.backend.Finalize() }

// Buffer is an array on the device.
type Buffer = compute.Buffer

// Param declares one input of a program.
type Param struct {
	Name  string
	Shape shapes.Shape
	// Sharded inputs are cut along their first axis, which the number of devices divides: each device holds a part, and
	// gathers the whole where it is read. Shape is that of the whole.
	Sharded bool
	// Donated inputs are invalid after the run; an output of the same shape is written over them.
	Donated bool
}

// NumberNames are n names of inputs or results that are one list: "cache0", "cache1" and so on.
func NumberNames(name string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = name + strconv.Itoa(i)
	}
	return names
}

// NamesOf are what inputs are called, of results that take their places.
func NamesOf(params []Param) []string {
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.Name
	}
	return names
}

// F32 is the shape of an array of float32.
func F32(dims ...int) shapes.Shape { return shapes.Make(dtypes.Float32, dims...) }

// I32 is the shape of an array of 32-bit integers.
func I32(dims ...int) shapes.Shape { return shapes.Make(dtypes.Int32, dims...) }

// Program is a compiled graph.
type Program struct {
	name       string
	results    []string
	backend    compute.Backend
	executable compute.Executable
	donate     []bool
	numParams  int
	isGPU      bool
	account    *account
}

// mostTogether is how many programs are compiled at one time: each takes a gigabyte or more of the host's memory.
const mostTogether = 8

// Together does what compiles programs, on a GPU several at one time, as compiling one leaves most of the host's cores
// idle. Elsewhere the compiler takes them all itself, and where there is no device programs are noted in their order.
func (e *Engine) Together(compile ...func() error) error {
	if !e.isGPU || e.account != nil {
		for _, one := range compile {
			if err := one(); err != nil {
				return err
			}
		}
		return nil
	}
	errs, turn := make([]error, len(compile)), make(chan struct{}, mostTogether)
	var all sync.WaitGroup
	for i, one := range compile {
		all.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			errs[i] = one()
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// Compile builds and compiles a program. build gets the parameters as nodes, in order, and returns the outputs; it
// may panic, as GoMLX's graph functions do, which becomes the error. results are what a person calls the outputs: all
// of them, or none.
func (e *Engine) Compile(
	name string, params []Param, build func(in []*graph.Node) []*graph.Node, results ...string,
) (p *Program, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("building the program %s: %v", name, r)
		}
	}()
	g := graph.NewGraph(e.backend, name)
	mesh, err := e.spread(g)
	if err != nil {
		return nil, err
	}
	p = &Program{name: name, results: results, backend: e.backend, numParams: len(params), isGPU: e.isGPU,
		account: e.account}
	in := make([]*graph.Node, len(params))
	for i, q := range params {
		label := q.Name
		if q.Donated {
			label += stablehlo.DonatedSuffix
		}
		in[i] = graph.ShardedParameter(g, label, q.Shape, shardingSpec(mesh, q))
		p.donate = append(p.donate, q.Donated)
	}
	out := build(in)
	if len(results) > 0 && len(results) != len(out) {
		return nil, fmt.Errorf("building the program %s: %d results have %d names", name, len(out), len(results))
	}
	if err := g.Compile(out...); err != nil {
		return nil, err
	}
	p.executable = g.Executable()
	e.compiled.Lock()
	defer e.compiled.Unlock()
	if x, ok := p.executable.(*stablehlo.Executable); ok && x.FromCache() {
		e.NumLoaded++
	} else {
		e.NumCompiled++
	}
	if e.account != nil {
		e.account.programs = append(e.account.programs, p)
	}
	return p, nil
}

// Run executes the program. The caller owns the outputs; donated inputs are gone, the others untouched.
func (p *Program) Run(in ...Buffer) ([]Buffer, error) {
	if len(in) != p.numParams {
		return nil, fmt.Errorf("program %s takes %d buffers, got %d", p.name, p.numParams, len(in))
	}
	out, err := p.executable.Execute(in, p.donate, 0)
	return p.ran(out, err)
}

// Start is Run that does not wait for a GPU: the outputs may still have to be computed, and what fails then is told by
// what reads them.
func (p *Program) Start(in ...Buffer) ([]Buffer, error) {
	x, ok := p.executable.(*stablehlo.Executable)
	if !ok || !p.isGPU || len(in) != p.numParams {
		return p.Run(in...)
	}
	out, err := x.Start(in, p.donate)
	return p.ran(out, err)
}

// ran is what an execution returns.
func (p *Program) ran(out []Buffer, err error) ([]Buffer, error) {
	if stablehlo.OutOfMemory(err) {
		return nil, outOfMemory(err, "program "+p.name)
	}
	if err != nil {
		return nil, fmt.Errorf("running the program %s: %w", p.name, err)
	}
	p.account.note(p)
	return out, nil
}

func outOfMemory(err error, where string) error {
	return &fault.Error{Code: fault.CodeExhausted, What: "the device is out of memory", Where: where, Err: err,
		Next: "lower engine.slots or engine.micro_batch"}
}

// NumAliased returns the bytes of inputs that outputs are written over; 0 on the pure-Go backend.
func (p *Program) NumAliased() int64 {
	if x, ok := p.executable.(*stablehlo.Executable); ok {
		return x.NumAlias
	}
	return 0
}

// Upload copies a flat slice of float32 or int32 to the device; to each, where there are several.
func (e *Engine) Upload(flat any, dims ...int) (Buffer, error) {
	return e.backend.BufferFromFlatData(0, flat, shapes.Make(dtypeOf(flat), dims...))
}

func dtypeOf(flat any) dtypes.DType {
	if _, ok := flat.([]int32); ok {
		return dtypes.Int32
	}
	return dtypes.Float32
}

// UploadAs copies float32 to the device as the shape's type, float32 or bfloat16, rounded to nearest even.
func (e *Engine) UploadAs(shape shapes.Shape, flat []float32) (Buffer, error) {
	return e.UploadParam(Param{Shape: shape}, flat)
}

// UploadParam is UploadAs of a program's input: where that is sharded, each device gets its part.
func (e *Engine) UploadParam(p Param, flat []float32) (Buffer, error) {
	if p.Shape.DType == dtypes.Float32 {
		return e.place(p, flat)
	}
	narrow := make([]bfloat16.BFloat16, len(flat))
	for i, x := range flat {
		narrow[i] = bfloat16.FromFloat32(x)
	}
	return e.place(p, narrow)
}

// UploadBF16 is UploadParam of bfloat16 numbers, given as their bits, for an input of that type.
func (e *Engine) UploadBF16(p Param, bits []uint16) (Buffer, error) {
	// that is what they are
	return e.place(p, unsafe.Slice((*bfloat16.BFloat16)(unsafe.Pointer(unsafe.SliceData(bits))), len(bits)))
}

func (e *Engine) place(p Param, flat any) (Buffer, error) {
	if p.Sharded && e.NumDevices() > 1 {
		return e.backend.(*stablehlo.Backend).BufferFromShards(flat, p.Shape)
	}
	return e.backend.BufferFromFlatData(0, flat, p.Shape)
}

// Zeros makes n arrays of zeros on the device: on a GPU with a program, since large ones take long to copy.
func (e *Engine) Zeros(shape shapes.Shape, n int) ([]Buffer, error) {
	if n == 0 {
		return nil, nil
	}
	if e.isGPU {
		return e.runZeros(shape, n)
	}
	var flat []float32 // a dry engine's buffers have no contents
	if e.account == nil {
		flat = make([]float32, shape.Size())
	}
	var out []Buffer
	for range n {
		b, err := e.UploadAs(shape, flat)
		if err != nil {
			Free(out...)
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

func (e *Engine) runZeros(shape shapes.Shape, n int) ([]Buffer, error) {
	key := fmt.Sprintf("%s %d", shape, n)
	e.zeroing.Lock()
	defer e.zeroing.Unlock()
	p := e.zeros[key]
	if p == nil {
		var err error // the parameter is what the nodes take their graph from
		p, err = e.Compile("zeros", []Param{{Name: "unused", Shape: I32()}}, func(in []*graph.Node) []*graph.Node {
			out := make([]*graph.Node, n)
			for i := range out {
				out[i] = graph.Zeros(in[0].Graph(), shape)
			}
			return out
		}, NumberNames("zeros", n)...)
		if err != nil {
			return nil, err
		}
		if e.zeros == nil {
			e.zeros = map[string]*Program{}
		}
		e.zeros[key] = p
	}
	unused, err := e.Upload([]int32{0})
	if err != nil {
		return nil, err
	}
	defer Free(unused)
	return p.Run(unused)
}

// Floats copies a buffer of float32 to the host: of several devices, what the first has.
func Floats(b Buffer) ([]float32, error) { return download[float32](b) }

// Ints copies a buffer of int32 to the host.
func Ints(b Buffer) ([]int32, error) { return download[int32](b) }

func download[T float32 | int32](b Buffer) ([]T, error) {
	shape, err := b.Shape()
	if err != nil {
		return nil, err
	}
	flat := make([]T, shape.Size())
	if err = b.ToFlatData(flat); stablehlo.OutOfMemory(err) { // of a program that was not waited for
		err = outOfMemory(err, "reading a program's results")
	}
	return flat, err
}

// Free releases buffers.
func Free(buffers ...Buffer) {
	for _, b := range buffers {
		_ = b.Finalize() // double release is the only error, and harmless
	}
}
