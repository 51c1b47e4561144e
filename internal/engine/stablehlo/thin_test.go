package stablehlo

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// The kernel writes y + B d, biased, gated and normed as it is told, for rows, columns and bands of any number that it
// takes.
func TestThinKernelIsTheSum(t *testing.T) {
	for _, k := range []thinKernel{
		{rows: 16, out: 8, width: 32}, {rows: 64, out: 48, width: 32, bias: true}, {rows: 48, out: 64, width: 64,
			gated: true},
		{rows: 16, out: 4096, width: 32}, {rows: 32, out: 2 * 2048, width: 32, gated: true, bias: true}, {rows: 80,
			out: 40, width: 32}, {rows: 16, out: 24, width: 128},
		{rows: 16, out: 96, width: 32, bands: []int{0, 48, 72}}, {rows: 16, out: 4096, width: 32,
			bands: []int{0, 4096 - 24}},
		{rows: 32, out: 64, width: 32, gated: true, bands: []int{0, 32}}, {rows: 16, out: 2 * 4096, width: 64,
			gated: true, bands: []int{0, 4096}},
		{rows: 16, out: 64, width: 32, norms: true}, {rows: 48, out: 5 * 64, width: 32, norms: true, bias: true},
		{rows: 16, out: 12 * 64, width: 64, norms: true}, {rows: 16, out: 21 * 64, width: 32, norms: true}, {rows: 16,
			out: 2560, width: 32, norms: true},
		{parts: 2, rows: 32, out: 128, width: 32, norms: true, bias: true}, {parts: 4, rows: 32, out: 24, width: 64,
			bands: []int{0, 8}},
		{parts: 3, rows: 16, out: 64, width: 32, gated: true, bias: true, bands: []int{0, 32}},
	} {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			k.clusters = k.norms || k.bands != nil
			k.parts = max(1, k.parts)
			if k.eps = 0.25; k.bands == nil {
				k.bands = []int{0}
			}
			if !k.fits() {
				t.Fatal("it does not fit")
			}
			c := thinCase{thinKernel: k, y: floats32(k.parts*k.rows*k.stride(), 1), b: bf16s(k.out*k.width, 2),
				addend: floats32(k.out, 3), x: bf16s(k.rows*k.out, 4), weight: floats32(k.out, 5)}
			z := make([]byte, 2*k.rows*k.columns())
			m, at := newMachine(t, k.text(), map[string][]byte{"y_": c.y, "b_": c.b, "bias_": c.addend, "z_": z,
				"x_": c.x, "weight_": c.weight, "sum_": z}, nil)
			call := k.ptx()
			m.run(call.grid[0], call.grid[1], call.threads)
			for row := range k.rows {
				want, sums := c.row(row)
				for column, want := range want {
					where := fmt.Sprintf("row %d, column %d", row, column)
					nearly(t, where, floatOf(m.memory[at["z_"]:], row*k.columns()+column), want, 0.02)
					if k.norms {
						nearly(t, where+" of the sum", floatOf(m.memory[at["sum_"]:], row*k.columns()+column),
							sums[column], 0.02)
					}
				}
			}
		})
	}
}

// thinCase is a kernel's inputs.
type thinCase struct {
	thinKernel
	y, b, addend, x, weight []byte
}

// row is what the kernel is to write, and of what it norms the sums.
func (c thinCase) row(row int) (z, sums []float64) {
	y := func(column int) (x float64) { // of all parts
		for part := range c.parts {
			x += float32Of(c.y, (part*c.rows+row)*c.stride()+column)
		}
		return x
	}
	sum := func(column int) float64 {
		x := y(column)
		if c.bias {
			x += float32Of(c.addend, column)
		}
		of := 0
		for i, first := range c.bands {
			if column >= first {
				of = i
			}
		}
		for j := range c.width {
			d := math.Float32frombits(uint32(bf16Of(float32(y(c.out+of*c.width+j)))) << 16)
			x += floatOf(c.b, column*c.width+j) * float64(d)
		}
		return x
	}
	squares := 0.0
	for column := range c.columns() {
		x := sum(column)
		switch {
		case c.gated:
			x *= sum(column+c.out/2) / (1 + math.Exp(-x))
		case c.norms:
			x += floatOf(c.x, row*c.out+column)
			squares += x * x
		}
		z = append(z, x)
	}
	if sums = slices.Clone(z); c.norms {
		for column := range z {
			z[column] *= float32Of(c.weight, column) / math.Sqrt(squares/float64(c.out)+c.eps)
		}
	}
	return z, sums
}

