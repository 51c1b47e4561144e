package stablehlo

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// several opens the plug-in under test with so many devices, of which there must be as many.
func several(t *testing.T, n int) *Backend {
	t.Helper()
	b, err := New(plugPath(t), n)
	if _, ok := errors.AsType[*TooFewError](err); ok {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Finalize)
	return b
}

// summing is a program that adds the devices' y up and then x to it; x is donated.
func summing(t *testing.T, b *Backend, n int) *Executable {
	t.Helper()
	build := b.Builder("summing")
	if len(b.devices) > 1 {
		if err := errors.Join(build.DistributedSPMD(len(b.devices)), build.DeviceAssignment(0, 1, 2)); err != nil {
			t.Fatal(err)
		}
	}
	f, shape := build.Main(), shapes.Make(dtypes.Float32, n)
	x, errX := f.Parameter("x"+DonatedSuffix, shape, nil)
	y, errY := f.Parameter("y", shape, nil)
	if err := errors.Join(errX, errY); err != nil {
		t.Fatal(err)
	}
	sums, err := f.AllReduce([]compute.Value{y}, compute.ReduceOpSum, [][]int{first(len(b.devices))})
	if err != nil {
		t.Fatal(err)
	}
	out, err := f.Add(x, sums[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Return([]compute.Value{out, y}, nil); err != nil {
		t.Fatal(err)
	}
	e, err := build.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return e.(*Executable)
}

func floats(t *testing.T, b compute.Buffer, n int) []float32 {
	t.Helper()
	flat := make([]float32, n)
	if err := b.ToFlatData(flat); err != nil {
		t.Fatal(err)
	}
	return flat
}

// A program of several devices gives each its own inputs, adds up over all, and hands back what each has; donated
// inputs are written over on each.
func TestProgramOfSeveralDevices(t *testing.T) {
	b := several(t, 3)
	if b.NumDevices() != 3 || len(b.Devices()) < 3 || !strings.HasPrefix(b.Description(), "3 devices of ") {
		t.Fatalf("%d of %v, %q", b.NumDevices(), b.Devices(), b.Description())
	}
	shape := shapes.Make(dtypes.Float32, 2)
	e := summing(t, b, 2)
	if e.NumAlias != 8 || !strings.Contains(e.HLO, "mhlo.num_replicas = 3") {
		t.Errorf("%d bytes are aliased\n%s", e.NumAlias, e.HLO)
	}
	x, err := b.BufferFromFlatData(0, []float32{100, 200}, shape)
	if err != nil {
		t.Fatal(err)
	}
	y, err := b.BufferFromEach([]any{[]float32{1, 2}, []float32{10, 20}, []float32{0.5, 0}}, shape)
	if err != nil {
		t.Fatal(err)
	}
	out, err := e.Execute([]compute.Buffer{x, y}, []bool{true, false}, 0)
	if err != nil {
		t.Fatal(err)
	}
	own := [][]float32{{1, 2}, {10, 20}, {0.5, 0}}
	for i := range 3 {
		if got := floats(t, Part(out[0], i), 2); !slices.Equal(got, []float32{111.5, 222}) {
			t.Errorf("device %d has the sum %v", i, got)
		}
		if got := floats(t, Part(out[1], i), 2); !slices.Equal(got, own[i]) ||
			!slices.Equal(floats(t, Part(y, i), 2), own[i]) {
			t.Errorf("device %d has %v, want %v", i, got, own[i])
		}
	}
	if err := x.ToFlatData(make([]float32, 2)); err == nil {
		t.Error("a donated input can be read")
	}
	if err := errors.Join(out[0].Finalize(), out[1].Finalize()); err != nil {
		t.Error(err)
	}
	if err := Part(out[1], 2).ToFlatData(make([]float32, 2)); err == nil {
		t.Error("a released buffer can be read on its last device")
	}
}

// One of several devices runs programs of its own on what it has of a buffer; the devices share what is compiled, and
// nothing else.
func TestOneOfSeveralDevices(t *testing.T) {
	b := several(t, 3)
	shape := shapes.Make(dtypes.Float32, 2)
	y, err := b.BufferFromEach([]any{[]float32{1, 2}, []float32{10, 20}, []float32{0.5, 0}}, shape)
	if err != nil {
		t.Fatal(err)
	}
	var programs []*Executable
	for i, want := range [][]float32{{101, 202}, {110, 220}, {100.5, 200}} {
		on := b.On(i)
		if on.NumDevices() != 1 || on.On(0) != on {
			t.Fatalf("device %d is one of %d", i, on.NumDevices())
		}
		e := summing(t, on, 2)
		programs = append(programs, e)
		x, err := on.BufferFromFlatData(0, []float32{100, 200}, shape)
		if err != nil {
			t.Fatal(err)
		}
		out, err := e.Execute([]compute.Buffer{x, Part(y, i)}, []bool{true, false}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := floats(t, out[0], 2); !slices.Equal(got, want) {
			t.Errorf("device %d: %v, want %v", i, got, want)
		}
		on.Finalize() // which is not to be, and must not end the others
	}
	if programs[0].program.LoadedExecutable != programs[1].program.LoadedExecutable || len(b.compiled.programs) != 1 {
		t.Errorf("one text is compiled %d times", len(b.compiled.programs))
	}
	programs[0].Finalize()
	if x, err := b.On(1).BufferFromFlatData(0, []float32{1, 1}, shape); err != nil {
		t.Fatal(err)
	} else if _, err := programs[1].Execute([]compute.Buffer{x, Part(y, 1)}, []bool{true, false}, 0); err != nil {
		t.Errorf("after another released it: %v", err)
	}
}

// What is not there is refused in words.
func TestDevicesThatAreNotThere(t *testing.T) {
	err := error(&TooFewError{Want: 4, Found: []string{"GPU A", "GPU B"}})
	if got := err.Error(); got != "4 devices are asked for, and there are 2: GPU A, GPU B" {
		t.Error(got)
	}
	b := several(t, 1)
	build := b.Builder("two")
	if build.DistributedSPMD(2) == nil || build.DeviceAssignment(1) == nil || build.DistributedSPMD(1) != nil {
		t.Error("a program for devices that the backend has not is taken")
	}
	if _, err := build.Main().AllReduce(nil, compute.ReduceOpMax, nil); !errors.Is(err, compute.ErrNotImplemented) {
		t.Errorf("the maximum over devices: %v", err)
	}
	if b.On(0) != b {
		t.Error("the only device is another")
	}
}
