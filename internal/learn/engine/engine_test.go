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
