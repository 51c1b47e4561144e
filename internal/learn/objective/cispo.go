package objective

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/learn/batch"
)

// cispo weighs a token's logprob by its clipped ratio, through which no gradient goes (CISPO, MiniMax-M1, arXiv
// 2506.13585, eq. 4 and 5), with A the advantage and r the ratio of the trainer's probability to the old one:
//
//	loss = -sg(clip(r, 1-low, 1+high)) A log p    r = exp(log p - log p_old)
//
// So each token has a gradient, also those that DAPO clips: the rare ones at which a chain of thought turns. The paper
// bounds the ratio from above alone, which is low = 1; ScaleRL (arXiv 2510.13786) takes high = 4.
type cispo struct{ clip batch.Clip }

func (cispo) Name() string { return "cispo" }

func (cispo) Columns() []batch.Column { return clipped{}.Columns() }

func (c cispo) Numbers() []float32 { return []float32{float32(c.clip.Low), float32(c.clip.High)} }

func (cispo) ByRow() bool { return false }

func (c cispo) Graph(t Tokens) *Node {
	old, advantage, low, high := t.Columns[0], t.Columns[1], t.Numbers[0], t.Numbers[1]
	weight := StopGradient(Min(Max(Exp(Sub(t.Logprobs, old)), OneMinus(low)), OnePlus(high)))
	return Neg(Mul(Mul(weight, advantage), t.Logprobs))
}

func (c cispo) Reference(r Row) (loss float64, slopes []float64) {
	for i, logprob := range r.Logprobs {
		old, advantage := r.Columns[0][i], r.Columns[1][i]
		slope := -r.Weights[i] * min(max(math.Exp(logprob-old), 1-c.clip.Low), 1+c.clip.High) * advantage
		loss, slopes = loss+slope*logprob, append(slopes, slope)
	}
	return loss, slopes
}
