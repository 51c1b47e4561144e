package stablehlo

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// thinKernel adds what an adapter says to the product of joined weights with the same input, as text for NVIDIA's
// assembler (PTX ISA 8.0, compute capability 8.0): y + B d, where d is what stands behind y in each row. y is float32,
// so the sum is rounded once. A warp computes 16 rows and some columns with the instruction mma.m16n8k16; d is rounded
// to bfloat16 for it, as in training. Each band of y's columns has columns of d of its own. Gated, the result is
// SiLU(first half) second half (arXiv 2002.05202), of halves that are rounded as they would be in memory. Normed, see
// thin_norm.go.
//
//	y     [rows, out + bands width] f32; of a product in parts [parts, rows, out + bands width], which are added up
//	b     [out, width] bf16
//	bias  [out] f32, where there is one
//	z     [rows, out] bf16, gated [rows, out/2]
type thinKernel struct {
	parts, rows        int
	out, width         int
	bands              []int // the first column of each
	bias, gated, norms bool
	eps                float64 // of the norm
	clusters           bool    // the device has them: compute capability 9.0
}

const thinName = "add_thin"

// Thin stands in the options of fused attention, as Bias, where one kernel is to add what an adapter says: fused
// attention's query is then y, key is b, and value is what is added to the sum before it is normed, where it is; then
// there is one state, the sum that was normed.
type Thin struct {
	Parts        int   // of y, which has that axis first where there are several
	Bands        []int // the first column of each, from 0 on
	Gated, Norms bool
	Bias         compute.Value // nil where there is none
	Weight       compute.Value // of the norm
	Eps          float64
}

// HasThin reports whether there is a kernel for Thin of so many rows and columns of y, where a band has width columns
// of d.
func (b *Backend) HasThin(rows, out, width int, t Thin) bool {
	k := thinKernel{parts: t.Parts, rows: rows, out: out, width: width, bands: t.Bands, gated: t.Gated, norms: t.Norms,
		clusters: b.clusters}
	return b.IsGPU() && k.fits()
}

// addThin is fused attention of Thin.
func (f *function) addThin(y, b, x compute.Value, t Thin) (compute.Value, []compute.Value, error) {
	ys, bs := y.(*value).shape, b.(*value).shape
	k := thinKernel{parts: t.Parts, bands: t.Bands, bias: t.Bias != nil, gated: t.Gated, norms: t.Norms, eps: t.Eps,
		clusters: f.builder.backend.clusters}
	want := []int{}
	if bs.Rank() == 2 && ys.Rank() >= 2 {
		k.rows, k.out, k.width = ys.Dimensions[ys.Rank()-2], bs.Dimensions[0], bs.Dimensions[1]
		if want = []int{k.rows, k.stride()}; k.parts > 1 {
			want = append([]int{k.parts}, want...)
		}
	}
	if !slices.Equal(ys.Dimensions, want) || ys.DType != dtypes.Float32 || bs.DType != dtypes.BFloat16 ||
		!f.builder.backend.HasThin(k.rows, k.out, k.width, t) {
		return nil, nil, fmt.Errorf("stablehlo backend: what an adapter adds, of %s and %s: %w",
			ys, bs, compute.ErrNotImplemented)
	}
	operands := []compute.Value{y, b}
	if k.bias {
		operands = append(operands, t.Bias)
	}
	z := shapes.Make(dtypes.BFloat16, k.rows, k.columns())
	if !k.norms {
		return f.callPTX(k.ptx(), []shapes.Shape{z}, operands...)[0], nil, nil
	}
	r := f.callPTX(k.ptx(), []shapes.Shape{z, z}, append(operands, x, t.Weight)...)
	return r[0], r[1:], nil
}

// columns of the result.
func (k thinKernel) columns() int {
	if k.gated {
		return k.out / 2
	}
	return k.out
}

// stride is how long a row of y is, with what stands behind it.
func (k thinKernel) stride() int { return k.out + len(k.bands)*k.width }

