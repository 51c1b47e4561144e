package engine

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"hone/internal/config"
	"hone/internal/fault"
)

// full is an executable on a device without memory.
type full struct{ compute.Executable }

func (full) Execute([]compute.Buffer, []bool, compute.DeviceNum) ([]compute.Buffer, error) {
	// an H200's
	return nil, errors.New("PJRT error (code=8): Out of memory while trying to allocate 70.66GiB with allocator " +
		"GPU_0_bfc on device 0.")
}

// The message of a device that is out of memory names keys that hone.yaml has.
func TestOutOfMemoryNamesKeysOfTheConfiguration(t *testing.T) {
	_, err := (&Program{name: "rows", executable: full{}}).Run()
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.CodeExhausted {
		t.Fatalf("got %v", err)
	}
	keys := regexp.MustCompile(`([a-z_]+)\.([a-z_]+)[ ,]`).FindAllStringSubmatch(f.Next+" ", -1)
	if len(keys) != 2 {
		t.Fatalf("%q names %v", f.Next, keys)
	}
	for _, k := range keys {
		if _, err := config.Parse("hone.yaml", []byte(k[1]+":\n  "+k[2]+": 4\n")); err != nil {
			t.Errorf("%q is no key: %v", k[0], err)
		}
	}
}

// late is a buffer whose program was set off and found the device full.
type late struct{ compute.Buffer }

func (late) Shape() (shapes.Shape, error) { return F32(1), nil }
func (late) ToFlatData(any) error         { _, err := full{}.Execute(nil, nil, 0); return err }

// What a program that was not waited for ran out of is told by who reads it, as by a program that was.
func TestOutOfMemoryIsToldByTheReader(t *testing.T) {
	if _, err := Floats(late{}); fault.CodeOf(err) != fault.CodeExhausted {
		t.Errorf("got %v", err)
	}
}

// What a configuration says of the type is resolved by the device, and refused where it cannot be had.
func TestDTypeFollowsTheDevice(t *testing.T) {
	for _, c := range []struct {
		dtype    DType
		gpu, cpu bool
	}{{"", true, false}, {DTypeAuto, true, false}, {DTypeF32, false, false}, {DTypeBF16, true, true}} {
		if c.dtype.IsBF16(true) != c.gpu || c.dtype.IsBF16(false) != c.cpu {
			t.Errorf("%q is bf16 on a GPU: %v, on a CPU: %v", c.dtype, c.dtype.IsBF16(true), c.dtype.IsBF16(false))
		}
	}
	_, err := Open(Options{DType: DTypeBF16})
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.CodeUsage || f.Where != "engine.dtype: bf16" {
		t.Errorf("pure Go in bf16: %v", err)
	}
	e, err := Open(Options{DType: DTypeAuto})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if e.IsBF16() {
		t.Error("pure Go is in bf16")
	}
}

// Devices that are not there are refused with what is.
func TestDevicesThatAreNotThere(t *testing.T) {
	_, err := Open(Options{Devices: 2})
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.CodeUsage || f.What != "there are not 2 devices but 1" ||
		f.Where != "engine.devices: 2" || !strings.Contains(f.Next, "engine.devices to 1") {
		t.Errorf("two devices of pure Go: %v", err)
	}
	if _, err := config.Parse("hone.yaml", []byte("engine:\n  devices: 2\n")); err != nil {
		t.Error(err)
	}
}

// An engine of several devices hands out one of each; that of one device is its own.
func TestOneOfSeveralDevices(t *testing.T) {
	d := OpenDry(true, 3)
	on := d.On(2)
	if d.NumDevices() != 3 || on.NumDevices() != 1 || on.On(0) != on || !on.IsGPU() {
		t.Errorf("%d devices, one of them is %d", d.NumDevices(), on.NumDevices())
	}
	x, err := d.UploadEach([]any{[]int32{1}, []int32{2}, []int32{3}}, 1)
	if err != nil || d.Live() != 4 { // of each device
		t.Errorf("%d bytes live; %v", d.Live(), err)
	}
	if parts := Parts([]Buffer{x, x}, 1); len(parts) != 2 || parts[0] != x {
		t.Error("a part of a buffer without contents is another buffer")
	}
	if _, err := d.UploadEach([]any{[]int32{1}, []int32{2}}, 1); err == nil {
		t.Error("two arrays are taken for three devices")
	}
	sum := func(in []*graph.Node) []*graph.Node { return []*graph.Node{AllReduce(in[0])} }
	for e, want := range map[*Engine]int{d.Engine: 1, on: 0} {
		p, err := e.Compile("sum", []Param{{Name: "x", Shape: F32(4)}}, sum)
		if err != nil || strings.Count(p.HLO(), "all_reduce") != want {
			t.Errorf("%d devices: %v\n%s", e.NumDevices(), err, p.HLO())
		}
	}
	if len(d.Programs()) != 2 {
		t.Errorf("%d programs are noted", len(d.Programs()))
	}
	pureGo, err := Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer pureGo.Close()
	if pureGo.NumDevices() != 1 || pureGo.On(0) != pureGo {
		t.Error("pure Go is several devices")
	}
}
