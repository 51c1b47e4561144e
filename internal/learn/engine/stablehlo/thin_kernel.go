package stablehlo

import (
	"fmt"
	"math"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// thinKernel adds what an adapter says to the product of joined weights with the same input, as text for NVIDIA's assembler (PTX ISA 8.0,
// compute capability 8.0): y + B d, where d is what stands behind y in each row. y is float32, so the sum is rounded once. A warp
// computes 16 rows and some columns with the instruction mma.m16n8k16; d is rounded to bfloat16 for it, as in training. Gated, the result is
// SiLU(first half) second half (arXiv 2002.05202), of halves that are rounded as they would be in memory.
//
//	y     [rows, out + width] f32
//	b     [out, width] bf16
//	bias  [out] f32, where there is one
//	z     [rows, out] bf16, gated [rows, out/2]
type thinKernel struct {
	rows, out, width int
	bias, gated      bool
}

const thinName = "add_thin"

// HasThin reports whether there is a kernel for FusedDense of so many rows, and columns of y and behind it.
func (b *Backend) HasThin(rows, out, width int, gated bool) bool {
	return b.IsGPU() && thinKernel{rows: rows, out: out, width: width, gated: gated}.fits()
}

// FusedDense implements compute.FusedOps for what thinKernel computes: x is then y, and wider than the weight b says.
func (f *function) FusedDense(x, weight, bias compute.Value, o compute.DenseConfig) (compute.Value, error) {
	y, b := x.(*value).shape, weight.(*value).shape
	k := thinKernel{bias: bias != nil, gated: o.Activation == compute.ActivationSilu}
	if y.Rank() == 2 && b.Rank() == 2 {
		k.rows, k.out, k.width = y.Dimensions[0], b.Dimensions[0], b.Dimensions[1]
	}
	known := o.WeightLayout == compute.DenseLayoutOutputsInput && (k.gated || o.Activation == compute.ActivationNone)
	if !known || !f.builder.backend.IsGPU() || !k.fits() || y.DType != dtypes.Float32 || b.DType != dtypes.BFloat16 || y.Dimensions[1] != k.out+k.width {
		return nil, fmt.Errorf("stablehlo backend: a dense layer of %s and %s: %w", y, b, compute.ErrNotImplemented)
	}
	operands := []compute.Value{x, weight}
	if k.bias {
		operands = append(operands, bias)
	}
	return f.callPTX(k.ptx(), []shapes.Shape{shapes.Make(dtypes.BFloat16, k.rows, k.columns())}, operands...)[0], nil
}

// columns of the result.
func (k thinKernel) columns() int {
	if k.gated {
		return k.out / 2
	}
	return k.out
}

// fits reports whether rows, columns and width are whole pieces of what the instruction computes.
func (k thinKernel) fits() bool {
	return k.rows > 0 && k.rows%16 == 0 && k.width > 0 && k.width%32 == 0 && k.width <= 512 && k.columns()%8 == 0
}

// warps is how many a block has, below each other.
func (k thinKernel) warps() int {
	for n := 4; n > 1; n-- {
		if k.rows/16%n == 0 {
			return n
		}
	}
	return 1
}

// tiles is how many times 8 columns a warp computes: fewer where there are too few to keep a device busy.
func (k thinKernel) tiles() int {
	for n := 4; n > 1; n /= 2 {
		if k.columns()%(8*n) == 0 && k.columns()/(8*n)*(k.rows/(16*k.warps())) >= 128 {
			return n
		}
	}
	return 1
}

func (k thinKernel) ptx() ptx {
	return ptx{name: thinName, text: k.text(), grid: [2]int{k.columns() / (8 * k.tiles()), k.rows / (16 * k.warps())}, threads: 32 * k.warps()}
}

func (k thinKernel) params() []string {
	if k.bias {
		return []string{"y", "b", "bias", "z"}
	}
	return []string{"y", "b", "z"}
}

// halves are the first columns of what a warp sums: of the gate and of what it gates.
func (k thinKernel) halves() []int {
	if k.gated {
		return []int{0, k.out / 2}
	}
	return []int{0}
}

// text is the kernel. A lane's part of a tile is two columns in each of two rows: with q and i its number over and modulo 4, rows q and
// q+8 and columns 2i and 2i+1. Of d it has these rows, and of B the column q, in both the quarter number i of the columns of d.
func (k thinKernel) text() string {
	a := &assembler{}
	fmt.Fprintf(a, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry %s(", thinName)
	for i, name := range k.params() {
		if i > 0 {
			a.WriteString(", ")
		}
		fmt.Fprintf(a, ".param .u64 %s_", name)
	}
	fmt.Fprintf(a, ")\n.maxntid %d\n{\n", 32*k.warps())
	a.do(".reg .b64 %%a<12>")
	a.do(".reg .b32 %%r<32>, %%b<%d>", k.width/8*k.numTiles())
	a.do(".reg .f32 %%f<20>, %%c<%d>, %%d<%d>", 4*k.numTiles(), k.width/2)
	k.begin(a)
	k.sums(a)
	for pair := range k.width / 32 {
		k.load(a, pair, 8*pair)
	}
	for pair := range k.width / 32 {
		k.multiply(a, pair)
	}
	k.end(a)
	a.do("ret")
	a.WriteString("}\n")
	return a.String()
}

// begin computes the lane's q %r2 and i %r3, its first row %r4, its first column %r5, and addresses: of that row and column of y %a1 and of
// the row 8 below %a2, of d in these rows %a3 and %a4, of B at column q %a5.
func (k thinKernel) begin(a *assembler) {
	stride := 4 * (k.out + k.width)
	a.do("mov.u32 %%r0, %%tid.x")
	a.do("and.b32 %%r1, %%r0, 31")
	a.do("shr.u32 %%r2, %%r1, 2")
	a.do("and.b32 %%r3, %%r1, 3")
	a.do("shr.u32 %%r4, %%r0, 5")
	a.do("mov.u32 %%r6, %%ctaid.y")
	a.do("mad.lo.u32 %%r4, %%r6, %d, %%r4", k.warps())
	a.do("mad.lo.u32 %%r4, %%r4, 16, %%r2")
	a.do("mov.u32 %%r6, %%ctaid.x")
	a.do("mul.lo.u32 %%r6, %%r6, %d", 8*k.tiles())
	a.do("mad.lo.u32 %%r5, %%r3, 2, %%r6")
	parameter(a, "%a0", "y")
	a.do("mad.wide.u32 %%a0, %%r4, %d, %%a0", stride)
	a.do("mad.wide.u32 %%a1, %%r5, 4, %%a0")
	a.do("add.u64 %%a2, %%a1, %d", 8*stride)
	a.do("mad.wide.u32 %%a3, %%r3, %d, %%a0", k.width)
	a.do("add.u64 %%a3, %%a3, %d", 4*k.out)
	a.do("add.u64 %%a4, %%a3, %d", 8*stride)
	parameter(a, "%a5", "b")
	a.do("add.s32 %%r6, %%r6, %%r2")
	a.do("mad.wide.u32 %%a5, %%r6, %d, %%a5", 2*k.width)
	a.do("mad.wide.u32 %%a5, %%r3, %d, %%a5", k.width/2)
	if k.bias {
		parameter(a, "%a6", "bias")
		a.do("mad.wide.u32 %%a6, %%r5, 4, %%a6")
	}
}

// sums has %c begin with y and its bias, four for each tile, of the gate's tiles and then of the others.
func (k thinKernel) sums(a *assembler) {
	for h, column := range k.halves() {
		for tile := range k.tiles() {
			c, at := 4*(h*k.tiles()+tile), 4*(column+8*tile)
			a.do("ld.global.nc.v2.f32 {%%c%d, %%c%d}, [%%a1+%d]", c, c+1, at)
			a.do("ld.global.nc.v2.f32 {%%c%d, %%c%d}, [%%a2+%d]", c+2, c+3, at)
			if k.bias {
				a.do("ld.global.nc.v2.f32 {%%f8, %%f9}, [%%a6+%d]", at)
				for i := range 4 {
					a.do("add.f32 %%c%d, %%c%d, %%f%d", c+i, c+i, 8+i%2)
				}
			}
		}
	}
}

// load reads what the lane multiplies in two steps, the eight columns of its quarter of d from one on: of d in its rows, and of B.
func (k thinKernel) load(a *assembler, pair, from int) {
	for row, at := range []string{"%a3", "%a4"} {
		for i := range 2 {
			d := 16*pair + 8*row + 4*i
			a.do("ld.global.nc.v4.f32 {%%d%d, %%d%d, %%d%d, %%d%d}, [%s+%d]", d, d+1, d+2, d+3, at, 4*(from+4*i))
		}
	}
	for tile := range k.numTiles() {
		b := 4 * (pair*k.numTiles() + tile)
		column := k.halves()[tile/k.tiles()] + 8*(tile%k.tiles())
		a.do("ld.global.nc.v4.b32 {%%b%d, %%b%d, %%b%d, %%b%d}, [%%a5+%d]", b, b+1, b+2, b+3, 2*(column*k.width+from))
	}
}

// numTiles counts the tiles that a warp sums.
func (k thinKernel) numTiles() int { return k.tiles() * len(k.halves()) }

// multiply adds the products of two steps. In which order columns of d are multiplied does not matter, if B's are in the same: a lane has four that stand
// beside each other where the instruction counts two, and two that are eight further.
func (k thinKernel) multiply(a *assembler, pair int) {
	for step := range 2 {
		for i := range 4 { // rows q and q+8, then the same of the lane's other two columns
			d := 16*pair + 8*(i%2) + 4*step + 2*(i/2)
			a.do("cvt.rn.bf16x2.f32 %%r%d, %%d%d, %%d%d", 12+i, d+1, d)
		}
		for tile := range k.numTiles() {
			c, b := 4*tile, 4*(pair*k.numTiles()+tile)+2*step
			a.do("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%%c%d, %%c%d, %%c%d, %%c%d}, {%%r12, %%r13, %%r14, %%r15}, {%%b%d, %%b%d}, {%%c%d, %%c%d, %%c%d, %%c%d}",
				c, c+1, c+2, c+3, b, b+1, c, c+1, c+2, c+3)
		}
	}
}

// end rounds the sums and writes them, or what the gate leaves of the others.
func (k thinKernel) end(a *assembler) {
	parameter(a, "%a7", "z")
	a.do("mad.wide.u32 %%a7, %%r4, %d, %%a7", 2*k.columns())
	a.do("mad.wide.u32 %%a7, %%r5, 2, %%a7")
	for tile := range k.tiles() {
		for row := range 2 {
			c := 4*tile + 2*row
			a.do("cvt.rn.bf16x2.f32 %%r16, %%c%d, %%c%d", c+1, c)
			if k.gated {
				u := c + 4*k.tiles()
				a.do("cvt.rn.bf16x2.f32 %%r17, %%c%d, %%c%d", u+1, u)
				k.gate(a)
			}
			a.do("st.global.b32 [%%a7+%d], %%r16", 2*(8*k.columns()*row+8*tile))
		}
	}
}

// gate makes of two gates %r16 and what they gate %r17 the two results.
func (k thinKernel) gate(a *assembler) {
	for i := range 2 {
		unpack(a, "%f2", "%r16", i)
		unpack(a, "%f3", "%r17", i)
		a.do("mul.f32 %%f4, %%f2, %s", float(-math.Log2E))
		a.do("ex2.approx.ftz.f32 %%f4, %%f4")
		a.do("add.f32 %%f4, %%f4, %s", float(1))
		a.do("div.full.f32 %%f4, %%f2, %%f4")
		a.do("mul.f32 %%f%d, %%f4, %%f3", i)
	}
	a.do("cvt.rn.bf16x2.f32 %%r16, %%f1, %%f0")
}