// fits reports whether rows, columns and width are whole pieces of what the instruction computes.
func (k thinKernel) fits() bool {
	if k.parts < 1 || k.parts > 4 || k.rows <= 0 || k.rows%16 != 0 || k.width <= 0 || k.width%32 != 0 ||
		k.width > 512 || k.columns()%8 != 0 || len(k.bands) == 0 || k.bands[0] != 0 {
		return false
	}
	switch {
	case k.norms:
		return k.clusters && len(k.bands) == 1 && !k.gated && k.out%(8*clusterBlocks) == 0 && k.tiles() <= 8
	case k.gated:
		return len(k.bands) == 1 || len(k.bands) == 2 && k.bands[1] == k.out/2
	}
	return !slices.ContainsFunc(k.bands, func(first int) bool { return first%8 != 0 })
}

// warps is how many a block has, below each other; where the sums are normed beside each other, and with an even number
// of tiles if that can be.
func (k thinKernel) warps() int {
	if k.norms {
		all := k.out / (8 * clusterBlocks)
		return mostParts(all, 16, 2-all%2)
	}
	return mostParts(k.rows/16, 4, 1)
}

// mostParts is into how many parts n things can be put, all alike and whole multiples of so many; 1 where they cannot.
func mostParts(n, most, multiple int) int {
	for parts := most; parts > 1; parts-- {
		if n%(parts*multiple) == 0 {
			return parts
		}
	}
	return 1
}

// tiles is how many times 8 columns a warp computes, all of one band: fewer where there are too few to keep a device
// busy.
func (k thinKernel) tiles() int {
	if k.norms {
		return k.out / (8 * clusterBlocks * k.warps())
	}
	for n := 4; n > 1; n /= 2 {
		whole := k.columns()%(8*n) == 0 &&
			!slices.ContainsFunc(k.bands, func(first int) bool { return !k.gated && first%(8*n) != 0 })
		if whole && k.columns()/(8*n)*(k.rows/(16*k.warps())) >= 128 {
			return n
		}
	}
	return 1
}

func (k thinKernel) ptx() ptx {
	if k.norms {
		return ptx{name: thinNormName, text: k.text(), grid: [2]int{clusterBlocks, k.rows / 16},
			threads: 32 * k.warps()}
	}
	return ptx{name: thinName, text: k.text(), grid: [2]int{k.columns() / (8 * k.tiles()), k.rows / (16 * k.warps())},
		threads: 32 * k.warps()}
}

func (k thinKernel) params() []string {
	names := []string{"y", "b"}
	if k.bias {
		names = append(names, "bias")
	}
	if k.norms {
		return append(names, "x", "weight", "z", "sum")
	}
	return append(names, "z")
}

// halves are the first columns of what a warp sums: of the gate and of what it gates.
func (k thinKernel) halves() []int {
	if k.gated {
		return []int{0, k.out / 2}
	}
	return []int{0}
}

// sets is how many bands a warp sums: two where the gate is one, and what it gates the other.
func (k thinKernel) sets() int {
	if k.gated {
		return len(k.bands)
	}
	return 1
}

// span is how many tiles lie in one another: of two, each has every other pair of their columns, so that a lane's are
// four beside each other.
func (k thinKernel) span() int { return 2 - k.tiles()%2 }

