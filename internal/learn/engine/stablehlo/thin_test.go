package stablehlo

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// The kernel writes y + B d, biased and gated as it is told, for rows and columns of any number that it takes.
func TestThinKernelIsTheSum(t *testing.T) {
	for _, k := range []thinKernel{{rows: 16, out: 8, width: 32}, {rows: 64, out: 48, width: 32, bias: true}, {rows: 48, out: 64, width: 64, gated: true},
		{rows: 16, out: 4096, width: 32}, {rows: 32, out: 2 * 2048, width: 32, gated: true, bias: true}, {rows: 80, out: 40, width: 32}, {rows: 16, out: 24, width: 128}} {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			if !k.fits() {
				t.Fatal("it does not fit")
			}
			y, b, bias := floats32(k.rows*(k.out+k.width), 1), bf16s(k.out*k.width, 2), floats32(k.out, 3)
			m, at := newMachine(t, k.text(), map[string][]byte{"y_": y, "b_": b, "bias_": bias, "z_": make([]byte, 2*k.rows*k.columns())}, nil)
			call := k.ptx()
			m.run(call.grid[0], call.grid[1], call.threads)
			sum := func(row, column int) float64 {
				x := float32Of(y, row*(k.out+k.width)+column)
				if k.bias {
					x += float32Of(bias, column)
				}
				for j := range k.width {
					d := math.Float32frombits(uint32(bf16Of(float32(float32Of(y, row*(k.out+k.width)+k.out+j)))) << 16)
					x += floatOf(b, column*k.width+j) * float64(d)
				}
				return x
			}
			for row := range k.rows {
				for column := range k.columns() {
					want := sum(row, column)
					if k.gated {
						want *= sum(row, column+k.out/2) / (1 + math.Exp(-want))
					}
					got := floatOf(m.memory[at["z_"]:], row*k.columns()+column)
					nearly(t, fmt.Sprintf("row %d, column %d", row, column), got, want, 0.02)
				}
			}
		})
	}
}

// A sum that is far smaller than what it is added to reaches the result as often as its size says: it is not rounded away.
func TestThinKernelRoundsOnce(t *testing.T) {
	k := thinKernel{rows: 16, out: 1024, width: 32}
	y, b := floats32(k.rows*(k.out+k.width), 1), bf16s(k.out*k.width, 2)
	small := func(scale float32) []byte {
		x := append([]byte{}, y...)
		for row := range k.rows {
			for j := range k.width {
				binary.LittleEndian.PutUint32(x[4*(row*(k.out+k.width)+k.out+j):], 0)
			}
			binary.LittleEndian.PutUint32(x[4*(row*(k.out+k.width)+k.out+row):], math.Float32bits(scale))
		}
		return x
	}
	run := func(y []byte) []byte {
		m, at := newMachine(t, k.text(), map[string][]byte{"y_": y, "b_": b, "z_": make([]byte, 2*k.rows*k.out)}, nil)
		call := k.ptx()
		m.run(call.grid[0], call.grid[1], call.threads)
		return m.memory[at["z_"]:]
	}
	const scale = 1.0 / (1 << 11) // with it the sum is a sixth of the last bit of y
	before, after := run(small(0)), run(small(scale))
	var product, square float64
	for i := range k.rows * k.out {
		want := floatOf(b, i%k.out*k.width+i/k.out) * scale
		product, square = product+want*(floatOf(after, i)-floatOf(before, i)), square+want*want
	}
	if slope := product / square; math.Abs(slope-1) > 0.06 {
		t.Errorf("of a small sum arrives %.3f", slope)
	}
}

// What no kernel is for is not implemented, and said to be so.
func TestFusedDenseIsForThinProducts(t *testing.T) {
	for gpu, want := range map[bool]bool{true: true, false: false} {
		b := NewDry(gpu, 1)
		f := b.Builder("dense").Main().(*function)
		param := func(name string, dtype dtypes.DType, dims ...int) compute.Value {
			x, err := f.Parameter(name, shapes.Make(dtype, dims...), nil)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		y, w := param("y", dtypes.Float32, 16, 64), param("w", dtypes.BFloat16, 32, 32)
		options := compute.DenseConfig{WeightLayout: compute.DenseLayoutOutputsInput}
		if _, err := f.FusedDense(y, w, nil, options); (err == nil) != want {
			t.Errorf("on a GPU %v: %v", gpu, err)
		}
		for name, x := range map[string]compute.Value{"as narrow as the weight": param("x", dtypes.Float32, 16, 32), "of other rows": param("r", dtypes.Float32, 15, 64),
			"rounded": param("n", dtypes.BFloat16, 16, 64)} {
			if _, err := f.FusedDense(x, w, nil, options); !errors.Is(err, compute.ErrNotImplemented) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
