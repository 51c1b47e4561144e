package model

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/learn/modelfile"
)

// An adapter may have rows of its own for some tokens (PEFT's trainable_token_indices): they stand in the place of the
// base's rows of the embedding and the head. A row of zeros stands for the base's own, so that an adapter of zeros is
// the base model, as it is by its matrices.

// TokenRows are the rows of tokens that an adapter has of one weight, and where they lie in its flat vector.
type TokenRows struct {
	Weight string // its name in the files
	IDs    []int32
	Offset int // of the first; one follows the other, Spec.Hidden numbers each
}

// Rows lists the rows of tokens, behind the matrices of Pieces: those of the embedding, then those of a head of its
// own.
func (l LoRA) Rows(s Spec) []TokenRows {
	_, size := l.matrices(s)
	rows, _ := l.rowsFrom(s, size)
	return rows
}

// rowsFrom is Rows from an offset on, with the offset behind them.
func (l LoRA) rowsFrom(s Spec, offset int) (rows []TokenRows, end int) {
	for _, r := range []TokenRows{
		{Weight: s.embeddingName(), IDs: l.Tokens},
		{Weight: s.headName(), IDs: l.HeadTokens},
	} {
		if len(r.IDs) > 0 {
			r.Offset = offset
			rows, offset = append(rows, r), offset+len(r.IDs)*s.Hidden
		}
	}
	return rows, offset
}

// WithTokens is an adapter that has rows of its own for tokens, of the embedding and of the head.
func (l LoRA) WithTokens(s Spec, ids []int32) LoRA {
	if l.Tokens = ids; !s.TiedHead {
		l.HeadTokens = ids
	}
	return l
}

// checkTokens refuses tokens that the model has no rows for.
func (l LoRA) checkTokens(s Spec) error {
	if s.TiedHead && len(l.HeadTokens) > 0 {
		return errors.New("its head has rows of tokens, and the model's head is its embedding")
	}
	for _, r := range []TokenRows{{IDs: l.Tokens}, {IDs: l.HeadTokens}} {
		for i, id := range r.IDs {
			if id < 0 || int(id) >= s.VocabSize {
				return fmt.Errorf("it has a row for token %d of a vocabulary of %d", id, s.VocabSize)
			}
			if slices.Contains(r.IDs[:i], id) {
				return fmt.Errorf("it has two rows for token %d", id)
			}
		}
	}
	return nil
}

// StartRows writes the base's own rows into a flat vector, which training begins with.
func (l LoRA) StartRows(s Spec, file *modelfile.Model, flat []float32) error {
	for _, r := range l.Rows(s) {
		var ids []int
		for _, id := range r.IDs {
			ids = append(ids, int(id))
		}
		rows, err := file.Rows(r.Weight, ids)
		if err != nil {
			return err
		}
		for i, row := range rows {
			copy(flat[r.Offset+i*s.Hidden:], row)
		}
	}
	return nil
}

// rowsWithin copies rows of tokens into another layout; what that has beyond them is the base's own.
func (l LoRA) rowsWithin(s Spec, flat []float32, other LoRA, out []float32) error {
	to := other.Rows(s)
	for _, r := range l.Rows(s) {
		at := slices.IndexFunc(to, func(x TokenRows) bool { return x.Weight == r.Weight })
		for i, id := range r.IDs {
			j := -1
			if at >= 0 {
				j = slices.Index(to[at].IDs, id)
			}
			if j < 0 {
				return fmt.Errorf("a row of %s for token %d, where there is no room for one", r.Weight, id)
			}
			copy(out[to[at].Offset+j*s.Hidden:][:s.Hidden], flat[r.Offset+i*s.Hidden:])
		}
	}
	return nil
}

// rowNodes cuts the rows of tokens, [T, H] each, out of an adapter's flat vector.
func rowNodes(s Spec, rows []TokenRows, flat *Node) (nodes []*Node) {
	for _, r := range rows {
		n := len(r.IDs)
		nodes = append(nodes, Reshape(Slice(flat, AxisRange(r.Offset, r.Offset+n*s.Hidden)), n, s.Hidden))
	}
	return nodes
}

// ownRows are the rows that a decoder's adapters have of a weight.
type ownRows struct {
	ids   []int32
	rows  *Node // [adapters*T, H] in the weights' type, without zeros that stand for the base's own
	count int   // adapters
}

