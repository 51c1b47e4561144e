package stablehlo

import (
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// machine runs the instructions of PTX that the engine's kernels use, one warp after the other up to each barrier, so
// that a kernel can be tested without a GPU. Memory is one array for all buffers, and what lies between them is
// nobody's; shared memory is another. Branches must be the same for all lanes of a warp that still run.
type machine struct {
	t      testing.TB
	memory []byte
	spans  [][2]uint64 // of the buffers in memory
	shared []byte      // of the blocks of a cluster, one behind the other
	size   int         // of a block's
	params map[string]uint64
	blocks int            // of a cluster, beside each other
	told   map[uint64]int // by a barrier in shared memory: bytes that it is still to be told of
	code   []instruction
	labels map[string]int
}

type instruction struct {
	guard, op string
	not       bool
	args      []string
	text      string
}

// warp is 32 lanes' registers.
type warp struct {
	first  int // thread of its first lane
	block  [2]uint64
	rank   int  // of the block in its cluster
	began  int  // arrivals at the cluster's barrier for which it has not waited
	untold bool // what it asked a barrier for last was not complete
	waits  int
	at     int // in the code
	lanes  [32]struct {
		registers map[string]uint64
		done      bool
	}
}

var instructionText = regexp.MustCompile(`^(?:@(!?)(%p\d+) )?([a-zL0-9_.:]+)(?: (.*))?;`)

// newMachine reads a kernel, and gives its parameters the buffers of their names, or those of the names that same has.
func newMachine(
	t testing.TB, text string, buffers map[string][]byte, same map[string]string,
) (*machine, map[string]uint64) {
	m := &machine{t: t, params: map[string]uint64{}, labels: map[string]int{}, memory: make([]byte, 256), blocks: 1}
	if blocks := regexp.MustCompile(`\.reqnctapercluster (\d+)`).FindStringSubmatch(text); blocks != nil {
		m.blocks, _ = strconv.Atoi(blocks[1])
	}
	for _, p := range regexp.MustCompile(`\.param \.u64 (\w+)`).FindAllStringSubmatch(text, -1) {
		if name := same[p[1]]; name != "" {
			m.params[p[1]] = m.params[name]
			continue
		}
		m.params[p[1]] = uint64(len(m.memory))
		m.memory = append(m.memory, buffers[p[1]]...)
		m.spans = append(m.spans, [2]uint64{m.params[p[1]], uint64(len(m.memory))})
		m.memory = append(m.memory, make([]byte, 256-len(m.memory)%256)...)
	}
	body := text[strings.Index(text, "{")+1:]
	for _, line := range strings.Split(body, "\n") {
		line = strings.TrimSpace(line)
		if size := regexp.MustCompile(`^\.shared .*\.f32 partial\[(\d+)\];`).FindStringSubmatch(line); size != nil {
			n, _ := strconv.Atoi(size[1])
			m.size = 4 * n
			m.shared = make([]byte, m.size*m.blocks)
			continue
		}
		if strings.HasPrefix(line, ".reg") || line == "" || line == "}" {
			continue
		}
		if label, ok := strings.CutSuffix(line, ":"); ok {
			m.labels[label] = len(m.code)
			continue
		}
		x := instructionText.FindStringSubmatch(line)
		if x == nil {
			t.Fatalf("not an instruction: %q", line)
		}
		m.code = append(m.code,
			instruction{guard: x[2], not: x[1] == "!", op: x[3], args: operandsOf(x[4]), text: line})
	}
	return m, m.params
}

// operandsOf splits operands at commas, vectors' elements too: {a, b} is a and b, and [c+4] is an operand.
func operandsOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("{}, ", r) })
}

// run runs the kernel's blocks, those of a cluster beside each other.
func (m *machine) run(gridX, gridY, threads int) {
	for y := range gridY {
		for x := 0; x < gridX; x += m.blocks {
			for i := range m.shared {
				m.shared[i] = 0xff // not a number, for what is read before it is written
			}
			m.told = map[uint64]int{}
			var warps []*warp
			for rank := range m.blocks {
				for i := range threads / 32 {
					w := &warp{first: 32 * i, block: [2]uint64{uint64(x + rank), uint64(y)}, rank: rank}
					for j := range w.lanes {
						w.lanes[j].registers = map[string]uint64{}
					}
					warps = append(warps, w)
				}
			}
			for running := true; running; {
				running = false
				for _, w := range warps {
					running = m.toBarrier(w) || running
				}
			}
		}
	}
}

