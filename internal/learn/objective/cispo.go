package objective

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/learn/batch"
)

// cispo weighs a token's logprob by its clipped ratio, through which no gradient goes (CISPO, MiniMax-M1, arXiv 2506.13585, eq. 4 and 5), with
// A the advantage and r the ratio of the trainer's probability to the old one:
//
//	loss = -sg(clip(r, 1-low, 1+high)) A log p    r = exp(log p - log p_old)
//
// So each token has a gradient, also those that DAPO clips: the rare ones at which a chain of thought turns. The paper bounds the ratio
// from above alone, which is low = 1; ScaleRL (arXiv 2510.13786) takes high = 4.
type cispo struct{ clip batch.Clip }

func (cispo) Columns() []batch.Column {
	return []batch.Column{batch.ColumnOldLogprobs, batch.ColumnAdvantages}
}

func (c cispo) Numbers() []float32 { return []float32{float32(c.clip.Low), float32(c.clip.High)} }

func (cispo) Graph(logprobs *Node, columns, numbers []*Node) *Node {
	old, advantage, low, high := columns[0], columns[1], numbers[0], numbers[1]
	weight := StopGradient(Min(Max(Exp(Sub(logprobs, old)), OneMinus(low)), OnePlus(high)))
	return Neg(Mul(Mul(weight, advantage), logprobs))
}

func (c cispo) Reference(logprob float64, columns []float64) (loss, slope float64) {
	old, advantage := columns[0], columns[1]
	weight := min(max(math.Exp(logprob-old), 1-c.clip.Low), 1+c.clip.High)
	return -weight * advantage * logprob, -weight * advantage
}
