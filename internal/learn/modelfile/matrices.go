package modelfile

import (
	"fmt"
)

// Matrix is a matrix of float32, row-major.
type Matrix struct {
	Name       string
	Rows, Cols int
	Data       []float32
}

// WriteMatrices writes matrices of float32 in the safetensors format.
func WriteMatrices(path string, tensors []Matrix, metadata map[string]string) error {
	out := make([]NewTensor, len(tensors))
	for i, t := range tensors {
		if len(t.Data) == 0 || len(t.Data) != t.Rows*t.Cols {
			return fmt.Errorf("tensor %s: %d values are no %dx%d matrix", t.Name, len(t.Data), t.Rows, t.Cols)
		}
		out[i] = NewTensor{Name: t.Name, DType: "F32", Dims: []int{t.Rows, t.Cols},
			Read: func() ([]float32, error) { return t.Data, nil }}
	}
	return WriteSafetensors(path, out, metadata)
}

// ReadMatrices reads a file of matrices, stored as float32, bfloat16 or float16. Errors name the tensor.
func ReadMatrices(path string) (map[string]Matrix, error) {
	f, err := OpenSafetensors(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	tensors := map[string]Matrix{}
	for _, name := range f.Names() {
		flat, dims, err := f.Tensor(name)
		if err != nil {
			return nil, err
		}
		if len(dims) > 2 {
			return nil, fmt.Errorf("tensor %s: its shape %v is not a matrix", name, dims)
		}
		t := Matrix{Name: name, Rows: 1, Cols: dims[len(dims)-1], Data: append([]float32{}, flat...)}
		if len(dims) == 2 {
			t.Rows = dims[0]
		}
		tensors[name] = t
	}
	return tensors, nil
}
