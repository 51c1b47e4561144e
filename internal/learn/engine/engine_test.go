package engine

import (
	"errors"
	"regexp"
	"testing"

	"github.com/gomlx/compute"

	"hone/internal/config"
	"hone/internal/fault"
)

// full is an executable on a device without memory.
type full struct{ compute.Executable }

func (full) Execute([]compute.Buffer, []bool, compute.DeviceNum) ([]compute.Buffer, error) {
	return nil, errors.New("RESOURCE_EXHAUSTED: out of memory allocating 1073741824 bytes")
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