// toBarrier runs a warp up to behind its next barrier, and reports whether it goes on there.
func (m *machine) toBarrier(w *warp) bool {
	for steps := 0; w.at < len(m.code); steps++ {
		if steps > 1e6 {
			m.t.Fatal("the kernel does not end")
		}
		in := m.code[w.at]
		w.at++
		switch {
		case in.op == "bar.sync":
			return true
		case strings.HasPrefix(in.op, "barrier.cluster.arrive"):
			w.began++
		case strings.HasPrefix(in.op, "barrier.cluster.wait"):
			if w.began--; w.began != 0 {
				m.t.Fatal("a warp waits for the cluster and has not arrived")
			}
			return true
		case in.op == "bra":
			if !m.taken(w, in) {
				break
			}
			back := m.labels[in.args[0]] < w.at
			if w.at = m.labels[in.args[0]]; back && w.untold { // it asks again once others have gone on
				if w.waits++; w.waits > 1000 {
					m.t.Fatal("a warp waits for what nobody tells it")
				}
				w.untold = false
				return true
			}
		default:
			m.lanes(w, in)
		}
	}
	return false
}

// active reports whether a lane executes an instruction.
func (w *warp) active(lane int, in instruction) bool {
	x := &w.lanes[lane]
	return !x.done && (in.guard == "" || (x.registers[in.guard] != 0) != in.not)
}

func (m *machine) taken(w *warp, in instruction) bool {
	yes, no := 0, 0
	for i := range w.lanes {
		switch {
		case w.lanes[i].done:
		case w.active(i, in):
			yes++
		default:
			no++
		}
	}
	if yes > 0 && no > 0 {
		m.t.Fatalf("lanes part at %q", in.text)
	}
	if yes+no == 0 { // all lanes have returned
		w.at = len(m.code)
		return false
	}
	return yes > 0
}

// lanes executes an instruction in all active lanes; what it reads of other lanes is as before it.
func (m *machine) lanes(w *warp, in instruction) {
	if strings.HasPrefix(in.op, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32") {
		m.multiply(w, in)
		return
	}
	before := [32]uint64{}
	if strings.HasPrefix(in.op, "shfl") || strings.HasPrefix(in.op, "vote") {
		for i := range w.lanes {
			before[i] = m.value(w, i, in.args[1])
		}
	}
	for i := range w.lanes {
		if w.active(i, in) {
			m.execute(w, i, in, before)
		}
	}
}

func (m *machine) value(w *warp, lane int, arg string) uint64 {
	switch {
	case arg == "%tid.x":
		return uint64(w.first + lane)
	case arg == "%ctaid.x":
		return w.block[0]
	case arg == "%ctaid.y":
		return w.block[1]
	case arg == "%cluster_ctarank":
		return uint64(w.rank)
	case arg == "partial":
		return uint64(w.rank * m.size)
	case strings.HasPrefix(arg, "%"):
		x, ok := w.lanes[lane].registers[arg]
		if !ok {
			m.t.Fatalf("%s is read before it is written", arg)
		}
		return x
	case strings.HasPrefix(arg, "0f"):
		x, _ := strconv.ParseUint(arg[2:], 16, 32)
		return x
	}
	x, err := strconv.ParseInt(arg, 0, 64)
	if err != nil {
		m.t.Fatalf("operand %q", arg)
	}
	return uint64(x)
}

// address is where [%a+4] is, and in which memory.
func (m *machine) address(w *warp, lane int, in instruction, arg string, bytes int) []byte {
	base, offset, _ := strings.Cut(strings.Trim(arg, "[]"), "+")
	memory, spans, at := m.memory, m.spans, m.value(w, lane, base)
	if strings.Contains(in.op, ".shared") {
		own := uint64(w.rank * m.size)
		memory, spans, at = m.shared, [][2]uint64{{own, own + uint64(m.size)}}, uint64(uint32(at))
		if strings.Contains(in.op, ".shared::cluster") {
			spans = [][2]uint64{{0, uint64(len(m.shared))}}
		}
	}
	if offset != "" {
		n, _ := strconv.Atoi(offset)
		at += uint64(n)
	}
	if at%uint64(bytes) != 0 ||
		!slices.ContainsFunc(spans, func(s [2]uint64) bool { return s[0] <= at && at+uint64(bytes) <= s[1] }) {
		m.t.Fatalf("%q reads or writes at %d", in.text, at)
	}
	return memory[at:]
}

