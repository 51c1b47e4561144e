package model

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
)

// Adapters are adapters of one shape as the programs of a sampler take them: apart from the weights, y = W x + B (s A
// x), in the weights' type. The sum is taken in float32 and rounded once, so a small adapter is not lost beside a large
// weight, as it is where W + s B A is.
//
// The A of linear maps that read one x are one matrix [width, in], and d = A x is one product. Where maps are joined
// (Spec.Joined) its rows stand below theirs, so that W x and d are one product too. Each map as it is held has a matrix
// B [out, width of a band]: the rows of each of its targets, which are a band, take the columns of d that are that
// target's. Their number is a multiple of what a kernel takes, those that are nobody's are zero.
//
// Several adapters stand beside each other in the same matrices; of d what is another adapter's is then put to zero,
// token by token.
//
// Rows of tokens (LoRA.Rows) are a matrix for each weight that they are of, [adapters*T, H].
type Adapters struct {
	Spec  Spec
	LoRA  LoRA
	Count int // adapters held at one time

	readers []reader
	rows    []TokenRows
	size    int // numbers of an adapter's flat vector
}

// reader is linear maps of a layer that read one x, of which some are adapted.
type reader struct {
	layer int
	maps  [][]Target // as they are held
	in    int
	downs []block // the A, below each other
	width int     // rows of A, with those that are zero
	ups   []up    // one for each of maps; without blocks where none of its targets is adapted
}

// up is the B of one map as it is held.
type up struct {
	out, width int    // rows; columns of d that a band takes
	bands      []band // of the targets that are adapted
	blocks     []block
}

// band is rows of a map, from one on, that take columns of d, from one on. Rows above the first are zero.
type band struct{ row, from int }

// block is a matrix of one adapter inside of another, at a row and a column.
type block struct {
	adapter, piece, row, column int
}

// widthMultiple is what the kernel that adds B d takes at one time of a band's width.
const widthMultiple = 32

// NewAdapters lays out count adapters of a shape, which Check has found no fault with.
func NewAdapters(s Spec, l LoRA, count int) Adapters {
	a := Adapters{Spec: s, LoRA: l, Count: count}
	pieces, size := l.Pieces(s)
	a.size, a.rows = size, l.Rows(s)
	at := sites(pieces)
	for layer := range s.NumLayers {
		for _, maps := range s.mapsByInput() {
			if r := newReader(s, layer, maps, pieces, at, count); len(r.downs) > 0 {
				a.readers = append(a.readers, r)
			}
		}
	}
	return a
}

// mapsByInput lists the linear maps of a layer as they are held, those together that read one x.
func (s Spec) mapsByInput() (all [][][]Target) {
	for _, m := range s.maps() {
		if last := len(all) - 1; len(m) == 1 && (m[0] == K || m[0] == V || m[0] == Up) {
			all[last] = append(all[last], m)
			continue
		}
		all = append(all, [][]Target{m})
	}
	return all
}

func newReader(s Spec, layer int, maps [][]Target, pieces []Piece, at map[site]int, count int) reader {
	r := reader{layer: layer, maps: maps}
	for _, targets := range maps {
		var u up
		for _, t := range targets {
			if j, ok := at[site{layer, t}]; ok {
				u.width = max(u.width, count*pieces[j].Rows)
			}
		}
		if s.Joined {
			u.width = (u.width + widthMultiple - 1) / widthMultiple * widthMultiple
		}
		for _, t := range targets {
			in, out := s.Dims(t)
			r.in = in
			if j, ok := at[site{layer, t}]; ok {
				u.bands = append(u.bands, band{u.out, r.width})
				for i := range count {
					r.downs = append(r.downs, block{i, j, r.width + i*pieces[j].Rows, 0})
					u.blocks = append(u.blocks, block{i, j + 1, u.out, i * pieces[j].Rows})
				}
				r.width += u.width
			}
			u.out += out
		}
		r.ups = append(r.ups, u)
	}
	return r
}

// Size returns how many numbers an adapter's flat vector has.
func (a Adapters) Size() int { return a.size }

// Params declares the weights, of which joined ones have the rows of A below theirs, and behind them what is held
// beside them.
func (a Adapters) Params() []engine.Param {
	params := a.Spec.WeightParams()
	for _, h := range a.holders() {
		if h.weight >= 0 {
			shape := params[h.weight].Shape.Clone()
			shape.Dimensions[0] += h.reader.width
			params[h.weight].Shape = shape
		} else {
			params = append(params, engine.Param{Name: h.name, Shape: a.shape(h)})
		}
	}
	return params
}

// Arrays returns the places, among Params, of what adapters are written into.
func (a Adapters) Arrays() (places []int) {
	next := len(a.Spec.Weights())
	for _, h := range a.holders() {
		if h.weight >= 0 {
			places = append(places, h.weight)
			continue
		}
		places = append(places, next)
		next++
	}
	return places
}