// text is the kernel. A lane's part of a tile is two columns in each of two rows: with q and i its number over and
// modulo 4, rows q and q+8 and columns 2i and 2i+1. Of d it has these rows, and of B the column q, in both the quarter
// number i of the columns of d.
func (k thinKernel) text() string {
	a := &assembler{}
	name, target := thinName, 80
	if k.norms {
		name = thinNormName
	}
	if k.clusters {
		target = 90
	}
	fmt.Fprintf(a, ".version 8.1\n.target sm_%d\n.address_size 64\n.visible .entry %s(", target, name)
	for i, name := range k.params() {
		if i > 0 {
			a.WriteString(", ")
		}
		fmt.Fprintf(a, ".param .u64 %s_", name)
	}
	fmt.Fprintf(a, ")\n.maxntid %d\n", 32*k.warps())
	if k.norms {
		fmt.Fprintf(a, ".reqnctapercluster %d, 1, 1\n", clusterBlocks)
	}
	a.WriteString("{\n")
	if k.norms {
		fmt.Fprintf(a, "\t.shared .align 16 .f32 partial[%d];\n", k.clusterOffset()/4+16*givenPitch)
	}
	a.do(".reg .pred %%p<4>")
	a.do(".reg .b64 %%a<12>")
	a.do(".reg .b32 %%r<32>, %%b<%d>, %%x<%d>", k.width/8*k.numTiles(), 2*k.tiles())
	a.do(".reg .f32 %%f<20>, %%c<%d>, %%d<%d>, %%w<%d>, %%e<%d>",
		k.parts*4*k.numTiles(), k.parts*k.sets()*k.width/2, 2*k.tiles(), 2*k.numTiles())
	k.begin(a)
	k.product(a)
	for pair := range k.width / 32 {
		k.load(a, pair, 8*pair)
	}
	if k.norms {
		k.beginNorm(a)
	}
	if k.clusters {
		// Blocks of a cluster that are all there may write to each other. What counts here is that ptxas moves no load
		// behind it: by themselves it moves some behind the products of others, and they are waited for one after the
		// other (docs/log).
		a.do("barrier.cluster.arrive.relaxed.aligned")
		a.do("barrier.cluster.wait.aligned")
	}
	k.addUp(a)
	for pair := range k.width / 32 {
		k.multiply(a, pair)
	}
	if k.norms {
		k.endNorm(a)
	} else {
		k.end(a)
	}
	a.do("ret")
	a.WriteString("}\n")
	return a.String()
}

// begin computes the lane's q %r2 and i %r3, its first row %r4, its first column %r5, and addresses: of that row and
// column of y %a1 and of the row 8 below %a2, of d in these rows %a3 and %a4, of B at column q %a5.
func (k thinKernel) begin(a *assembler) {
	stride := 4 * k.stride()
	a.do("mov.u32 %%r0, %%tid.x")
	a.do("and.b32 %%r1, %%r0, 31")
	a.do("shr.u32 %%r2, %%r1, 2")
	a.do("and.b32 %%r3, %%r1, 3")
	a.do("shr.u32 %%r8, %%r0, 5")
	a.do("mov.u32 %%r4, %%ctaid.y")
	a.do("mov.u32 %%r6, %%ctaid.x")
	if k.norms {
		a.do("mad.lo.u32 %%r6, %%r6, %d, %%r8", k.warps())
	} else {
		a.do("mad.lo.u32 %%r4, %%r4, %d, %%r8", k.warps())
	}
	a.do("mad.lo.u32 %%r4, %%r4, 16, %%r2")
	a.do("mul.lo.u32 %%r6, %%r6, %d", 8*k.tiles())
	a.do("mad.lo.u32 %%r5, %%r3, %d, %%r6", 2*k.span())
	parameter(a, "%a0", "y")
	a.do("mad.wide.u32 %%a0, %%r4, %d, %%a0", stride)
	a.do("mad.wide.u32 %%a1, %%r5, 4, %%a0")
	a.do("add.u64 %%a2, %%a1, %d", 8*stride)
	a.do("mad.wide.u32 %%a3, %%r3, %d, %%a0", k.width)
	a.do("add.u64 %%a3, %%a3, %d", 4*k.out)
	if !k.gated && len(k.bands) > 1 {
		a.do("mov.u32 %%r7, 0") // the warp's band
		for i, first := range k.bands[1:] {
			a.do("setp.ge.s32 %%p0, %%r6, %d", first)
			a.do("selp.b32 %%r7, %d, %%r7, %%p0", i+1)
		}
		a.do("mad.wide.u32 %%a3, %%r7, %d, %%a3", 4*k.width)
	}
	a.do("add.u64 %%a4, %%a3, %d", 8*stride)
	parameter(a, "%a5", "b")
	a.do("add.s32 %%r6, %%r6, %%r2")
	if k.span() == 2 {
		a.do("and.b32 %%r7, %%r2, 6")
		a.do("add.s32 %%r6, %%r6, %%r7")
	}
	a.do("mad.wide.u32 %%a5, %%r6, %d, %%a5", 2*k.width)
	a.do("mad.wide.u32 %%a5, %%r3, %d, %%a5", k.width/2)
	if k.bias {
		parameter(a, "%a6", "bias")
		a.do("mad.wide.u32 %%a6, %%r5, 4, %%a6")
	}
}

