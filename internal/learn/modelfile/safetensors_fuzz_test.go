package modelfile

import (
	"encoding/binary"
	"math"
	"path/filepath"
	"slices"
	"testing"
)

// FuzzSafetensors checks that no bytes make the reader panic, and that what it accepts survives being written again.
func FuzzSafetensors(f *testing.F) {
	for _, header := range []string{
		`{"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}`,
		`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"BF16","shape":[1,2],"data_offsets":[4,8]}}`,
		`{"a":{"dtype":"F16","shape":[4],"data_offsets":[0,8]}}`,
		`{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[-1,2],"data_offsets":[-8,8]}}`,
		`{"a":null}`,
	} {
		data := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
		f.Add(append(append(data, header...), 0, 0, 0x80, 0x3f, 1, 2, 3, 4))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		x := &Safetensors{mapped: data}
		if err := x.parse(); err != nil {
			return
		}
		path := filepath.Join(t.TempDir(), weightsFile)
		if err := WriteSafetensors(path, copies(t, x), nil); err != nil {
			t.Fatal(err)
		}
		again, err := OpenSafetensors(path)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		if len(again.Names()) != len(x.Names()) {
			t.Fatalf("%d tensors became %d", len(x.Names()), len(again.Names()))
		}
		same := func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b }
		for _, name := range x.Names() {
			a, dimsA, _ := x.Tensor(name)
			b, dimsB, _ := again.Tensor(name)
			if !slices.Equal(dimsA, dimsB) || !slices.EqualFunc(a, b, same) {
				t.Fatalf("%q: %v %v became %v %v", name, dimsA, a, dimsB, b)
			}
		}
	})
}

// copies are the tensors of a file, to be written as they are stored.
func copies(t *testing.T, f *Safetensors) (out []NewTensor) {
	for _, name := range f.Names() {
		flat, dims, err := f.Tensor(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, NewTensor{Name: name, DType: f.DType(name), Dims: dims, Read: func() ([]float32, error) {
			return flat, nil
		}})
	}
	return out
}
