package objective

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/learn/batch"
)

// dapo is the clipped policy-gradient loss with clip-higher (DAPO, arXiv 2503.14476, eq. 8), with A the advantage and r the ratio of the
// trainer's probability to the old one:
//
//	loss = -min(r A, clip(r, 1-low, 1+high) A)    r = exp(log p - log p_old)
//
// A token whose ratio is clipped has no gradient.
type dapo struct{ clip batch.Clip }

func (dapo) Columns() []batch.Column {
	return []batch.Column{batch.ColumnOldLogprobs, batch.ColumnAdvantages}
}

func (d dapo) Numbers() []float32 { return []float32{float32(d.clip.Low), float32(d.clip.High)} }

func (dapo) Graph(logprobs *Node, columns, numbers []*Node) *Node {
	old, advantage, low, high := columns[0], columns[1], numbers[0], numbers[1]
	ratio := Exp(Sub(logprobs, old))
	clipped := Min(Max(ratio, OneMinus(low)), OnePlus(high))
	return Neg(Min(Mul(ratio, advantage), Mul(clipped, advantage)))
}

func (d dapo) Reference(logprob float64, columns []float64) (loss, slope float64) {
	old, advantage := columns[0], columns[1]
	ratio := math.Exp(logprob - old)
	free, clipped := ratio*advantage, min(max(ratio, 1-d.clip.Low), 1+d.clip.High)*advantage
	if clipped < free {
		return -clipped, 0
	}
	return -free, -free // r' = r
}