func (m *machine) execute(w *warp, lane int, in instruction, before [32]uint64) {
	r := w.lanes[lane].registers
	arg := func(i int) uint64 { return m.value(w, lane, in.args[i]) }
	word := func(i int) uint32 { return uint32(arg(i)) }
	f := func(i int) float32 { return math.Float32frombits(word(i)) }
	set := func(x uint64) { r[in.args[0]] = x }
	setFloat := func(x float32) { set(uint64(math.Float32bits(x))) }
	truth := func(x bool) {
		set(0)
		if x {
			set(1)
		}
	}
	name, _, _ := strings.Cut(in.op, ".")
	switch name {
	case "ret":
		w.lanes[lane].done = true
	case "prefetch":
		m.address(w, lane, in, in.args[0], 1)
	case "ld", "st":
		m.move(w, lane, in)
	case "mbarrier":
		m.barrier(w, lane, in, truth)
	case "fence":
	case "mov", "cvta":
		set(arg(1))
	case "cvt":
		if in.op == "cvt.u64.u32" {
			set(arg(1))
		} else {
			set(uint64(bf16Of(f(1)))<<16 | uint64(bf16Of(f(2))))
		}
	case "mapa":
		set(arg(1) + (arg(2)-uint64(w.rank))*uint64(m.size))
	case "shl":
		set(uint64(word(1) << arg(2)))
	case "shr":
		set(uint64(word(1) >> arg(2)))
	case "shfl":
		from := uint64(lane) ^ arg(2)
		if strings.Contains(in.op, ".idx") {
			segment := arg(3) >> 8
			from = uint64(lane)&segment | arg(2)&^segment
		}
		set(before[from])
	case "vote":
		any := false
		for i := range before {
			any = any || before[i] != 0
		}
		truth(any)
	case "selp":
		if arg(3) != 0 {
			set(arg(1))
		} else {
			set(arg(2))
		}
	case "setp":
		m.compare(in, truth, arg, f)
	default:
		m.arithmetic(in, set, setFloat, arg, f)
	}
}

// multiply is mma.m16n8k16, D = A B + C of all lanes together, where registers hold the elements that PTX ISA 8.0
// (section "Matrix Fragments for mma.m16n8k16 with floating point type") says.
func (m *machine) multiply(w *warp, in instruction) {
	var a [16][16]float64
	var b [16][8]float64
	var c [16][8]float64
	half := func(word uint64, i int) float64 { return float64(math.Float32frombits(uint32(word>>(16*i)) << 16)) }
	for lane := range w.lanes {
		q, i := lane/4, lane%4
		for n := range 8 { // two elements a register
			a[q+8*(n/2%2)][2*i+n%2+8*(n/4)] = half(m.value(w, lane, in.args[4+n/2]), n%2)
		}
		for n := range 4 {
			b[2*i+n%2+8*(n/2)][q] = half(m.value(w, lane, in.args[8+n/2]), n%2)
			c[q+8*(n/2)][2*i+n%2] = float64(math.Float32frombits(uint32(m.value(w, lane, in.args[10+n]))))
		}
	}
	for lane := range w.lanes {
		for n := range 4 {
			row, column := lane/4+8*(n/2), 2*(lane%4)+n%2
			sum := c[row][column]
			for k := range 16 {
				sum += a[row][k] * b[k][column]
			}
			w.lanes[lane].registers[in.args[n]] = uint64(math.Float32bits(float32(sum)))
		}
	}
}

