package recipe

import (
	"context"
	"errors"
	"math"

	"hone/internal/learn/batch"
)

// Demonstrations are rows of SFT that each step learns from beside its episodes (CHORD, arXiv 2508.11408). What SFT has
// taught is kept so, and kinds of task that no episode does yet have something to say. The rows come in random orders,
// pass after pass. A token of one has in the step's loss the advantage
//
//	weight             or, with phi,    weight p (1 - p)
//
// where p is its probability under the policy as it is before the step, at the rollouts' temperature. It is not
// differentiated. With phi those tokens are learnt that the policy is unsure of. What it knows, or would never say,
// weighs nothing. A row's ratio is to the policy before the step, so the gradient of the first optimiser step is that
// of SFT's loss by these weights. Rows count in the loss's normaliser as an episode of the step does, where the paper
// weighs two means by mu and 1 - mu.
type Demonstrations struct {
	None
	Rows   int // rows of a step
	Weight float64
	Phi    bool
	Of     []batch.Sequence // with IDs and Trained

	stage *stage
}

// Begin implements Addition.
func (d *Demonstrations) Begin(s *stage) error {
	d.stage = s
	if len(d.Of) == 0 {
		return errors.New("a stage that learns from demonstrations has none")
	}
	return nil
}

const demonstrated = 0xDE3057A // keeps this order apart from those of scenarios and draws

// choose are a step's demonstrations, by their places. They follow from the step alone, so that a run which goes on has
// the same.
func (d *Demonstrations) choose(seed uint64, step int) (list []int) {
	n := len(d.Of)
	var order []int
	for i := step * d.Rows; i < (step+1)*d.Rows; i++ {
		if order == nil || i%n == 0 {
			order = permutation(n, seed^demonstrated, i/n)
		}
		list = append(list, order[i%n])
	}
	return list
}

// AddRows implements Addition: the demonstrations that a step learns from, with the logprobs that the policy has as it
// is.
func (d *Demonstrations) AddRows(ctx context.Context, step *Step) error {
	var rows []batch.Sequence
	for i, at := range d.choose(d.stage.Seed, step.Number) {
		rows = append(rows, batch.Sequence{IDs: d.Of[at].IDs, Trained: d.Of[at].Trained, Episode: i})
	}
	earlier, mean, err := d.stage.score(ctx, fromDemonstrations, rows, d.Rows)
	if err != nil {
		return err
	}
	for _, e := range earlier {
		for i := range e.Rows {
			e.Rows[i].Advantages = d.advantages(e.Rows[i])
		}
	}
	step.Metrics["demonstrations"], step.Metrics["demonstrations/logprob"] = float64(d.Rows), mean
	step.More = append(step.More, earlier...)
	return nil
}

// advantages are those of a row's tokens, which has the policy's logprobs.
func (d *Demonstrations) advantages(row batch.Sequence) []float32 {
	a := make([]float32, len(row.IDs))
	for i, trained := range row.Trained {
		switch p := math.Exp(float64(row.SamplerLogprobs[i])); {
		case trained && d.Phi:
			a[i] = float32(d.Weight * p * (1 - p))
		case trained:
			a[i] = float32(d.Weight)
		}
	}
	return a
}

// Show gives the demonstrations of a stage their rows, where it learns from any.
func (g GRPO) Show(rows []batch.Sequence) {
	if d, ok := AdditionOf[*Demonstrations](g.Additions); ok {
		d.Of = rows
	}
}
