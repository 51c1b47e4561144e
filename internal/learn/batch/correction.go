package batch

import (
	"fmt"
	"math"
)

// Correction is how the difference between the sampler and the trainer that held the same weights is corrected: each
// token's part of the policy's loss is multiplied by w, with p_old the trainer's probability of the token before the
// step's first update, and p_sampler the sampler's.
//
//	level token      r = p_old / p_sampler of the token
//	level sequence   r = the product of these over the row's sampled tokens
//	level geometric  r = their geometric mean
//	mode truncate    w = min(max(r, low), high)
//	mode mask        w = r where low <= r <= high, else 0
//
// Token and truncate is truncated importance sampling (TIS; F. Yao et al., "Your efficient RL framework secretly brings
// you off-policy RL training", 2025). Token and mask is IcePop (Ring-1T, arXiv 2510.18855, section 3.1). Sequence and
// mask is masked importance sampling (MIS; J. Liu et al., "When speed kills stability", 2025). With a correction the
// ratio that the clip bounds is p / p_old, else p / p_sampler.
//
// Every loss here is linear in a factor above 0 of its advantage, so w becomes one; a divergence from a reference is
// not multiplied by it.
type Correction struct {
	Level     Level // "" is none
	Mode      Mode
	Low, High float64
}

// Level says over what a ratio is taken.
type Level string

// Mode says what happens to a ratio out of bounds.
type Mode string

// The levels and modes there are.
const (
	LevelNone      Level = "none"
	LevelToken     Level = "token"
	LevelSequence  Level = "sequence"
	LevelGeometric Level = "geometric"

	ModeTruncate Mode = "truncate"
	ModeMask     Mode = "mask"
)

// On reports whether anything is corrected.
func (c Correction) On() bool { return c.Level != "" && c.Level != LevelNone }

// Weights are those of a row's sampled tokens, given the logprobs of both.
func (c Correction) Weights(old, sampler []float64) []float64 {
	w := make([]float64, len(old))
	sum := 0.0
	for i := range old {
		w[i] = old[i] - sampler[i]
		sum += w[i]
	}
	for i := range w {
		switch c.Level {
		case LevelSequence:
			w[i] = sum
		case LevelGeometric:
			w[i] = sum / float64(len(w))
		}
		w[i] = c.clamp(math.Exp(w[i]))
	}
	return w
}

func (c Correction) clamp(r float64) float64 {
	switch {
	case c.Mode != ModeMask:
		return min(max(r, c.Low), c.High)
	case r < c.Low || r > c.High:
		return 0
	}
	return r
}

// CorrectionStats describe the weights of a step's trained tokens.
type CorrectionStats struct{ Min, Mean, Max, Masked float64 } // Masked is the share of those that are 0

// Correct returns the batch with the trainer's logprobs of it as the old ones, one list for each row and one number for
// each id, and with advantages that are multiplied by the correction's weights.
func (b Batch) Correct(c Correction, old [][]float32) (Batch, CorrectionStats, error) {
	out := Batch{Prefix: b.Prefix, Normaliser: b.Normaliser}
	s, n := CorrectionStats{Min: math.Inf(1), Max: math.Inf(-1)}, 0.0
	for i, r := range b.Rows {
		if len(old[i]) != len(r.IDs) || len(r.SamplerLogprobs) != len(r.IDs) {
			return b, s, fmt.Errorf("row %d of %d has %d ids, %d logprobs of the trainer and %d of the sampler",
				i+1, len(b.Rows), len(r.IDs), len(old[i]), len(r.SamplerLogprobs))
		}
		var at []int
		var ours, theirs []float64
		for j, trained := range r.Trained {
			if trained {
				at, ours, theirs =
					append(at, j), append(ours, float64(old[i][j])), append(theirs, float64(r.SamplerLogprobs[j]))
			}
		}
		advantages := append([]float32{}, r.Advantages...)
		for k, w := range c.Weights(ours, theirs) {
			advantages[at[k]] *= float32(w)
			s.Min, s.Max, s.Mean, n = min(s.Min, w), max(s.Max, w), s.Mean+w, n+1
			if w == 0 {
				s.Masked++
			}
		}
		r.Advantages = advantages
		out.Rows = append(out.Rows, r.with(ColumnOldLogprobs, old[i]))
	}
	s.Mean, s.Masked = s.Mean/max(1, n), s.Masked/max(1, n)
	return out, s, nil
}

// With returns the batch with one more column, one list for each row and one number for each id.
func (b Batch) With(name Column, lists [][]float32) Batch {
	out := Batch{Prefix: b.Prefix, Normaliser: b.Normaliser}
	for i, r := range b.Rows {
		out.Rows = append(out.Rows, r.with(name, lists[i]))
	}
	return out
}

// with returns the row with one more column.
func (s Sequence) with(name Column, column []float32) Sequence {
	columns := map[Column][]float32{name: column}
	for k, c := range s.Columns {
		if k != name {
			columns[k] = c
		}
	}
	s.Columns = columns
	return s
}
