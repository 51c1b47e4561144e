package stablehlo

import (
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// What is set off without waiting goes on from what was set off before, and a reader waits for it: each execution takes
// many times as long as it takes to set it off.
func TestStart(t *testing.T) {
	const n, times, runs = 200, 20, 30
	b := plug(t)
	shape := shapes.Make(dtypes.Float32, n, n)
	builder := b.Builder("permute")
	f := builder.Main()
	x, err := f.Parameter("x"+DonatedSuffix, shape, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.Parameter("p", shape, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range times {
		if x, err = f.DotGeneral(p, []int{1}, nil, x, []int{0}, nil, compute.DotGeneralConfig{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Return([]compute.Value{x}, nil); err != nil {
		t.Fatal(err)
	}
	executable, err := builder.Compile()
	if err != nil {
		t.Fatal(err)
	}
	defer executable.Finalize()
	flat, shift := make([]float32, n*n), make([]float32, n*n)
	for i := range n {
		flat[i*n], shift[i*n+(i+1)%n] = float32(i), 1 // row i of p x is row i+1 of x
	}
	upload := func(flat []float32) compute.Buffer {
		buffer, err := b.BufferFromFlatData(0, flat, shape)
		if err != nil {
			t.Fatal(err)
		}
		return buffer
	}
	state, matrix := upload(flat), upload(shift)
	defer func() { _ = matrix.Finalize() }()
	for range runs {
		out, err := executable.(*Executable).Start([]compute.Buffer{state, matrix}, []bool{true, false})
		if err != nil {
			t.Fatal(err)
		}
		state = out[0]
	}
	if err := state.ToFlatData(flat); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if want := float32((i + times*runs) % n); flat[i*n] != want {
			t.Fatalf("row %d is %v, want %v", i, flat[i*n], want)
		}
	}
	_ = state.Finalize()
}