// What the kernel cannot compute whole is refused: bands that begin within a tile, a gate that is no band, columns that
// a cluster cannot share out.
func TestThinKernelFits(t *testing.T) {
	for _, k := range []thinKernel{
		{rows: 8, out: 64, width: 32, bands: []int{0}}, {rows: 16, out: 64, width: 16, bands: []int{0}}, {rows: 16,
			out: 60, width: 32, bands: []int{0}},
		{rows: 16, out: 64, width: 32}, {rows: 16, out: 64, width: 32, bands: []int{8}}, {rows: 16, out: 64, width: 32,
			bands: []int{0, 20}},
		{rows: 16, out: 64, width: 32, bands: []int{0, 24}, gated: true}, {rows: 16, out: 96, width: 32,
			bands: []int{0}, norms: true},
		{rows: 16, out: 64, width: 32, bands: []int{0, 32}, norms: true}, {rows: 16, out: 64 * 17, width: 32,
			bands: []int{0}, norms: true},
	} {
		k.parts, k.clusters = 1, true
		if k.fits() {
			t.Errorf("%+v fits", k)
		}
	}
	for capability, want := range map[string]bool{
		"9.0": true, "10.0": true, "8.9": false, "8.0": false, "": false, "gfx942": false,
	} {
		if hasClusters(capability) != want {
			t.Errorf("capability %q has clusters: %v", capability, !want)
		}
	}
}

// A sum that is far smaller than what it is added to reaches the result as often as its size says: it is not rounded
// away.
func TestThinKernelRoundsOnce(t *testing.T) {
	k := thinKernel{parts: 1, rows: 16, out: 1024, width: 32, bands: []int{0}}
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
func TestThinIsForThinProducts(t *testing.T) {
	for gpu, want := range map[bool]bool{true: true, false: false} {
		b := NewDry(gpu, 1)
		f := b.Builder("thin").Main().(*function)
		param := func(name string, dtype dtypes.DType, dims ...int) compute.Value {
			x, err := f.Parameter(name, shapes.Make(dtype, dims...), nil)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		y, w, weight, x := param("y", dtypes.Float32, 16, 96), param("w", dtypes.BFloat16, 64, 32),
			param("weight", dtypes.Float32, 64), param("x", dtypes.BFloat16, 16, 64)
		add := func(y compute.Value, thin Thin) (int, error) {
			_, states, err := f.FusedScaledDotProductAttention(y, w, x, compute.AttentionAxesLayoutBSHD,
				&compute.ScaledDotProductAttentionConfig{Bias: thin})
			return len(states), err
		}
		for states, thin := range []Thin{
			{Parts: 1, Bands: []int{0}},
			{Parts: 1, Bands: []int{0}, Norms: true, Weight: weight},
		} {
			if n, err := add(y, thin); (err == nil) != want || want && n != states {
				t.Errorf("on a GPU %v: %d states, %v", gpu, n, err)
			}
		}
		if b.clusters = false; b.HasThin(16, 64, 32, Thin{Parts: 1, Bands: []int{0}, Norms: true}) {
			t.Error("there is a kernel of clusters without clusters")
		}
		for name, y := range map[string]compute.Value{
			"as narrow as the weight": param("n", dtypes.Float32, 16, 64), "of other rows": param("r",
				dtypes.Float32, 15, 96),
			"rounded": param("b", dtypes.BFloat16, 16, 96),
		} {
			if _, err := add(y, Thin{Parts: 1, Bands: []int{0}}); !errors.Is(err, compute.ErrNotImplemented) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
