package model

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"
)

// LoRA is the shape of an adapter on all linear maps (arXiv 2106.09685): y = W x + Alpha/Rank B A x.
type LoRA struct {
	Rank  int
	Alpha float64
	// RankStabilized scales by Alpha/sqrt(Rank) instead (arXiv 2312.03732).
	RankStabilized bool
}

// Scale is the factor of the adapter's term.
func (l LoRA) Scale() float64 {
	if l.RankStabilized {
		return l.Alpha / math.Sqrt(float64(l.Rank))
	}
	return l.Alpha / float64(l.Rank)
}

// Piece is where one matrix lies in an adapter's flat vector.
type Piece struct {
	Layer      int
	Target     Target
	B          bool // B [out, rank]; otherwise A [rank, in]
	Rows, Cols int
	Offset     int
}

// Pieces lays an adapter out as one flat vector of float32, so that optimiser state and gradients are one buffer each:
// layer by layer, target by target, A before B. It returns the vector's length too.
func (l LoRA) Pieces(s Spec) (pieces []Piece, size int) {
	for layer := range s.NumLayers {
		for t := range NumTargets {
			in, out := s.Dims(t)
			pieces = append(pieces, Piece{layer, t, false, l.Rank, in, size})
			size += l.Rank * in
			pieces = append(pieces, Piece{layer, t, true, out, l.Rank, size})
			size += out * l.Rank
		}
	}
	return pieces, size
}

// adapterNodes cuts the flat vector into its matrices.
func adapterNodes(s Spec, l LoRA, flat *Node) []*Node {
	pieces, _ := l.Pieces(s)
	nodes := make([]*Node, len(pieces))
	for i, p := range pieces {
		nodes[i] = Reshape(Slice(flat, AxisRange(p.Offset, p.Offset+p.Rows*p.Cols)), p.Rows, p.Cols)
	}
	return nodes
}

// Merge adds the adapter to each linear map: the weights, in WeightParams' order, with W + Scale B A in place of W.
func Merge(s Spec, l LoRA, weights []*Node, flat *Node) []*Node {
	merged := append([]*Node{}, weights...)
	pieces := adapterNodes(s, l, flat)
	for layer := range s.NumLayers {
		for t := range NumTargets {
			i := 2 + layer*perLayer + 2 + int(t)
			j := 2 * (layer*int(NumTargets) + int(t))
			delta := Dot(pieces[j+1], pieces[j]).General([]int{1}, nil, []int{0}, nil)
			merged[i] = Add(weights[i], MulScalar(delta, l.Scale()))
		}
	}
	return merged
}

// LinearMaps returns the linear maps among weights in WeightParams' order.
func (s Spec) LinearMaps(weights []*Node) []*Node {
	var maps []*Node
	for layer := range s.NumLayers {
		i := 2 + layer*perLayer + 2
		maps = append(maps, weights[i:i+int(NumTargets)]...)
	}
	return maps
}