// product reads y, four elements for each tile and part, of the gate's tiles and then of the others, and the bias.
func (k thinKernel) product(a *assembler) {
	for h, column := range k.halves() {
		for tile := 0; tile < k.tiles(); tile += k.span() {
			at, number := 4*(column+8*tile), h*k.tiles()+tile
			for part := range k.parts {
				for row, from := range []string{"%a1", "%a2"} {
					a.do("ld.global.nc%s, [%s+%d]", k.vector("f32", 2, func(s, i int) string {
						return k.sum(part*k.numTiles()+number+s, row, i)
					}), from, at+part*k.part())
				}
			}
			if k.bias {
				a.do("ld.global.nc%s, [%%a6+%d]",
					k.vector("f32", 2, func(s, i int) string { return fmt.Sprintf("%%e%d", 2*(number+s)+i) }), at)
			}
		}
	}
}

// part is how many bytes a part of y has.
func (k thinKernel) part() int { return 4 * k.rows * k.stride() }

// addUp makes of all parts of y and of d the first, and adds the bias.
func (k thinKernel) addUp(a *assembler) {
	n, d := 4*k.numTiles(), k.sets()*k.width/2
	for part := 1; part < k.parts; part++ {
		for i := range n {
			a.do("add.f32 %%c%d, %%c%d, %%c%d", i, i, part*n+i)
		}
		for i := range d {
			a.do("add.f32 %%d%d, %%d%d, %%d%d", i, i, part*d+i)
		}
	}
	for i := 0; k.bias && i < n; i++ {
		a.do("add.f32 %%c%d, %%c%d, %%e%d", i, i, i/4*2+i%2)
	}
}

// sum is the register of an element of a tile.
func (k thinKernel) sum(tile, row, i int) string { return fmt.Sprintf("%%c%d", 4*tile+2*row+i) }

// vector is type and registers of what a lane has beside each other in tiles that lie in one another, so many of each.
func (k thinKernel) vector(kind string, each int, register func(s, i int) string) string {
	var all []string
	for s := range k.span() {
		for i := range each {
			all = append(all, register(s, i))
		}
	}
	if len(all) == 1 {
		return "." + kind + " " + all[0]
	}
	return fmt.Sprintf(".v%d.%s {%s}", len(all), kind, strings.Join(all, ", "))
}

// load reads what the lane multiplies in two steps, the eight columns of its quarter of d from one on: of d in its
// rows, and of B.
func (k thinKernel) load(a *assembler, pair, from int) {
	for set := range k.sets() * k.parts {
		part, column := set/k.sets(), set%k.sets()*k.width
		for row, at := range []string{"%a3", "%a4"} {
			for i := range 2 {
				d := k.at(set, pair, row, i)
				a.do("ld.global.nc.v4.f32 {%%d%d, %%d%d, %%d%d, %%d%d}, [%s+%d]",
					d, d+1, d+2, d+3, at, 4*(column+from+4*i)+part*k.part())
			}
		}
	}
	for tile := range k.numTiles() {
		b := 4 * (pair*k.numTiles() + tile)
		column := k.halves()[tile/k.tiles()] + 8*(tile%k.tiles()/k.span()*k.span()) + 2*(tile%k.span())
		a.do("ld.global.nc.v4.b32 {%%b%d, %%b%d, %%b%d, %%b%d}, [%%a5+%d]", b, b+1, b+2, b+3, 2*(column*k.width+from))
	}
}

