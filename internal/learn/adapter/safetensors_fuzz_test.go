package adapter

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// FuzzParse checks that no bytes make the reader panic, and that what it accepts survives being written again.
func FuzzParse(f *testing.F) {
	for _, header := range []string{
		`{"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}`,
		`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`,
		`{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[-1,2],"data_offsets":[-8,8]}}`,
		`{"a":null}`,
	} {
		data := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
		f.Add(append(append(data, header...), 0, 0, 0x80, 0x3f, 1, 2, 3, 4))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tensors, err := parse(data)
		if err != nil {
			return
		}
		var list []Tensor
		for name, x := range tensors {
			if x.Name != name || len(x.Data) != x.Rows*x.Cols {
				t.Fatalf("%q: %+v", name, x)
			}
			list = append(list, x)
		}
		path := filepath.Join(t.TempDir(), WeightsFile)
		if err := WriteSafetensors(path, list, nil); err != nil {
			t.Fatal(err)
		}
		again, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parse(again)
		if err != nil || len(got) != len(tensors) {
			t.Fatalf("written again: %d of %d tensors, %v", len(got), len(tensors), err)
		}
		same := func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) }
		for name, x := range tensors {
			if y := got[name]; x.Rows != y.Rows || x.Cols != y.Cols || !slices.EqualFunc(x.Data, y.Data, same) {
				t.Fatalf("%q: %+v became %+v", name, x, y)
			}
		}
	})
}
