package objective

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/learn/batch"
)

// clipped is the clipped policy-gradient loss (PPO, arXiv 1707.06347, eq. 7; GRPO, arXiv 2402.03300, eq. 3) with
// clip-higher (DAPO, arXiv 2503.14476, eq. 8), with A the advantage and r the ratio of the trainer's probability to the
// old one:
//
//	loss = -min(r A, clip(r, 1-low, 1+high) A)    r = exp(log p - log p_old)
//
// A token whose ratio is clipped has no gradient. Where A < 0 nothing bounds the loss from above. A dual clip does
// (arXiv 1912.09729; TRL's delta), where it is above 1+high:
//
//	loss = -min(min(r, dual) A, clip(r, 1-low, 1+high) A)
type clipped struct{ clip batch.Clip }

func (c clipped) Name() string {
	if c.clip.Dual > 0 {
		return "dapo_dual"
	}
	return "dapo"
}

func (clipped) Columns() []batch.Column {
	return []batch.Column{batch.ColumnOldLogprobs, batch.ColumnAdvantages}
}

func (c clipped) Numbers() []float32 { return c.numbers() }

func (c clipped) numbers() []float32 {
	numbers := []float32{float32(c.clip.Low), float32(c.clip.High)}
	if c.clip.Dual > 0 {
		numbers = append(numbers, float32(c.clip.Dual))
	}
	return numbers
}

func (clipped) ByRow() bool { return false }

func (c clipped) Graph(t Tokens) *Node {
	old, advantage := t.Columns[0], t.Columns[1]
	return c.of(Exp(Sub(t.Logprobs, old)), advantage, t.Numbers)
}

// of is the loss of ratios.
func (c clipped) of(ratio, advantage *Node, numbers []*Node) *Node {
	low, high := numbers[0], numbers[1]
	clipped := Min(Max(ratio, OneMinus(low)), OnePlus(high))
	if c.clip.Dual > 0 {
		ratio = Min(ratio, numbers[2])
	}
	return Neg(Min(Mul(ratio, advantage), Mul(clipped, advantage)))
}

func (c clipped) Reference(r Row) (loss float64, slopes []float64) {
	for i, logprob := range r.Logprobs {
		old, advantage := r.Columns[0][i], r.Columns[1][i]
		l, slope := c.reference(math.Exp(logprob-old), advantage)
		loss, slopes = loss+r.Weights[i]*l, append(slopes, r.Weights[i]*slope)
	}
	return loss, slopes
}

// reference is the loss of a ratio, and its derivative by the ratio's logarithm.
func (c clipped) reference(ratio, advantage float64) (loss, slope float64) {
	free, clipped := ratio*advantage, min(max(ratio, 1-c.clip.Low), 1+c.clip.High)*advantage
	if clipped < free {
		return -clipped, 0
	}
	if c.clip.Dual > 0 && ratio > c.clip.Dual && advantage < 0 {
		return -c.clip.Dual * advantage, 0
	}
	return -free, -free // r' = r
}