// barrier is what is done with a barrier in the block's own shared memory, of one arrival.
func (m *machine) barrier(w *warp, lane int, in instruction, truth func(bool)) {
	arg := in.args[0]
	if !strings.Contains(in.op, "init") {
		arg = in.args[1]
	}
	m.address(w, lane, in, arg, 8)
	at := m.value(w, lane, strings.Trim(arg, "[]"))
	left, known := m.told[at]
	switch {
	case strings.Contains(in.op, ".init"):
		m.told[at] = 1 << 40 // it is not complete before the one arrives
		return
	case !known:
		m.t.Fatalf("%q: there is no barrier", in.text)
	case strings.Contains(in.op, ".expect_tx"):
		m.told[at] = left - 1<<40 + int(m.value(w, lane, in.args[2]))
		return
	}
	w.untold = left != 0
	truth(left == 0)
}

// move is a load or a store of one word or several.
func (m *machine) move(w *warp, lane int, in instruction) {
	r := w.lanes[lane].registers
	if in.op == "ld.param.u64" {
		r[in.args[0]] = m.params[strings.Trim(in.args[1], "[]")]
		return
	}
	n := len(in.args) - 1
	if strings.HasPrefix(in.op, "st.async") {
		barrier := m.value(w, lane, strings.Trim(in.args[n], "[]"))
		if _, known := m.told[barrier]; !known {
			m.t.Fatalf("%q: there is no barrier", in.text)
		}
		m.told[barrier] -= 4
		n--
	}
	if in.op[:2] == "ld" {
		from := m.address(w, lane, in, in.args[n], 4*n)
		for i := range n {
			r[in.args[i]] = uint64(binary.LittleEndian.Uint32(from[4*i:]))
		}
		return
	}
	to := m.address(w, lane, in, in.args[0], 4*n)
	for i := range n {
		binary.LittleEndian.PutUint32(to[4*i:], uint32(m.value(w, lane, in.args[1+i])))
	}
}

func (m *machine) compare(in instruction, truth func(bool), arg func(int) uint64, f func(int) float32) {
	x, y := int32(arg(1)), int32(arg(2))
	switch in.op {
	case "setp.lt.s32":
		truth(x < y)
	case "setp.ge.s32":
		truth(x >= y)
	case "setp.ne.s32":
		truth(x != y)
	case "setp.eq.s32":
		truth(x == y)
	case "setp.eq.and.s32":
		truth(x == y && arg(3) != 0)
	case "setp.gt.f32":
		truth(f(1) > f(2))
	default:
		m.t.Fatalf("unknown: %s", in.text)
	}
}

func (m *machine) arithmetic(
	in instruction, set func(uint64), setFloat func(float32), arg func(int) uint64, f func(int) float32,
) {
	exact := func(x float64) { setFloat(float32(x)) }
	switch in.op {
	case "add.s32":
		set(uint64(uint32(arg(1)) + uint32(arg(2))))
	case "add.u64":
		set(arg(1) + arg(2))
	case "and.b32", "and.pred":
		set(arg(1) & arg(2))
	case "min.s32":
		set(uint64(uint32(min(int32(arg(1)), int32(arg(2))))))
	case "mul.lo.u32":
		set(uint64(uint32(arg(1)) * uint32(arg(2))))
	case "mad.lo.u32", "mad.lo.s32":
		set(uint64(uint32(arg(1))*uint32(arg(2)) + uint32(arg(3))))
	case "mad.wide.u32":
		set(uint64(uint32(arg(1)))*uint64(uint32(arg(2))) + arg(3))
	case "mad.wide.s32":
		set(uint64(int64(int32(arg(1)))*int64(int32(arg(2)))) + arg(3))
	case "add.f32":
		setFloat(f(1) + f(2))
	case "sub.f32":
		setFloat(f(1) - f(2))
	case "mul.f32":
		setFloat(f(1) * f(2))
	case "fma.rn.f32":
		exact(float64(f(1))*float64(f(2)) + float64(f(3)))
	case "div.full.f32":
		setFloat(f(1) / f(2))
	case "max.f32":
		setFloat(max(f(1), f(2)))
	case "neg.f32":
		setFloat(-f(1))
	case "rsqrt.approx.f32":
		exact(1 / math.Sqrt(float64(f(1))))
	case "ex2.approx.ftz.f32":
		exact(math.Exp2(float64(f(1))))
	case "lg2.approx.f32":
		exact(math.Log2(float64(f(1))))
	default:
		m.t.Fatalf("unknown: %s", in.text)
	}
}

