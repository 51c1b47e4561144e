package stablehlo

import "fmt"

// The normed form of thinKernel adds its sum to what a layer's residual stream holds, and norms that (arXiv 1910.07467): what else would
// be two kernels, of which the second waits for all of the first. A cluster of blocks (PTX ISA 8.0, compute capability 9.0) computes 16 rows; each
// block has some of the columns, tells the others how large their squares add up to, in their shared memory, and then norms its own.
//
//	x       [rows, out] bf16
//	weight  [out] f32
//	z       [rows, out] bf16: sum, normed
//	sum     [rows, out] bf16: x + (y + B d), rounded before and after it is added, as the operations one by one do

const (
	thinNormName  = "add_thin_norm"
	clusterBlocks = 8 // the most that every device with clusters takes
)

// pitch is how far rows are apart in shared memory, in floats: a sum of squares from each warp of the cluster, and what keeps 8 rows in banks of their own.
func (k thinKernel) pitch() int { return clusterBlocks*k.warps() + 4 }

// beginNorm reads what the lane adds and the weights of its columns.
func (k thinKernel) beginNorm(a *assembler) {
	parameter(a, "%a8", "x")
	a.do("mad.wide.u32 %%a8, %%r4, %d, %%a8", 2*k.out)
	a.do("mad.wide.u32 %%a8, %%r5, 2, %%a8")
	parameter(a, "%a9", "weight")
	a.do("mad.wide.u32 %%a9, %%r5, 4, %%a9")
	for tile := 0; tile < k.tiles(); tile += k.span() {
		for row := range 2 {
			a.do("ld.global.nc%s, [%%a8+%d]", k.vector("b32", 1, func(s, _ int) string { return fmt.Sprintf("%%x%d", 2*(tile+s)+row) }), 2*(8*k.out*row+8*tile))
		}
		a.do("ld.global.nc%s, [%%a9+%d]", k.vector("f32", 2, func(s, i int) string { return fmt.Sprintf("%%w%d", 2*(tile+s)+i) }), 4*8*tile)
	}
}

// endNorm adds x to the rounded sums, writes that, and writes it normed.
func (k thinKernel) endNorm(a *assembler) {
	for i, name := range []string{"z", "sum"} {
		to := fmt.Sprintf("%%a%d", 7+3*i)
		parameter(a, to, name)
		a.do("mad.wide.u32 %s, %%r4, %d, %s", to, 2*k.out, to)
		a.do("mad.wide.u32 %s, %%r5, 2, %s", to, to)
	}
	a.do("mov.f32 %%f10, 0f00000000") // squares of rows q and q+8
	a.do("mov.f32 %%f11, 0f00000000")
	for tile := range k.tiles() {
		for row := range 2 {
			k.stream(a, tile, row)
		}
	}
	k.overLanes(a)
	k.exchange(a)
	k.overLanes(a)
	for row := range 2 {
		a.do("fma.rn.f32 %%f%d, %%f%d, %s, %s", 10+row, 10+row, float(1/float64(k.out)), float(k.eps))
		a.do("rsqrt.approx.f32 %%f%d, %%f%d", 10+row, 10+row)
		for tile := 0; tile < k.tiles(); tile += k.span() {
			for s := range k.span() {
				for i := range 2 {
					a.do("mul.f32 %%f%d, %s, %%f%d", 2+i, k.sum(tile+s, row, i), 10+row)
					a.do("mul.f32 %%f%d, %%f%d, %%w%d", 2+i, 2+i, 2*(tile+s)+i)
				}
				a.do("cvt.rn.bf16x2.f32 %%r%d, %%f3, %%f2", 20+s)
			}
			k.write(a, "%a7", tile, row)
			for s := range k.span() {
				a.do("cvt.rn.bf16x2.f32 %%r%d, %s, %s", 20+s, k.sum(tile+s, row, 1), k.sum(tile+s, row, 0))
			}
			k.write(a, "%a10", tile, row)
		}
	}
}

// stream rounds a tile's sums of a row, adds x, rounds again, and adds their squares up. What is written is written later: blocks that tell each other
// something wait for all that they wrote.
func (k thinKernel) stream(a *assembler, tile, row int) {
	c := func(i int) string { return k.sum(tile, row, i) }
	a.do("cvt.rn.bf16x2.f32 %%r20, %s, %s", c(1), c(0))
	for i := range 2 {
		unpack(a, "%f2", "%r20", i)
		unpack(a, "%f3", fmt.Sprintf("%%x%d", 2*tile+row), i)
		a.do("add.f32 %s, %%f2, %%f3", c(i))
	}
	a.do("cvt.rn.bf16x2.f32 %%r20, %s, %s", c(1), c(0))
	for i := range 2 {
		unpack(a, c(i), "%r20", i)
		a.do("fma.rn.f32 %%f%d, %s, %s, %%f%d", 10+row, c(i), c(i), 10+row)
	}
}

// overLanes adds the squares up over the four lanes that have the same rows.
func (k thinKernel) overLanes(a *assembler) {
	for bit := 1; bit < 4; bit *= 2 {
		for row := range 2 {
			exchange(a, "%f4", fmt.Sprintf("%%f%d", 10+row), bit)
			a.do("add.f32 %%f%d, %%f%d, %%f4", 10+row, 10+row)
		}
	}
}

// exchange gives the warp's squares to all blocks of the cluster, and takes a quarter of what it was given. Of blocks that have it all no one writes or reads
// any more, so they may end.
func (k thinKernel) exchange(a *assembler) {
	a.do("mov.u32 %%r30, partial")
	a.do("mad.lo.u32 %%r30, %%r2, %d, %%r30", 4*k.pitch())
	a.do("mov.u32 %%r22, %%cluster_ctarank")
	a.do("mad.lo.u32 %%r22, %%r22, %d, %%r8", k.warps())
	a.do("mad.lo.u32 %%r22, %%r22, 4, %%r30")
	for block := 0; block < clusterBlocks; block += 4 { // four lanes have the same
		a.do("add.s32 %%r23, %%r3, %d", block)
		a.do("mapa.shared::cluster.u32 %%r24, %%r22, %%r23")
		for row := range 2 {
			a.do("st.shared::cluster.f32 [%%r24+%d], %%f%d", 4*8*k.pitch()*row, 10+row)
		}
	}
	a.do("barrier.cluster.arrive.aligned")
	a.do("mad.lo.u32 %%r30, %%r3, 4, %%r30")
	a.do("mov.f32 %%f10, 0f00000000")
	a.do("mov.f32 %%f11, 0f00000000")
	a.do("barrier.cluster.wait.aligned")
	for i := 0; i < clusterBlocks*k.warps(); i += 4 {
		for row := range 2 {
			a.do("ld.shared.f32 %%f4, [%%r30+%d]", 4*(8*k.pitch()*row+i))
			a.do("add.f32 %%f%d, %%f%d, %%f4", 10+row, 10+row)
		}
	}
}
