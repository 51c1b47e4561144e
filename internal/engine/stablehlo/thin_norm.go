package stablehlo

import "fmt"

// The normed form of thinKernel adds its sum to what a layer's residual stream holds, and norms that (arXiv
// 1910.07467): what else would be two kernels, of which the second waits for all of the first. A cluster of blocks (PTX
// ISA 8.0, compute capability 9.0) computes 16 rows; each block has some of the columns, tells the others in their
// shared memory what their squares add up to (PTX ISA 8.1, st.async), and then norms its own.
//
//	x       [rows, out] bf16
//	weight  [out] f32
//	z       [rows, out] bf16: sum, normed
//	sum     [rows, out] bf16: x + (y + B d), rounded once, as XLA does it too, which leaves out a rounding between two operations

const (
	thinNormName  = "add_thin_norm"
	clusterBlocks = 8 // the most that every device with clusters takes
	givenPitch    = clusterBlocks + 4
)

// Shared memory has, of each of the 16 rows, the sum of squares of each warp; the barrier that counts what the block
// was given; and of each row what each block of the cluster gave. Rows are as far apart as keeps them in banks of their
// own.
func (k thinKernel) barrierOffset() int { return 4 * 16 * (k.warps() | 1) }
func (k thinKernel) clusterOffset() int { return k.barrierOffset() + 16 }

// beginNorm reads what the lane adds and the weights of its columns, and has the block's first thread set up the
// barrier.
func (k thinKernel) beginNorm(a *assembler) {
	parameter(a, "%a8", "x")
	a.do("mad.wide.u32 %%a8, %%r4, %d, %%a8", 2*k.out)
	a.do("mad.wide.u32 %%a8, %%r5, 2, %%a8")
	parameter(a, "%a9", "weight")
	a.do("mad.wide.u32 %%a9, %%r5, 4, %%a9")
	for tile := 0; tile < k.tiles(); tile += k.span() {
		for row := range 2 {
			a.do("ld.global.nc%s, [%%a8+%d]",
				k.vector("b32", 1, func(s, _ int) string { return fmt.Sprintf("%%x%d", 2*(tile+s)+row) }),
				2*(8*k.out*row+8*tile))
		}
		a.do("ld.global.nc%s, [%%a9+%d]",
			k.vector("f32", 2, func(s, i int) string { return fmt.Sprintf("%%w%d", 2*(tile+s)+i) }), 4*8*tile)
	}
	a.do("mov.u32 %%r30, partial")
	a.do("add.s32 %%r28, %%r30, %d", k.barrierOffset())
	a.do("setp.eq.s32 %%p1, %%r0, 0")
	a.do("@%%p1 mbarrier.init.shared::cta.b64 [%%r28], 1")
	a.do("@%%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%%r28], %d", 4*16*clusterBlocks)
	a.do("@%%p1 fence.mbarrier_init.release.cluster")
}

// endNorm adds x to the sums, and writes that and what the norm makes of it.
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

// stream adds x to a tile's sums of a row, rounds them, and adds their squares up.
func (k thinKernel) stream(a *assembler, tile, row int) {
	c := func(i int) string { return k.sum(tile, row, i) }
	for i := range 2 {
		unpack(a, "%f2", fmt.Sprintf("%%x%d", 2*tile+row), i)
		a.do("add.f32 %s, %s, %%f2", c(i), c(i))
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

// exchange adds the squares up over the block, gives them to all blocks of the cluster, and takes a quarter of what the
// block is given. Nobody reads another block's memory, and to one that was told all nobody writes, so it may end.
func (k thinKernel) exchange(a *assembler) {
	pitch := 4 * (k.warps() | 1)
	a.do("mad.lo.u32 %%r22, %%r2, %d, %%r30", pitch)
	a.do("mad.lo.u32 %%r22, %%r8, 4, %%r22")
	a.do("setp.eq.s32 %%p1, %%r3, 0") // four lanes have the same
	for row := range 2 {
		a.do("@%%p1 st.shared.f32 [%%r22+%d], %%f%d", 8*pitch*row, 10+row)
	}
	a.do("bar.sync 0")
	a.do("mov.u32 %%r26, %%cluster_ctarank")
	a.do("mad.lo.u32 %%r26, %%r26, 4, %%r30")
	for first := 0; first < 16*clusterBlocks; first += 32 * k.warps() { // a thread for each row and block that is told
		a.do("add.s32 %%r22, %%r0, %d", first)
		a.do("setp.lt.s32 %%p1, %%r22, %d", 16*clusterBlocks)
		a.do("@!%%p1 bra tell%d", first)
		a.do("shr.u32 %%r23, %%r22, %d", log2(clusterBlocks))
		a.do("and.b32 %%r22, %%r22, %d", clusterBlocks-1)
		a.do("mad.lo.u32 %%r27, %%r23, %d, %%r30", pitch)
		a.do("mov.f32 %%f5, 0f00000000")
		for w := range k.warps() {
			a.do("ld.shared.f32 %%f4, [%%r27+%d]", 4*w)
			a.do("add.f32 %%f5, %%f5, %%f4")
		}
		a.do("mad.lo.u32 %%r23, %%r23, %d, %%r26", 4*givenPitch)
		a.do("mapa.shared::cluster.u32 %%r24, %%r23, %%r22")
		a.do("mapa.shared::cluster.u32 %%r25, %%r28, %%r22")
		a.do("st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [%%r24+%d], %%f5, [%%r25]", k.clusterOffset())
		a.label(fmt.Sprint("tell", first))
	}
	a.do("mad.lo.u32 %%r22, %%r2, %d, %%r30", 4*givenPitch)
	a.do("mad.lo.u32 %%r22, %%r3, 4, %%r22")
	a.label("told")
	a.do("mbarrier.try_wait.parity.shared::cta.b64 %%p1, [%%r28], 0")
	a.do("@!%%p1 bra told")
	for row := range 2 {
		at := k.clusterOffset() + 4*8*givenPitch*row
		a.do("ld.shared.f32 %%f%d, [%%r22+%d]", 10+row, at)
		a.do("ld.shared.f32 %%f4, [%%r22+%d]", at+4*clusterBlocks/2)
		a.do("add.f32 %%f%d, %%f%d, %%f4", 10+row, 10+row)
	}
}
