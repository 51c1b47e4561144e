package batch

import (
	"fmt"
	"slices"
)

// TopEntropy lets the policy learn at the share of a step's trained tokens at which it is least sure alone (S. Wang et
// al., "Beyond the 80/20 rule", arXiv 2506.01939, eq. 5; TRL's top_entropy_quantile): those whose entropy is at least
// that of the quantile 1-share, which lies between two tokens in a straight line.
//
//	loss = m l    m = 1 where H >= quantile(H of the sampled tokens, 1-share), else 0
//
// The others have the advantage 0, and still count in the normaliser. Rows that the policy did not sample (Scored),
// demonstrations and what is imitated, are learnt from whole, and are no part of the quantile. A divergence from a
// reference is of all tokens that were sampled, a bonus for entropy of those of them that are learnt from
// (ColumnChosen).
// Entropies are one list for each row and one number for each id, of the policy before the step's first update; so all
// optimiser steps on a batch learn at the same tokens.
func (b Batch) TopEntropy(entropies [][]float32, share float64) (Batch, error) {
	var all []float32
	for i, r := range b.Rows {
		if len(entropies[i]) != len(r.IDs) {
			return b, fmt.Errorf("row %d of %d has %d ids and %d entropies",
				i+1, len(b.Rows), len(r.IDs), len(entropies[i]))
		}
		for j, trained := range r.Trained {
			if trained && !r.Scored {
				all = append(all, entropies[i][j])
			}
		}
	}
	least := quantile(all, 1-share)
	out := Batch{Prefix: b.Prefix, Normaliser: b.Normaliser}
	for i, r := range b.Rows {
		r.Advantages = slices.Clone(r.Advantages)
		chosen := make([]float32, len(r.IDs))
		for j := range r.Advantages {
			switch {
			case r.Scored:
			case entropies[i][j] < least:
				r.Advantages[j] = 0
			default:
				chosen[j] = 1
			}
		}
		out.Rows = append(out.Rows, r.with(ColumnChosen, chosen))
	}
	return out, nil
}

// Exploring gives the tokens of a step their weights in its bonus for entropy (ColumnBonus): with w a token's weight in
// the step's sum of losses and Z the batch's normaliser, whichever the loss's reduction has, Z / (w N) of the N trained
// tokens that the policy sampled, or where TopEntropy has chosen some of those, and 0 of the others. So the step's sum
// of w b H / Z is the mean entropy of the tokens that have the bonus.
func (b Batch) Exploring() Batch {
	number := 0
	has := func(r Sequence, j int) bool {
		chosen, some := r.Columns[ColumnChosen]
		return r.Trained[j] && !r.Scored && (!some || chosen[j] > 0)
	}
	for _, r := range b.Rows {
		for j := range r.IDs {
			if has(r, j) {
				number++
			}
		}
	}
	normaliser := b.Normaliser
	if normaliser == 0 {
		normaliser = b.NumTrained()
	}
	out := Batch{Prefix: b.Prefix, Normaliser: b.Normaliser}
	for _, r := range b.Rows {
		weights := make([]float32, len(r.IDs))
		for j := range weights {
			if !has(r, j) {
				continue
			}
			own := 1.0
			if r.Weights != nil {
				own = float64(r.Weights[j])
			}
			weights[j] = float32(float64(normaliser) / (own * float64(number)))
		}
		out.Rows = append(out.Rows, r.with(ColumnBonus, weights))
	}
	return out
}

// quantile is that of numbers at q from 0 to 1; between two of them it lies on the straight line. It is 0 of none.
func quantile(x []float32, q float64) float32 {
	if len(x) == 0 {
		return 0
	}
	x = slices.Sorted(slices.Values(x))
	// In float32, as torch's: a share of tokens that are a whole number is not to lose one to rounding here and not
	// there.
	at := float32(q) * float32(len(x)-1)
	low := int(at)
	high := min(low+1, len(x)-1)
	return x[low] + (at-float32(low))*(x[high]-x[low])
}

// WithAdvantage returns the rows in which some token has an advantage: without a divergence and a bonus the others have
// no gradient.
func (b Batch) WithAdvantage() Batch {
	out := Batch{Prefix: b.Prefix, Normaliser: b.Normaliser}
	for _, r := range b.Rows {
		if slices.ContainsFunc(r.Advantages, func(a float32) bool { return a != 0 }) {
			out.Rows = append(out.Rows, r)
		}
	}
	return out
}