// at is the register of the first of four columns of d, by the band, the pair of steps, the row, and the step of the
// pair.
func (k thinKernel) at(set, pair, row, step int) int { return set*k.width/2 + 16*pair + 8*row + 4*step }

// numTiles counts the tiles that a warp sums.
func (k thinKernel) numTiles() int { return k.tiles() * len(k.halves()) }

// multiply adds the products of two steps. In which order columns of d are multiplied does not matter, if B's are in
// the same: a lane has four that stand beside each other where the instruction counts two, and two that are eight
// further.
func (k thinKernel) multiply(a *assembler, pair int) {
	for step := range 2 {
		for set := range k.sets() {
			for i := range 4 { // rows q and q+8, then the same of the lane's other two columns
				d := k.at(set, pair, i%2, step) + 2*(i/2)
				a.do("cvt.rn.bf16x2.f32 %%r%d, %%d%d, %%d%d", 12+4*set+i, d+1, d)
			}
		}
		for tile := range k.numTiles() {
			c, b, r := 4*tile, 4*(pair*k.numTiles()+tile)+2*step, 12+4*(tile/k.tiles()*(k.sets()-1))
			a.do("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%%c%d, %%c%d, %%c%d, %%c%d}, {%%r%d, %%r%d, "+
				"%%r%d, %%r%d}, {%%b%d, %%b%d}, {%%c%d, %%c%d, %%c%d, %%c%d}",
				c, c+1, c+2, c+3, r, r+1, r+2, r+3, b, b+1, c, c+1, c+2, c+3)
		}
	}
}

// end rounds the sums and writes them, or what the gate leaves of the others.
func (k thinKernel) end(a *assembler) {
	parameter(a, "%a7", "z")
	a.do("mad.wide.u32 %%a7, %%r4, %d, %%a7", 2*k.columns())
	a.do("mad.wide.u32 %%a7, %%r5, 2, %%a7")
	for tile := 0; tile < k.tiles(); tile += k.span() {
		for row := range 2 {
			for s := range k.span() {
				a.do("cvt.rn.bf16x2.f32 %%r%d, %s, %s", 20+s, k.sum(tile+s, row, 1), k.sum(tile+s, row, 0))
				if k.gated {
					a.do("cvt.rn.bf16x2.f32 %%r22, %s, %s", k.sum(k.tiles()+tile+s, row, 1),
						k.sum(k.tiles()+tile+s, row, 0))
					k.gate(a, fmt.Sprintf("%%r%d", 20+s), "%r22")
				}
			}
			k.write(a, "%a7", tile, row)
		}
	}
}

// write writes what %r20 and, of two tiles, %r21 have of a result's row.
func (k thinKernel) write(a *assembler, to string, tile, row int) {
	values := k.vector("b32", 1, func(s, _ int) string { return fmt.Sprintf("%%r%d", 20+s) })
	kind, registers, _ := strings.Cut(values, " ")
	a.do("st.global%s [%s+%d], %s", kind, to, 2*(8*k.columns()*row+8*tile), registers)
}

// gate makes of two gates and what they gate the two results, in the gates' place.
func (k thinKernel) gate(a *assembler, gates, others string) {
	for i := range 2 {
		unpack(a, "%f2", gates, i)
		unpack(a, "%f3", others, i)
		a.do("mul.f32 %%f4, %%f2, %s", float(-math.Log2E))
		a.do("ex2.approx.ftz.f32 %%f4, %%f4")
		a.do("add.f32 %%f4, %%f4, %s", float(1))
		a.do("div.full.f32 %%f4, %%f2, %%f4")
		a.do("mul.f32 %%f%d, %%f4, %%f3", i)
	}
	a.do("cvt.rn.bf16x2.f32 %s, %%f1, %%f0", gates)
}
