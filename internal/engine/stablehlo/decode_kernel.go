package stablehlo

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// decodeKernel is what a layer's attention does with one new token of each row, as text for NVIDIA's assembler (PTX ISA
// 8.0, compute capability 8.0): it norms and rotates the token's queries and key (arXiv 2104.09864), writes key and
// value behind those that the row's cache holds, and attends from the queries to all of them. Each block of threads
// reads the keys and values of one row and key-value head once, for all query heads that share it; its warps take turns
// through the keys. In a warp the lanes that read one key, eight elements each, add up its scores, and every lane then
// keeps one score of a head and a key: softmax is computed as keys come, in base 2 (arXiv 2307.08691). What a warp
// reads next is asked for as soon as what it has read is used.
//
//	qkv              [rows, (heads + 2 kvHeads) dim] bf16, queries, keys and values of the new tokens
//	lengths          [rows] i32: tokens that the caches hold
//	k, v             [kvHeads, rows, columns, dim] bf16 caches, and again as results, in the same place
//	qnorm, knorm     [dim] f32, where there are norms
//	cos, sin         [rows, dim] f32, where there is a rotation
//	out, turned      [rows, heads, dim] bf16: attention's output, and the queries as they attended
//	stat             [rows, heads] f32: log of the softmax's denominator
type decodeKernel struct {
	rows, heads, kvHeads, columns, dim int
	scale                              float64
	norm, rotate                       bool
	eps                                float64 // of the norms
}

const decodeName = "attend_decode"

// NewToken stands in the options of fused attention, as Bias, where the new tokens of rows are to be attended from and
// written to their caches by one kernel: fused attention's query is then qkv, key and value are the caches, and its
// states are turned, stat and the caches (see decodeKernel). Its fields are values; Norms and Rotation are nil where
// there is none.
type NewToken struct {
	NumHeads, NumKVHeads int
	Scale, Eps           float64
	Lengths              compute.Value
	Norms, Rotation      []compute.Value // qnorm and knorm; cos and sin
}

// HasNewToken reports whether there is a kernel for NewToken: for so many rows and heads, of elements each.
func (b *Backend) HasNewToken(rows, numHeads, numKVHeads, headDim int) bool {
	return b.IsGPU() && decodeKernel{rows: rows, heads: numHeads, kvHeads: numKVHeads, dim: headDim}.fits()
}

// attendNew is fused attention of NewToken.
func (f *function) attendNew(qkv, key, val compute.Value, t NewToken) (compute.Value, []compute.Value, error) {
	x, cache := qkv.(*value).shape, key.(*value).shape
	if cache.Rank() != 4 || x.DType != dtypes.BFloat16 {
		return nil, nil, fmt.Errorf("stablehlo backend: new tokens %s of caches %s: %w",
			x, cache, compute.ErrNotImplemented)
	}
	k := decodeKernel{rows: cache.Dimensions[1], heads: t.NumHeads, kvHeads: t.NumKVHeads, columns: cache.Dimensions[2],
		dim: cache.Dimensions[3], scale: t.Scale, norm: t.Norms != nil, rotate: t.Rotation != nil, eps: t.Eps}
	if !f.builder.backend.HasNewToken(k.rows, k.heads, k.kvHeads, k.dim) ||
		x.Size() != k.rows*(k.heads+2*k.kvHeads)*k.dim {
		return nil, nil, fmt.Errorf("stablehlo backend: new tokens %s of caches %s: %w",
			x, cache, compute.ErrNotImplemented)
	}
	heads := shapes.Make(dtypes.BFloat16, k.rows, 1, k.heads, k.dim)
	operands := append(append([]compute.Value{qkv, t.Lengths, key, val}, t.Norms...), t.Rotation...)
	r := f.callPTX(k.ptx(), []shapes.Shape{heads, heads, shapes.Make(dtypes.Float32, k.rows, k.heads, 1), cache, cache},
		operands...)
	return r[0], r[1:], nil
}

