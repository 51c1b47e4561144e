package recipe

import (
	"context"
	"math"
	"slices"

	"hone/internal/learn/batch"
)

// Demonstrations are rows of SFT that each step learns from beside its episodes (CHORD, arXiv 2508.11408). What SFT has taught is kept so, and kinds
// of task that no episode does yet have something to say. The rows come in random orders, pass after pass. A token of one has in the step's loss
// the advantage
//
//	weight             or, with phi,    weight p (1 - p)
//
// where p is its probability under the policy as it is before the step, at the rollouts' temperature. It is not differentiated. With phi those
// tokens are learnt that the policy is unsure of. What it knows, or would never say, weighs nothing. A row's ratio is to the policy before the
// step, so the gradient of the first optimiser step is that of SFT's loss by these weights. Rows count in the loss's normaliser as an
// episode of the step does, where the paper weighs two means by mu and 1 - mu. The zero value has none.
type Demonstrations struct {
	Rows   int // of a step
	Weight float64
	Phi    bool
	Of     []batch.Sequence // with IDs and Trained
}

// On reports whether there are any.
func (d Demonstrations) On() bool { return d.Rows > 0 }

const demonstrated = 0xDE3057A // keeps this order apart from those of scenarios and draws

// picked are a step's demonstrations, by their places. They follow from the step alone, so that a run which goes on has the same.
func (d Demonstrations) picked(seed uint64, step int) (list []int) {
	n := len(d.Of)
	var order []int
	for i := step * d.Rows; i < (step+1)*d.Rows; i++ {
		if order == nil || i%n == 0 {
			order = shuffled(n, seed^demonstrated, i/n)
		}
		list = append(list, order[i%n])
	}
	return list
}

// demonstrated are the demonstrations that a step learns from, with the logprobs that the policy has as it is, and what there is to tell of them.
func (r *running) demonstrated(ctx context.Context, step int) ([]batch.Earlier, map[string]float64, error) {
	d := r.Demonstrations
	if !d.On() {
		return nil, nil, nil
	}
	var rows []batch.Sequence
	for i, at := range d.picked(r.Seed, step) {
		rows = append(rows, batch.Sequence{IDs: d.Of[at].IDs, Trained: d.Of[at].Trained, Episode: i})
	}
	earlier, mean, err := r.scored(ctx, rows, d.Rows)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range earlier {
		for i := range e.Rows {
			e.Rows[i].Advantages = d.advantages(e.Rows[i])
		}
	}
	return earlier, map[string]float64{"demonstrations": float64(d.Rows), "demonstrations/logprob": mean}, nil
}

// advantages are those of a row's tokens, which has the policy's logprobs.
func (d Demonstrations) advantages(row batch.Sequence) []float32 {
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

// scored gives rows of n episodes, which Episode numbers, the logprobs that the policy has for them as it is; mean is that of all their trained tokens.
func (r *running) scored(ctx context.Context, rows []batch.Sequence, n int) (earlier []batch.Earlier, mean float64, err error) {
	b := batch.New(rows)
	logprobs, err := r.trainer.Score(ctx, b, r.Temperature)
	if err != nil {
		return nil, 0, err
	}
	earlier = make([]batch.Earlier, n)
	sum, before := 0.0, len(b.Prefix)
	for i, row := range b.Rows {
		sum += trainedSum(row, logprobs[i])
		earlier[row.Episode].Rows = append(earlier[row.Episode].Rows, batch.Sequence{IDs: slices.Concat(b.Prefix, row.IDs),
			Trained: slices.Concat(make([]bool, before), row.Trained), SamplerLogprobs: slices.Concat(make([]float32, before), logprobs[i]), Scored: true})
	}
	return earlier, sum / float64(max(1, b.NumTrained())), nil
}