// setRows takes the rows of a weight that adapters have, [count*T, H].
func (d *Decoder) setRows(r TokenRows, rows *Node, count int) {
	base := Gather(d.weights[r.Weight], Reshape(Const(rows.Graph(), r.IDs), len(r.IDs), 1))
	if count > 1 {
		base = Concatenate(slices.Repeat([]*Node{base}, count), 0)
	}
	rows = ConvertDType(rows, d.spec.DType())
	fixed := ConvertDType(StopGradient(rows), dtypes.Float32)
	none := ReduceAndKeep(Max(fixed, Neg(fixed)), ReduceMax, -1)
	isNone := BroadcastToDims(Equal(none, ZerosLike(none)), base.Shape().Dimensions...)
	rows = Add(rows, Where(isNone, StopGradient(base), ZerosLike(base)))
	if d.rows == nil {
		d.rows = map[string]ownRows{}
	}
	d.rows[r.Weight] = ownRows{r.IDs, rows, count}
}

// embed is the rows of the embedding [M, H] of ids [M].
func (d *Decoder) embed(idsM *Node) *Node {
	m := idsM.Shape().Size()
	x := Gather(d.weights[d.spec.embeddingName()], Reshape(idsM, m, 1))
	r, ok := d.rows[d.spec.embeddingName()]
	if !ok {
		return x
	}
	n := r.count * len(r.ids)
	column := func(x *Node) *Node { return BroadcastToDims(Reshape(x, m, 1), m, n) }
	tokens := BroadcastToDims(Reshape(Const(idsM.Graph(), slices.Repeat(r.ids, r.count)), 1, n), m, n)
	is := Equal(column(idsM), tokens)
	if d.applied.adapterM != nil {
		adapters := make([]int32, n)
		for i := range adapters {
			adapters[i] = int32(i / len(r.ids))
		}
		of := BroadcastToDims(Reshape(Const(idsM.Graph(), adapters), 1, n), m, n)
		is = LogicalAnd(is, Equal(column(d.applied.adapterM), of))
	}
	one := ConvertDType(is, x.DType())
	any := ReduceAndKeep(one, ReduceSum, -1)
	own := contract(one, r.rows, []int{1}, nil, []int{0}, nil, x.DType())
	return Where(BroadcastToDims(NotEqual(any, ZerosLike(any)), x.Shape().Dimensions...), own, x)
}

// ownLogits puts logits of the rows that adapters have of the head in the place of the base's, [M, V] of normed h [M,
// H].
func (d *Decoder) ownLogits(logits, h *Node, head string) *Node {
	r, ok := d.rows[head]
	if !ok {
		return logits
	}
	m, t := h.Shape().Dimensions[0], len(r.ids)
	v := logits.Shape().Dimensions[1]
	own := contract(h, r.rows, []int{1}, nil, []int{1}, nil, dtypes.Float32) // [M, adapters*T]
	ones := Ones(h.Graph(), shapes.Make(dtypes.Float32, 1, t))
	is := BroadcastToDims(NotEqual(atColumns(ones, r.ids, v), Zeros(h.Graph(), shapes.Make(dtypes.Float32, 1, v))), m,
		v)
	if d.applied.adapterM != nil {
		number := BroadcastToDims(Reshape(d.applied.adapterM, m, 1), m, r.count)
		of := Equal(number, Iota(h.Graph(), shapes.Make(dtypes.Int32, m, r.count), 1))
		chosen := BroadcastToDims(Reshape(of, m, r.count, 1), m, r.count, t)
		own = Reshape(own, m, r.count, t)
		own = ReduceSum(Where(chosen, own, ZerosLike(own)), 1)
		has := ReduceAndKeep(ConvertDType(of, dtypes.Float32), ReduceSum, -1)
		is = LogicalAnd(is, BroadcastToDims(NotEqual(has, ZerosLike(has)), m, v))
	}
	return Where(is, atColumns(own, r.ids, v), logits)
}

// atColumns puts the columns of x [M, T] at the places ids of [M, V]; the others are zero. It is put together of
// slices, whose derivative reads T columns alone.
func atColumns(x *Node, ids []int32, v int) *Node {
	m, g := x.Shape().Dimensions[0], x.Graph()
	order := make([]int, len(ids))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(ids[i], ids[j]) })
	var parts []*Node
	done := 0
	zerosTo := func(end int) {
		if end > done {
			parts = append(parts, Zeros(g, shapes.Make(x.DType(), m, end-done)))
		}
	}
	for _, i := range order {
		zerosTo(int(ids[i]))
		parts, done = append(parts, columns(x, i, i+1)), int(ids[i])+1
	}
	zerosTo(v)
	if len(parts) == 1 {
		return parts[0]
	}
	return Concatenate(parts, 1)
}