// bf16Of rounds to the nearest bfloat16, to the even one of two.
func bf16Of(x float32) uint16 {
	b := math.Float32bits(x)
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

func floatOf(b []byte, i int) float64 {
	return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[2*i:])) << 16))
}

// bf16s are bfloat16 numbers around 0 that depend on a salt.
func bf16s(n, salt int) []byte {
	b := make([]byte, 2*n)
	for i := range n {
		binary.LittleEndian.PutUint16(b[2*i:], bf16Of(float32(math.Sin(float64(i*(salt+3)+salt))*2)))
	}
	return b
}

// The kernel norms and rotates as it says, writes the new tokens into the caches and nothing else there, and its
// outputs and statistics are attention's: for rows of any length, for heads that are no power of two, and whatever
// stands behind a row.
func TestDecodeKernelIsAttention(t *testing.T) {
	for _, c := range []struct {
		dim, groups  int
		sharpness    float64 // of the softmax
		norm, rotate bool
	}{
		{64, 1, 1, true, true}, {64, 3, 40, false, true}, {64, 8, 1, true, true}, {128, 1, 40, true, true},
		{128, 2, 1, false, false}, {128, 4, 1, true, true}, {128, 4, 40, true, false}, {128, 7, 1, true, true},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			k := decodeKernel{heads: 2 * c.groups, kvHeads: 2, columns: 130, dim: c.dim, eps: 1e-5,
				scale: c.sharpness / math.Sqrt(float64(c.dim)), norm: c.norm, rotate: c.rotate}
			checkDecodeKernel(t, k, []int32{0, 1, 33, 97, 129})
		})
	}
}

// With many rows blocks have fewer warps.
func TestDecodeKernelOfManyRows(t *testing.T) {
	lengths := make([]int32, 48)
	for i := range lengths {
		lengths[i] = int32(i * 7 % 36)
	}
	few, many := decodeKernel{rows: 47, kvHeads: 8}, decodeKernel{rows: 48, heads: 16, kvHeads: 8, columns: 36, dim: 64,
		eps: 1e-5, scale: 1, norm: true, rotate: true}
	if few.warps() == many.warps() {
		t.Fatalf("%d warps for few rows and for many", few.warps())
	}
	checkDecodeKernel(t, many, lengths)
}

// decodeCase is a kernel's inputs and what they are in memory.
type decodeCase struct {
	decodeKernel
	lengths           []int32
	qkv, key, val     []byte
	norms, cos, sin   []byte
	cacheLen, numQKVs int
}

func checkDecodeKernel(t *testing.T, k decodeKernel, lengths []int32) {
	k.rows = len(lengths)
	c := decodeCase{decodeKernel: k, lengths: lengths, cacheLen: k.kvHeads * k.rows * k.columns * k.dim,
		numQKVs: k.heads + 2*k.kvHeads}
	c.qkv, c.key, c.val = bf16s(k.rows*c.numQKVs*k.dim, 1), bf16s(c.cacheLen, 2), bf16s(c.cacheLen, 3)
	c.norms, c.cos, c.sin = floats32(2*k.dim, 4), floats32(k.rows*k.dim, 5), floats32(k.rows*k.dim, 6)
	lens := []byte{}
	for row, n := range lengths {
		lens = binary.LittleEndian.AppendUint32(lens, uint32(n))
		for h := range k.kvHeads { // behind the row's length stands what is no number
			for i := (h*k.rows+row)*k.columns*k.dim + int(n)*k.dim; i < (h*k.rows+row+1)*k.columns*k.dim; i++ {
				binary.LittleEndian.PutUint16(c.key[2*i:], 0x7fc0)
				binary.LittleEndian.PutUint16(c.val[2*i:], 0x7fc0)
			}
		}
	}
	outs := k.rows * k.heads * k.dim
	m, at := newMachine(t, k.text(), map[string][]byte{
		"qkv_": c.qkv, "lengths_": lens, "k_": c.key, "v_": c.val, "qnorm_": c.norms[:4*k.dim],
		"knorm_": c.norms[4*k.dim:], "cos_": c.cos, "sin_": c.sin, "out_": make([]byte, 2*outs),
		"turned_": make([]byte, 2*outs), "stat_": make([]byte, 4*k.rows*k.heads),
	}, map[string]string{"newk_": "k_", "newv_": "v_"})
	m.run(k.rows, k.kvHeads, k.threads())
	for row := range lengths {
		c.checkRow(t, m, at, row)
	}
}