// fits reports whether there is such a kernel, and enough rows for it to keep a device busy.
func (k decodeKernel) fits() bool {
	return (k.dim == 64 || k.dim == 128) && k.groups() <= 8 && k.rows*k.kvHeads >= 128
}

func (k decodeKernel) groups() int { return k.heads / k.kvHeads }

// paddedGroups is groups up to a power of two: so many heads' scores are computed.
func (k decodeKernel) paddedGroups() int { return 1 << bits.Len(uint(k.groups()-1)) }

// lanes is how many lanes of a warp read a key together.
func (k decodeKernel) lanes() int { return k.dim / 8 }

// together is how many keys a warp reads with one instruction.
func (k decodeKernel) together() int { return 32 / k.lanes() }

// unroll is how many such instructions are one step of a warp: with a score of each head and key no more than lanes
// hold.
func (k decodeKernel) unroll() int { return min(8, k.lanes()/k.paddedGroups()) }

func (k decodeKernel) step() int { return k.together() * k.unroll() }

// warps is how many warps a block has: few where there are many blocks.
func (k decodeKernel) warps() int {
	if k.rows*k.kvHeads >= 384 {
		return 4
	}
	return 8
}

// blocks is how many of them a core is to hold, by their registers: 512 threads, where heads are many at most 384.
func (k decodeKernel) blocks() int {
	if k.paddedGroups() > 4 {
		return 384 / k.threads()
	}
	return 512 / k.threads()
}

func (k decodeKernel) threads() int { return 32 * k.warps() }

// shared memory is, in floats: of each warp and padded head the largest score and the sum, then of each warp and head
// the output.
func (k decodeKernel) sumAt() int       { return k.warps() * k.paddedGroups() }
func (k decodeKernel) outAt() int       { return 2 * k.warps() * k.paddedGroups() }
func (k decodeKernel) sharedBytes() int { return 4 * (k.outAt() + k.warps()*k.groups()*k.dim) }

// assembler collects instructions.
type assembler struct{ strings.Builder }

func (a *assembler) do(format string, args ...any) { fmt.Fprintf(a, "\t"+format+";\n", args...) }
func (a *assembler) label(name string)             { a.WriteString(name + ":\n") }

// ptx is the kernel, a block for each row and key-value head.
func (k decodeKernel) ptx() ptx {
	return ptx{name: decodeName, text: k.text(), grid: [2]int{k.rows, k.kvHeads}, threads: k.threads(),
		inPlace: [][2]int{{3, 2}, {4, 3}}}
}

// params are the kernel's parameters, the operands and then the results.
func (k decodeKernel) params() []string {
	names := []string{"qkv", "lengths", "k", "v"}
	if k.norm {
		names = append(names, "qnorm", "knorm")
	}
	if k.rotate {
		names = append(names, "cos", "sin")
	}
	return append(names, "out", "turned", "stat", "newk", "newv")
}