// holder is an array that adapters are written into: the A of a reader, where up is nil, or the B of one of its maps;
// or rows of tokens.
type holder struct {
	name   string
	reader *reader
	up     *up
	rows   *TokenRows
	weight int // among the weights, where the A stand below a joined one; else -1
}

func (a Adapters) shape(h holder) shapes.Shape {
	s := a.Spec
	if h.rows != nil {
		return s.Shape(a.Count*len(h.rows.IDs), s.Hidden)
	}
	if h.up == nil {
		return s.Shape(h.reader.width, h.reader.in)
	}
	return s.Shape(h.up.out, h.up.width)
}

func (a Adapters) holders() (all []holder) {
	at := map[string]int{}
	for i, w := range a.Spec.Weights() {
		at[w.Name()] = i
	}
	for i := range a.readers {
		r := &a.readers[i]
		name := a.Spec.linearName(r.layer, r.maps[0][0])
		weight := -1
		if a.Spec.Joined {
			weight = at[name+".weight"]
		}
		all = append(all, holder{name: name + ".lora_A", reader: r, weight: weight})
		for j := range r.ups {
			if u := &r.ups[j]; len(u.blocks) > 0 {
				all = append(all,
					holder{name: a.Spec.linearName(r.layer, r.maps[j][0]) + ".lora_B", reader: r, up: u, weight: -1})
			}
		}
	}
	for i := range a.rows {
		all = append(all, holder{name: a.rows[i].Weight + ".rows", rows: &a.rows[i], weight: -1})
	}
	return all
}

// Write returns the arrays of Arrays' places with an adapter, given as a flat vector, in place of the one of that
// number, [1] int32; nil where there is one alone. The number is known when the program runs: to compile a program for
// each place takes longer than all that is ever written there.
func (a Adapters) Write(arrays []*Node, number, flat *Node) []*Node {
	pieces, _ := a.LoRA.Pieces(a.Spec)
	matrices := a.matrices(pieces, flat)
	out := make([]*Node, len(arrays))
	rows := matrices[len(pieces):]
	for i, h := range a.holders() {
		old := arrays[i]
		if h.rows != nil {
			out[i], rows = a.writeRows(old, number, rows[0]), rows[1:]
			continue
		}
		fresh := func(b block) *Node { // of a block
			p := pieces[b.piece]
			if number == nil {
				return matrices[b.piece]
			}
			row := b.row
			if h.up == nil {
				row += h.above(a.Spec)
			}
			held := Slice(old, AxisRange(row, row+p.Rows), AxisRange(b.column, b.column+p.Cols))
			return Where(Equal(Reshape(number), Const(old.Graph(), int32(b.adapter))), matrices[b.piece], held)
		}
		if h.up != nil {
			out[i] = h.up.assemble(fresh, pieces, old)
			continue
		}
		down := h.reader.assemble(fresh, pieces, old)
		if out[i] = down; h.weight >= 0 {
			g := old.Graph()
			out[i] = DynamicUpdateSlice(old, down, []*Node{Const(g, int32(h.above(a.Spec))), Const(g, int32(0))})
		}
	}
	return out
}

// writeRows is Write of rows of tokens [T, H] into those of all adapters.
func (a Adapters) writeRows(old, number, fresh *Node) *Node {
	if number == nil {
		return fresh
	}
	n := fresh.Shape().Dimensions[0]
	var parts []*Node
	for i := range a.Count {
		is := Equal(Reshape(number), Const(old.Graph(), int32(i)))
		parts = append(parts, Where(is, fresh, Slice(old, AxisRange(i*n, (i+1)*n))))
	}
	return concatenate(parts)
}

// above is how many rows stand above the A.
func (h holder) above(s Spec) (rows int) {
	if h.weight < 0 {
		return 0
	}
	for _, t := range h.reader.maps[0] {
		_, out := s.Dims(t)
		rows += out
	}
	return rows
}

// matrices are an adapter's matrices as programs take them, and behind them its rows of tokens: A times its scale, and
// all in the weights' type.
func (a Adapters) matrices(pieces []Piece, flat *Node) []*Node {
	matrices := adapterNodes(pieces, flat)
	for i, m := range matrices {
		if !pieces[i].B {
			m = MulScalar(m, pieces[i].Scale)
		}
		matrices[i] = ConvertDType(m, a.Spec.DType())
	}
	for _, rows := range rowNodes(a.Spec, a.rows, flat) {
		matrices = append(matrices, ConvertDType(rows, a.Spec.DType()))
	}
	return matrices
}

func zeros(like *Node, rows, columns int) *Node {
	return Zeros(like.Graph(), shapes.Make(like.DType(), rows, columns))
}

