package model

import (
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
)

// LoRA is the shape of an adapter (arXiv 2106.09685): y = W x + alpha/rank B A x on the linear maps it targets. The
// zero value of what follows RankStabilized targets all of them alike. Semantics are PEFT's.
type LoRA struct {
	Rank  int
	Alpha float64
	// RankStabilized scales by alpha/sqrt(rank) instead (arXiv 2312.03732).
	RankStabilized bool
	// Targets are linear maps by the ends of their paths, "q_proj" or "layers.0.mlp.up_proj"; nil: all.
	Targets []string
	// TargetPattern is a regular expression that a target's whole path must match, instead of Targets.
	TargetPattern string
	// RankPattern and AlphaPattern give some targets another rank or alpha: the first entry that fits counts.
	RankPattern  []Pattern[int]
	AlphaPattern []Pattern[float64]
	// Tokens are ids whose row of the embedding, and of a head that is the same matrix, is the adapter's own;
	// HeadTokens those whose row is of a head that is a matrix of its own.
	Tokens     []int32 `json:",omitempty"`
	HeadTokens []int32 `json:",omitempty"`
}

// Pattern gives the linear maps whose paths end, at a dot, in what a regular expression matches, a value of their own.
type Pattern[T any] struct {
	Pattern string
	Value   T
}

// Equal reports whether two adapters have the same shape.
func (l LoRA) Equal(m LoRA) bool {
	return l.Rank == m.Rank && l.Alpha == m.Alpha && l.RankStabilized == m.RankStabilized &&
		slices.Equal(l.Targets, m.Targets) && l.TargetPattern == m.TargetPattern &&
		slices.Equal(l.RankPattern, m.RankPattern) && slices.Equal(l.AlphaPattern, m.AlphaPattern) &&
		slices.Equal(l.Tokens, m.Tokens) && slices.Equal(l.HeadTokens, m.HeadTokens)
}

// Explicit names the targets of an adapter that has all of the model's linear maps.
func (l LoRA) Explicit(s Spec) LoRA {
	if l.Targets != nil || l.TargetPattern != "" {
		return l
	}
	if s.Prefix == "" {
		l.Targets = s.targetNames()
		return l
	}
	for layer := range s.NumLayers { // the names alone would also be those of the part that sees images
		for _, t := range s.Targets() {
			l.Targets = append(l.Targets, s.Path(layer, t))
		}
	}
	return l
}

func (l LoRA) scale(rank int, alpha float64) float64 {
	if l.RankStabilized {
		return alpha / math.Sqrt(float64(rank))
	}
	return alpha / float64(rank)
}

// Piece is where one matrix lies in an adapter's flat vector.
type Piece struct {
	Layer      int
	Target     Target
	B          bool // B [out, rank]; otherwise A [rank, in]
	Rows, Cols int
	Offset     int
	Scale      float64 // factor of the target's term
}

// Pieces lays an adapter out as one flat vector of float32, so that optimiser state and gradients are one buffer each:
// layer by layer, target by target, A before B, and behind them Rows. It returns the vector's length too; nothing where
// Check finds fault.
func (l LoRA) Pieces(s Spec) (pieces []Piece, size int) {
	if pieces, size = l.matrices(s); len(pieces) > 0 {
		_, size = l.rowsFrom(s, size)
	}
	return pieces, size
}

// matrices is Pieces without the rows behind them.
func (l LoRA) matrices(s Spec) (pieces []Piece, size int) {
	shapes, err := l.resolve(s)
	if err != nil {
		return nil, 0
	}
	for _, x := range shapes {
		in, out := s.Dims(x.target)
		pieces = append(pieces, Piece{x.layer, x.target, false, x.rank, in, size, x.scale})
		size += x.rank * in
		pieces = append(pieces, Piece{x.layer, x.target, true, out, x.rank, size, x.scale})
		size += out * x.rank
	}
	return pieces, size
}

// sites maps a linear map to its A among pieces.
func sites(pieces []Piece) map[site]int {
	at := map[site]int{}
	for i, p := range pieces {
		if !p.B {
			at[site{p.Layer, p.Target}] = i
		}
	}
	return at
}

// adapterNodes cuts the flat vector into its matrices.
func adapterNodes(pieces []Piece, flat *Node) []*Node {
	nodes := make([]*Node, len(pieces))
	for i, p := range pieces {
		nodes[i] = Reshape(Slice(flat, AxisRange(p.Offset, p.Offset+p.Rows*p.Cols)), p.Rows, p.Cols)
	}
	return nodes
}

// product is B [out, r] times A [r, in].
func product(b, a *Node) *Node { return Dot(b, a).General([]int{1}, nil, []int{0}, nil) }

// Within lays an adapter out in another shape, which must have its targets at its rank or a larger one: rows and
// columns beyond its own are zero, and B takes the ratio of the scales, so that it changes what it did. Rows of tokens
// must have room too.
func (l LoRA) Within(s Spec, flat []float32, other LoRA) ([]float32, error) {
	if l.Equal(other) {
		return flat, nil
	}
	own, _ := l.Pieces(s)
	pieces, size := other.Pieces(s)
	type place struct {
		site
		b bool
	}
	at := map[place]Piece{}
	for _, p := range pieces {
		at[place{site{p.Layer, p.Target}, p.B}] = p
	}
	out := make([]float32, size)
	for _, p := range own {
		to, ok := at[place{site{p.Layer, p.Target}, p.B}]
		if !ok || to.Rows < p.Rows || to.Cols < p.Cols {
			return nil, fmt.Errorf("%s of rank %d, where there is room for rank %d",
				s.Path(p.Layer, p.Target), min(p.Rows, p.Cols), min(to.Rows, to.Cols))
		}
		scale := float32(1)
		if p.B {
			scale = float32(p.Scale / to.Scale)
		}
		for row := range p.Rows {
			for col := range p.Cols {
				out[to.Offset+row*to.Cols+col] = flat[p.Offset+row*p.Cols+col] * scale
			}
		}
	}
	return out, l.rowsWithin(s, flat, other, out)
}