// text is the kernel.
func (k decodeKernel) text() string {
	a := &assembler{}
	fmt.Fprintf(a, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry %s(", decodeName)
	for i, name := range k.params() {
		if i > 0 {
			a.WriteString(", ")
		}
		fmt.Fprintf(a, ".param .u64 %s_", name)
	}
	fmt.Fprintf(a, ")\n.maxntid %d\n.minnctapersm %d\n{\n", k.threads(), k.blocks())
	fmt.Fprintf(a, "\t.shared .align 16 .f32 partial[%d];\n", k.sharedBytes()/4)
	a.do(".reg .pred %%p<8>")
	a.do(".reg .b64 %%a<12>")
	a.do(".reg .b32 %%r<40>, %%k<%d>, %%v<%d>", 4*k.unroll(), 4*k.unroll())
	a.do(".reg .f32 %%f<40>, %%c<8>, %%s<8>, %%w<8>, %%n<8>, %%q<%d>, %%o<%d>, %%x<%d>",
		8*k.paddedGroups(), 8*k.paddedGroups(), k.paddedGroups()*k.unroll())
	k.begin(a)
	a.do("@!%%p0 bra own")
	k.load(a, "k", "%a1")
	k.load(a, "v", "%a2")
	k.prefetch(a)
	a.label("own")
	k.queries(a)
	k.own(a)
	a.do("@!%%p0 bra merge")
	a.label("keys")
	k.scores(a)
	a.do("mov.b32 %%r20, %%r6") // the step's first key, which the mask needs
	a.do("add.s32 %%r6, %%r6, %d", k.warps()*k.step())
	a.do("setp.lt.s32 %%p0, %%r6, %%r5")
	k.load(a, "k", "%a1")
	k.reduce(a)
	k.softmax(a)
	k.values(a)
	k.load(a, "v", "%a2")
	a.do("@%%p0 bra keys")
	a.label("merge")
	k.mergeLanes(a)
	k.mergeWarps(a)
	a.WriteString("}\n")
	return a.String()
}

// begin computes what stays: lane %r1, warp %r2, the lane among those of its key %r3 and their number in the warp %r4,
// the tokens that the cache holds %r5, the warp's first key %r6 and whether there is one %p0, row %r7, key-value head
// %r8, its first head among all rows' %r11, whether the lane is among the first of the block that have a key %p3,
// addresses of the lane's part of the first key %a1 and value %a2 and how far they are into the caches %a5, and of the
// row's new token %a0.
func (k decodeKernel) begin(a *assembler) {
	a.do("mov.u32 %%r0, %%tid.x")
	a.do("and.b32 %%r1, %%r0, 31")
	a.do("shr.u32 %%r2, %%r0, 5")
	a.do("and.b32 %%r3, %%r1, %d", k.lanes()-1)
	a.do("shr.u32 %%r4, %%r1, %d", log2(k.lanes()))
	a.do("mov.u32 %%r7, %%ctaid.x")
	a.do("mov.u32 %%r8, %%ctaid.y")
	a.do("setp.lt.s32 %%p3, %%r0, %d", k.lanes())
	parameter(a, "%a4", "lengths")
	a.do("mad.wide.u32 %%a4, %%r7, 4, %%a4")
	a.do("ld.global.u32 %%r5, [%%a4]")
	a.do("min.s32 %%r5, %%r5, %d", k.columns-1)
	a.do("mul.lo.u32 %%r6, %%r2, %d", k.step())
	a.do("setp.lt.s32 %%p0, %%r6, %%r5")
	a.do("mad.lo.u32 %%r9, %%r8, %d, %%r7", k.rows)
	a.do("shl.b32 %%r10, %%r3, 4")
	a.do("cvt.u64.u32 %%a5, %%r10")
	parameter(a, "%a0", "qkv")
	a.do("mad.wide.u32 %%a0, %%r7, %d, %%a0", 2*(k.heads+2*k.kvHeads)*k.dim)
	a.do("add.u64 %%a0, %%a0, %%a5")
	a.do("mad.wide.u32 %%a5, %%r9, %d, %%a5", 2*k.columns*k.dim)
	parameter(a, "%a1", "k")
	a.do("add.u64 %%a1, %%a1, %%a5")
	parameter(a, "%a2", "v")
	a.do("add.u64 %%a2, %%a2, %%a5")
	a.do("mul.lo.u32 %%r11, %%r7, %d", k.heads)
	a.do("mad.lo.u32 %%r11, %%r8, %d, %%r11", k.groups())
}

// parameter is where a parameter's array begins.
func parameter(a *assembler, to, name string) {
	a.do("ld.param.u64 %s, [%s_]", to, name)
	a.do("cvta.to.global.u64 %s, %s", to, to)
}

// floats reads the lane's eight elements of an array of floats, from row %r7 on where it has rows.
func (k decodeKernel) floats(a *assembler, to, name string, rows bool) {
	parameter(a, "%a6", name)
	a.do("mad.wide.u32 %%a6, %%r3, 32, %%a6")
	if rows {
		a.do("mad.wide.u32 %%a6, %%r7, %d, %%a6", 4*k.dim)
	}
	for i := 0; i < 8; i += 4 {
		a.do("ld.global.nc.v4.f32 {%s%d, %s%d, %s%d, %s%d}, [%%a6+%d]", to, i, to, i+1, to, i+2, to, i+3, 4*i)
	}
}

// queries makes %q of the row's queries, normed, rotated, and scaled for scores in base 2.
func (k decodeKernel) queries(a *assembler) {
	if k.rotate {
		k.floats(a, "%c", "cos", true)
		k.floats(a, "%s", "sin", true)
		a.do("and.b32 %%r22, %%r3, %d", k.lanes()/2) // an element of the first half is turned by the other's opposite
		a.do("setp.eq.s32 %%p1, %%r22, 0")
		for i := range 8 {
			a.do("neg.f32 %%f2, %%s%d", i)
			a.do("selp.f32 %%s%d, %%f2, %%s%d, %%p1", i, i)
		}
	}
	if k.norm {
		k.floats(a, "%w", "qnorm", false)
	}
	a.do("mad.wide.u32 %%a6, %%r8, %d, %%a0", 2*k.groups()*k.dim)
	parameter(a, "%a7", "turned")
	a.do("mad.wide.u32 %%a7, %%r11, %d, %%a7", 2*k.dim)
	a.do("mad.wide.u32 %%a7, %%r3, 16, %%a7")
	for g := range k.paddedGroups() {
		q := func(i int) string { return fmt.Sprintf("%%q%d", 8*g+i) }
		if g < k.groups() {
			a.do("ld.global.nc.v4.b32 {%%r12, %%r13, %%r14, %%r15}, [%%a6+%d]", 2*k.dim*g)
			k.turn(a, q)
			a.do("@%%p3 st.global.v4.b32 [%%a7+%d], {%%r12, %%r13, %%r14, %%r15}", 2*k.dim*g)
		}
		for i := range 8 {
			if g < k.groups() {
				a.do("mul.f32 %s, %s, %s", q(i), q(i), float(k.scale*math.Log2E))
			} else {
				a.do("mov.f32 %s, 0f00000000", q(i))
			}
		}
	}
}

// turn norms and rotates the lane's elements of a head, four words from %r12 on, and rounds them to bfloat16 after
// each. The words hold the result, and so do eight registers.
func (k decodeKernel) turn(a *assembler, x func(int) string) {
	for i := range 8 {
		unpack(a, x(i), fmt.Sprintf("%%r%d", 12+i/2), i)
	}
	if k.norm {
		a.do("mov.f32 %%f2, 0f00000000")
		for i := range 8 {
			a.do("fma.rn.f32 %%f2, %s, %s, %%f2", x(i), x(i))
		}
		for bit := 1; bit < k.lanes(); bit *= 2 {
			exchange(a, "%f4", "%f2", bit)
			a.do("add.f32 %%f2, %%f2, %%f4")
		}
		a.do("fma.rn.f32 %%f2, %%f2, %s, %s", float(1/float64(k.dim)), float(k.eps))
		a.do("rsqrt.approx.f32 %%f2, %%f2")
		for i := range 8 {
			a.do("mul.f32 %s, %s, %%f2", x(i), x(i))
			a.do("mul.f32 %s, %s, %%w%d", x(i), x(i), i)
		}
		round(a, x)
	}
	if k.rotate {
		for i := range 8 {
			exchange(a, "%f2", x(i), k.lanes()/2)
			a.do("mul.f32 %s, %s, %%c%d", x(i), x(i), i)
			a.do("fma.rn.f32 %s, %%f2, %%s%d, %s", x(i), i, x(i))
		}
		round(a, x)
	}
}

// own writes the new token's key and value to the caches, and has the first lanes of the block begin with them: the
// largest score %f0, the sum %f1 and the output %o. To the others they are -1e30, 0 and 0.
func (k decodeKernel) own(a *assembler) {
	if k.norm {
		k.floats(a, "%w", "knorm", false)
	}
	a.do("mad.wide.u32 %%a6, %%r8, %d, %%a0", 2*k.dim)
	a.do("ld.global.nc.v4.b32 {%%r12, %%r13, %%r14, %%r15}, [%%a6+%d]", 2*k.heads*k.dim)
	key := func(i int) string { return fmt.Sprintf("%%n%d", i) }
	k.turn(a, key)
	a.do("mad.wide.u32 %%a5, %%r5, %d, %%a5", 2*k.dim)
	parameter(a, "%a7", "newk")
	a.do("add.u64 %%a7, %%a7, %%a5")
	a.do("@%%p3 st.global.v4.b32 [%%a7], {%%r12, %%r13, %%r14, %%r15}")
	for x := range k.paddedGroups() * k.unroll() {
		a.do("mov.f32 %%x%d, 0f00000000", x)
	}
	for g := range k.paddedGroups() {
		for i := range 8 {
			x := g * k.unroll()
			a.do("fma.rn.f32 %%x%d, %%q%d, %s, %%x%d", x, 8*g+i, key(i), x)
		}
	}
	k.reduce(a)
	// the lane that has the score of the lane's head
	a.do("and.b32 %%r22, %%r3, %d", k.paddedGroups()*k.unroll()-k.unroll())
	a.do("shfl.sync.idx.b32 %%f3, %%f3, %%r22, %d, -1", k.segment())
	a.do("selp.f32 %%f0, %%f3, %s, %%p3", float(-1e30))
	a.do("and.b32 %%r22, %%r3, %d", k.unroll()-1)
	a.do("setp.eq.and.s32 %%p1, %%r22, 0, %%p3")
	a.do("selp.f32 %%f1, %s, %s, %%p1", float(1), float(0))
	a.do("ld.global.nc.v4.b32 {%%r12, %%r13, %%r14, %%r15}, [%%a6+%d]", 2*(k.heads+k.kvHeads)*k.dim)
	parameter(a, "%a7", "newv")
	a.do("add.u64 %%a7, %%a7, %%a5")
	a.do("@%%p3 st.global.v4.b32 [%%a7], {%%r12, %%r13, %%r14, %%r15}")
	for i := range 8 {
		unpack(a, "%f2", fmt.Sprintf("%%r%d", 12+i/2), i)
		for g := range k.paddedGroups() {
			a.do("selp.f32 %%o%d, %%f2, 0f00000000, %%p3", 8*g+i)
		}
	}
}

// load reads the lane's parts of a step's keys or values, from key %r6 on. What is behind the row's last key is that
// key.
func (k decodeKernel) load(a *assembler, to, from string) {
	a.do("add.s32 %%r21, %%r5, -1")
	for u := range k.unroll() {
		a.do("add.s32 %%r22, %%r6, %d", u*k.together())
		a.do("add.s32 %%r22, %%r22, %%r4")
		a.do("min.s32 %%r22, %%r22, %%r21")
		a.do("mad.wide.s32 %%a6, %%r22, %d, %s", 2*k.dim, from)
		r := func(i int) string { return fmt.Sprintf("%%%s%d", to, 4*u+i) }
		a.do("ld.global.L1::no_allocate.v4.b32 {%s, %s, %s, %s}, [%%a6]", r(0), r(1), r(2), r(3))
	}
}

// prefetch has the memory work while the queries are made: it fetches the warp's second step into the device's cache.
func (k decodeKernel) prefetch(a *assembler) {
	for u := range k.unroll() {
		a.do("add.s32 %%r22, %%r6, %d", k.warps()*k.step()+u*k.together())
		a.do("add.s32 %%r22, %%r22, %%r4")
		a.do("min.s32 %%r22, %%r22, %%r21")
		for _, from := range []string{"%a1", "%a2"} {
			a.do("mad.wide.s32 %%a6, %%r22, %d, %s", 2*k.dim, from)
			a.do("prefetch.global.L2 [%%a6]")
		}
	}
}

// scores adds up the lane's part of the scores %x of each head and key.
func (k decodeKernel) scores(a *assembler) {
	for u := range k.unroll() {
		for i := range 8 {
			unpack(a, "%f2", fmt.Sprintf("%%k%d", 4*u+i/2), i)
			for g := range k.paddedGroups() {
				x := g*k.unroll() + u
				if i == 0 {
					a.do("mul.f32 %%x%d, %%q%d, %%f2", x, 8*g)
				} else {
					a.do("fma.rn.f32 %%x%d, %%q%d, %%f2, %%x%d", x, 8*g+i, x)
				}
			}
		}
	}
}

// reduce adds the scores up over the lanes of a key so that lane i of them has the i-th, counted from the first head's
// keys on, in %f3: of two scores that differ in a bit of their number, a lane gives away that which is not its own.
func (k decodeKernel) reduce(a *assembler) {
	n := k.paddedGroups() * k.unroll()
	for bit := n / 2; bit > 0; bit /= 2 {
		a.do("and.b32 %%r22, %%r3, %d", bit)
		a.do("setp.ne.s32 %%p1, %%r22, 0")
		for x := range bit {
			a.do("selp.f32 %%f4, %%x%d, %%x%d, %%p1", x, x+bit)
			a.do("selp.f32 %%f5, %%x%d, %%x%d, %%p1", x+bit, x)
			exchange(a, "%f4", "%f4", bit)
			a.do("add.f32 %%x%d, %%f5, %%f4", x)
		}
	}
	for bit := n; bit < k.lanes(); bit *= 2 {
		exchange(a, "%f4", "%x0", bit)
		a.do("add.f32 %%x0, %%x0, %%f4")
	}
	a.do("mov.f32 %%f3, %%x0")
}

// softmax turns the lane's score into its share %f3 of a sum %f1, relative to the largest score %f0 that the lanes of
// its key have seen of the head. Where that has grown, what was summed so far is scaled.
func (k decodeKernel) softmax(a *assembler) {
	a.do("and.b32 %%r22, %%r3, %d", k.unroll()-1) // the lane's key
	a.do("mad.lo.s32 %%r22, %%r22, %d, %%r20", k.together())
	a.do("add.s32 %%r22, %%r22, %%r4")
	a.do("setp.lt.s32 %%p1, %%r22, %%r5")
	a.do("selp.f32 %%f3, %%f3, %s, %%p1", float(math.Inf(-1)))
	a.do("mov.f32 %%f4, %%f3")
	for bit := 1; bit < k.unroll(); bit *= 2 {
		exchange(a, "%f5", "%f4", bit)
		a.do("max.f32 %%f4, %%f4, %%f5")
	}
	a.do("setp.gt.f32 %%p1, %%f4, %%f0")
	a.do("vote.sync.any.pred %%p2, %%p1, -1")
	a.do("@!%%p2 bra scaled")
	a.do("max.f32 %%f4, %%f4, %%f0")
	k.rescale(a)
	a.label("scaled")
	a.do("sub.f32 %%f3, %%f3, %%f0")
	a.do("ex2.approx.ftz.f32 %%f3, %%f3")
	a.do("add.f32 %%f1, %%f1, %%f3")
}

// rescale makes what was summed relative to %f4 in place of %f0.
func (k decodeKernel) rescale(a *assembler) {
	a.do("sub.f32 %%f5, %%f0, %%f4")
	a.do("ex2.approx.ftz.f32 %%f5, %%f5")
	a.do("mov.f32 %%f0, %%f4")
	a.do("mul.f32 %%f1, %%f1, %%f5")
	for g := range k.paddedGroups() {
		k.fromLane(a, "%f6", "%f5", g*k.unroll())
		for i := range 8 {
			a.do("mul.f32 %%o%d, %%o%d, %%f6", 8*g+i, 8*g+i)
		}
	}
}

// values adds the step's values, each times its share, to the output %o.
func (k decodeKernel) values(a *assembler) {
	for u := range k.unroll() {
		for g := range k.paddedGroups() {
			k.fromLane(a, fmt.Sprintf("%%f%d", 8+g), "%f3", g*k.unroll()+u)
		}
		for i := range 8 {
			unpack(a, "%f2", fmt.Sprintf("%%v%d", 4*u+i/2), i)
			for g := range k.paddedGroups() {
				a.do("fma.rn.f32 %%o%d, %%f%d, %%f2, %%o%d", 8*g+i, 8+g, 8*g+i)
			}
		}
	}
}

// mergeLanes merges what the lanes of a warp have summed of different keys, and writes it to shared memory.
func (k decodeKernel) mergeLanes(a *assembler) {
	for bit := 1; bit < k.unroll(); bit *= 2 {
		exchange(a, "%f4", "%f1", bit)
		a.do("add.f32 %%f1, %%f1, %%f4")
	}
	for bit := k.lanes(); bit < 32; bit *= 2 {
		exchange(a, "%f4", "%f0", bit)
		a.do("max.f32 %%f4, %%f4, %%f0")
		k.rescale(a)
		exchange(a, "%f4", "%f1", bit)
		a.do("add.f32 %%f1, %%f1, %%f4")
		for o := range 8 * k.paddedGroups() {
			exchange(a, "%f4", fmt.Sprintf("%%o%d", o), bit)
			a.do("add.f32 %%o%d, %%o%d, %%f4", o, o)
		}
	}
	a.do("mov.u32 %%r30, partial")
	a.do("setp.eq.s32 %%p1, %%r4, 0")
	a.do("shr.u32 %%r22, %%r3, %d", log2(k.unroll())) // the lane's head, and whether it is the first lane that has it
	a.do("setp.lt.s32 %%p2, %%r22, %d", k.paddedGroups())
	a.do("and.b32 %%r23, %%r3, %d", k.unroll()-1)
	a.do("setp.eq.and.s32 %%p2, %%r23, 0, %%p2")
	a.do("and.pred %%p2, %%p1, %%p2")
	a.do("mad.lo.u32 %%r22, %%r2, %d, %%r22", k.paddedGroups())
	a.do("mad.lo.u32 %%r22, %%r22, 4, %%r30")
	a.do("@%%p2 st.shared.f32 [%%r22], %%f0")
	a.do("@%%p2 st.shared.f32 [%%r22+%d], %%f1", 4*k.sumAt())
	a.do("mad.lo.u32 %%r23, %%r2, %d, %%r30", 4*k.groups()*k.dim)
	a.do("mad.lo.u32 %%r23, %%r3, 32, %%r23")
	for g := range k.groups() {
		for i := 0; i < 8; i += 4 {
			o := 8*g + i
			a.do("@%%p1 st.shared.v4.f32 [%%r23+%d], {%%o%d, %%o%d, %%o%d, %%o%d}",
				4*(k.outAt()+g*k.dim+i), o, o+1, o+2, o+3)
		}
	}
	a.do("bar.sync 0")
}

// mergeWarps merges the warps' outputs; a thread computes four elements of a head at one time.
func (k decodeKernel) mergeWarps(a *assembler) {
	parameter(a, "%a1", "out")
	parameter(a, "%a2", "stat")
	a.do("mad.wide.u32 %%a1, %%r11, %d, %%a1", 2*k.dim)
	a.do("mad.wide.u32 %%a2, %%r11, 4, %%a2")
	a.do("shl.b32 %%r20, %%r0, 2") // the thread's first element
	a.label("elements")
	a.do("setp.ge.s32 %%p1, %%r20, %d", k.groups()*k.dim)
	a.do("@%%p1 ret")
	a.do("shr.u32 %%r21, %%r20, %d", log2(k.dim)) // its head
	a.do("mad.lo.u32 %%r22, %%r21, 4, %%r30")
	a.do("mad.lo.u32 %%r23, %%r20, 4, %%r30")
	a.do("mov.f32 %%f0, %s", float(-1e30))
	for w := range k.warps() {
		a.do("ld.shared.f32 %%f%d, [%%r22+%d]", 8+w, 4*w*k.paddedGroups())
		a.do("max.f32 %%f0, %%f0, %%f%d", 8+w)
	}
	for i := 1; i <= 5; i++ {
		a.do("mov.f32 %%f%d, 0f00000000", i)
	}
	for w := range k.warps() {
		a.do("sub.f32 %%f6, %%f%d, %%f0", 8+w)
		a.do("ex2.approx.ftz.f32 %%f6, %%f6")
		a.do("ld.shared.f32 %%f7, [%%r22+%d]", 4*(k.sumAt()+w*k.paddedGroups()))
		a.do("fma.rn.f32 %%f1, %%f6, %%f7, %%f1")
		a.do("ld.shared.v4.f32 {%%f20, %%f21, %%f22, %%f23}, [%%r23+%d]", 4*(k.outAt()+w*k.groups()*k.dim))
		for i := range 4 {
			a.do("fma.rn.f32 %%f%d, %%f6, %%f%d, %%f%d", 2+i, 20+i, 2+i)
		}
	}
	a.do("lg2.approx.f32 %%f6, %%f1")
	a.do("add.f32 %%f6, %%f6, %%f0")
	a.do("mul.f32 %%f6, %%f6, %s", float(math.Ln2))
	for i := range 4 {
		a.do("div.full.f32 %%f%d, %%f%d, %%f1", 2+i, 2+i)
	}
	a.do("cvt.rn.bf16x2.f32 %%r24, %%f3, %%f2")
	a.do("cvt.rn.bf16x2.f32 %%r25, %%f5, %%f4")
	a.do("mad.wide.u32 %%a3, %%r20, 2, %%a1")
	a.do("st.global.v2.b32 [%%a3], {%%r24, %%r25}")
	a.do("and.b32 %%r22, %%r20, %d", k.dim-1)
	a.do("setp.eq.s32 %%p1, %%r22, 0")
	a.do("mad.wide.u32 %%a3, %%r21, 4, %%a2")
	a.do("@%%p1 st.global.f32 [%%a3], %%f6")
	a.do("add.s32 %%r20, %%r20, %d", 4*k.threads())
	a.do("bra elements")
}

// unpack is element i of a word of two.
func unpack(a *assembler, to, word string, i int) {
	if i%2 == 0 {
		a.do("shl.b32 %%r31, %s, 16", word)
	} else {
		a.do("and.b32 %%r31, %s, 0xffff0000", word)
	}
	a.do("mov.b32 %s, %%r31", to)
}

// exchange reads a lane's register whose number differs in a bit.
func exchange(a *assembler, to, from string, bit int) {
	a.do("shfl.sync.bfly.b32 %s, %s, %d, 31, -1", to, from, bit)
}

// fromLane reads the register of one of the lanes of the same key.
func (k decodeKernel) fromLane(a *assembler, to, from string, lane int) {
	a.do("shfl.sync.idx.b32 %s, %s, %d, %d, -1", to, from, lane, k.segment())
}

// segment has lanes exchange with those of the same key only.
func (k decodeKernel) segment() int { return (32-k.lanes())<<8 | 31 }

// round rounds eight registers to bfloat16, and packs them into four words from %r12 on.
func round(a *assembler, x func(int) string) {
	for i := 0; i < 8; i += 2 {
		a.do("cvt.rn.bf16x2.f32 %%r%d, %s, %s", 12+i/2, x(i+1), x(i))
		unpack(a, x(i), fmt.Sprintf("%%r%d", 12+i/2), i)
		unpack(a, x(i+1), fmt.Sprintf("%%r%d", 12+i/2), i+1)
	}
}

func float(x float64) string { return fmt.Sprintf("0f%08X", math.Float32bits(float32(x))) }

func log2(n int) int { return bits.TrailingZeros(uint(n)) }