// assemble puts the A below each other, and zeros between.
func (r *reader) assemble(of func(block) *Node, pieces []Piece, like *Node) *Node {
	var parts []*Node
	rows := 0
	for _, b := range r.downs {
		if b.row > rows {
			parts = append(parts, zeros(like, b.row-rows, r.in))
		}
		parts = append(parts, of(b))
		rows = b.row + pieces[b.piece].Rows
	}
	if rows < r.width {
		parts = append(parts, zeros(like, r.width-rows, r.in))
	}
	return concatenate(parts)
}

// assemble puts the B where they belong: those of a target beside each other, and zeros where there are none.
func (u *up) assemble(of func(block) *Node, pieces []Piece, like *Node) *Node {
	var rows []*Node
	done := 0
	for i := 0; i < len(u.blocks); {
		first, height := u.blocks[i], pieces[u.blocks[i].piece].Rows
		if first.row > done {
			rows = append(rows, zeros(like, first.row-done, u.width))
		}
		var beside []*Node
		end := 0
		for ; i < len(u.blocks) && u.blocks[i].piece == first.piece; i++ {
			beside = append(beside, of(u.blocks[i]))
			end += pieces[first.piece].Cols
		}
		if end < u.width {
			beside = append(beside, zeros(like, height, u.width-end))
		}
		row := beside[0]
		if len(beside) > 1 {
			row = Concatenate(beside, 1)
		}
		rows, done = append(rows, row), first.row+height
	}
	if done < u.out {
		rows = append(rows, zeros(like, u.out-done, u.width))
	}
	return concatenate(rows)
}

// of reads an adapter's matrices, in matrices' order, out of the arrays that programs take.
func (a Adapters) of(arrays []*Node, number int) []*Node {
	pieces, _ := a.LoRA.Pieces(a.Spec)
	matrices := make([]*Node, len(pieces))
	for i, h := range a.holders() {
		if h.rows != nil {
			n := len(h.rows.IDs)
			matrices = append(matrices, Slice(arrays[i], AxisRange(number*n, (number+1)*n)))
			continue
		}
		blocks, above := h.reader.downs, h.above(a.Spec)
		if h.up != nil {
			blocks, above = h.up.blocks, 0
		}
		for _, b := range blocks {
			if b.adapter == number {
				p := pieces[b.piece]
				matrices[b.piece] = Slice(arrays[i], AxisRange(above+b.row, above+b.row+p.Rows),
					AxisRange(b.column, b.column+p.Cols))
			}
		}
	}
	return matrices
}

// NumChecksum is how many numbers a checksum has.
const NumChecksum = 2

// Checksum is that of an adapter in the arrays of Arrays' places, [NumChecksum] int32. It depends on each bit of each
// matrix and on where it stands; what is as likely to have the same is one of 2^64. Integers add up to the same in any
// order, so it is the same on all devices.
func (a Adapters) Checksum(arrays []*Node, number int) *Node { return checksum(a.of(arrays, number)) }

// ChecksumOf is what Checksum is to be of an adapter, given as a flat vector.
func (a Adapters) ChecksumOf(flat *Node) *Node {
	pieces, _ := a.LoRA.Pieces(a.Spec)
	return checksum(a.matrices(pieces, flat))
}

func checksum(matrices []*Node) *Node {
	var sums [NumChecksum]*Node
	for i, m := range matrices {
		d := m.Shape().Dimensions
		index := shapes.Make(dtypes.Int32, d...)
		g := m.Graph()
		at := Add(MulScalar(Iota(g, index, 0), d[1]), Iota(g, index, 1))
		x := Add(bitsOf(m), scramble(AddScalar(at, bits(uint32(i)*golden))))
		for j := range sums {
			x = scramble(AddScalar(x, bits(golden)))
			sum := ReduceAllSum(x)
			if sums[j] != nil {
				sum = Add(sums[j], sum)
			}
			sums[j] = sum
		}
	}
	return Stack(sums[:], 0)
}

// bitsOf are the bits of numbers as int32. Those of bfloat16 are taken as they are: XLA leaves out a rounding between
// two conversions.
func bitsOf(x *Node) *Node {
	if x.DType() == dtypes.BFloat16 {
		return ConvertDType(Bitcast(x, dtypes.Int16), dtypes.Int32)
	}
	return Bitcast(x, dtypes.Int32)
}

// ReadChecksum reads what Checksum and ChecksumOf returned: of several devices, what the first has.
func ReadChecksum(b engine.Buffer) (uint64, error) {
	x, err := engine.Ints(b)
	if err != nil {
		return 0, err
	}
	return uint64(uint32(x[0]))<<32 | uint64(uint32(x[1])), nil
}