// checkRow compares what the kernel did for a row with what it is to do.
func (c decodeCase) checkRow(t *testing.T, m *machine, at map[string]uint64, row int) {
	n := int(c.lengths[row])
	for h := range c.kvHeads {
		first := (h*c.rows + row) * c.columns * c.dim
		for name, before := range map[string][]byte{"k_": c.key, "v_": c.val} {
			for i := range c.columns * c.dim {
				if got := binary.LittleEndian.Uint16(m.memory[at[name]+uint64(2*(first+i)):]); i/c.dim != n &&
					got != binary.LittleEndian.Uint16(before[2*(first+i):]) {
					t.Fatalf("row of %d tokens, head %d: %s is written at token %d", n, h, name, i/c.dim)
				}
			}
		}
		keys, values := c.turned(row, c.heads+h, 1), c.turned(row, c.heads+c.kvHeads+h, -1)
		for d := range c.dim {
			nearly(t, fmt.Sprintf("row of %d tokens, head %d, the new key's element %d", n, h, d),
				floatOf(m.memory[at["k_"]:], first+n*c.dim+d), keys[d], 0.01)
			nearly(t, fmt.Sprintf("row of %d tokens, head %d, the new value's element %d", n, h, d),
				floatOf(m.memory[at["v_"]:], first+n*c.dim+d), values[d], 0)
		}
	}
	for h := range c.heads {
		q := c.turned(row, h, 0)
		what := fmt.Sprintf("row of %d tokens, head %d", n, h)
		base := (h/c.groups()*c.rows + row) * c.columns * c.dim
		got := func(name string, d int) float64 { return floatOf(m.memory[at[name]:], (row*c.heads+h)*c.dim+d) }
		scores, total, most := make([]float64, n+1), 0.0, math.Inf(-1)
		for i := range scores {
			// of what the kernel has in memory: a turned element may have been rounded the other way
			for d := range c.dim {
				scores[i] += got("turned_", d) * floatOf(m.memory[at["k_"]:], base+i*c.dim+d) * c.scale
			}
			most = max(most, scores[i])
		}
		for _, s := range scores {
			total += math.Exp(s - most)
		}
		stat := math.Float32frombits(binary.LittleEndian.Uint32(m.memory[at["stat_"]+uint64(4*(row*c.heads+h)):]))
		nearly(t, what+", log of the denominator", float64(stat), most+math.Log(total), 1e-4)
		for d := range c.dim {
			nearly(t, fmt.Sprintf("%s, query's element %d", what, d), got("turned_", d), q[d], 0.01)
			want := 0.0
			for i, s := range scores {
				want += math.Exp(s-most) / total * floatOf(m.memory[at["v_"]:], base+i*c.dim+d)
			}
			nearly(t, fmt.Sprintf("%s, element %d", what, d), got("out_", d), want, 0.005)
		}
	}
}

// turned is a head of the row's new token, normed by the n-th norm and rotated; a value, of which n is -1, is as it is.
func (c decodeCase) turned(row, head, n int) []float64 {
	x := make([]float64, c.dim)
	squares := 0.0
	for d := range x {
		x[d] = floatOf(c.qkv, (row*c.numQKVs+head)*c.dim+d)
		squares += x[d] * x[d]
	}
	if c.norm && n >= 0 {
		for d := range x {
			x[d] *= float32Of(c.norms, n*c.dim+d) / math.Sqrt(squares/float64(c.dim)+c.eps)
		}
	}
	if !c.rotate || n < 0 {
		return x
	}
	y, half := make([]float64, c.dim), c.dim/2
	for d := range x {
		other := -x[(d+half)%c.dim]
		if d >= half {
			other = -other
		}
		y[d] = x[d]*float32Of(c.cos, row*c.dim+d) + other*float32Of(c.sin, row*c.dim+d)
	}
	return y
}

func nearly(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*max(1, math.Abs(want))) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
}

func floats32(n, salt int) []byte {
	b := make([]byte, 4*n)
	for i := range n {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(float32(math.Sin(float64(i*(salt+3)+salt)))))
	}
	return b
}

func float32Of(b []byte, i int) float64 {
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
}
