package recipe

import (
	"context"

	"hone/internal/learn/batch"
)

// DPO is direct preference optimisation (arXiv 2305.18290): each step raises how much more the policy prefers one of two completions of a
// prompt than the reference does, which is the policy that the stage began with. What the reference thinks of each pair is computed once,
// before the first step; what the policy does is computed before each, on the same rows (batch.Preference has the formulas).
type DPO struct {
	SFT        SFT // how it goes over the pairs; nothing is held out
	Preference batch.Preference
}

// PreferencePair is two completions of one prompt. A side has several rows where the chat template rewrites what came before.
type PreferencePair struct{ Chosen, Rejected []batch.Sequence }

// Run trains on pairs, resuming after the newest checkpoint of the stage, and leaves the adapter published; a nil publisher says that nobody
// samples.
func (d DPO) Run(ctx context.Context, pairs []PreferencePair, trainer Trainer, publisher Publisher, log Log, progress Progress) error {
	var reference []batch.Pair
	l := learner{trainer: trainer}
	l.begin = func(ctx context.Context, fresh bool) (err error) {
		if fresh {
			err = trainer.HoldReference()
		}
		if err == nil {
			reference, err = d.reference(ctx, pairs, trainer, progress)
		}
		return err
	}
	l.gradient = func(ctx context.Context, picked []int) (batch.StepStats, map[string]float64, error) {
		b := RowsOf(pairs, picked)
		policy, err := trainer.Score(ctx, b, 1)
		if err != nil {
			return batch.StepStats{}, nil, err
		}
		of := make([]batch.Pair, len(picked))
		for i, p := range picked {
			of[i] = reference[p]
		}
		for i, r := range b.Rows {
			side(of, r).Policy += trainedSum(r, policy[i])
		}
		loss, slopes := d.Preference.Of(of)
		column := make([][]float32, len(b.Rows))
		for i, r := range b.Rows {
			s := slopes[r.Group].Chosen
			if r.Episode%2 == 1 {
				s = slopes[r.Group].Rejected
			}
			column[i] = batch.Even(len(r.IDs), s)
		}
		b = b.With(batch.ColumnSlopes, column)
		b.Normaliser = 1 // slopes are of the whole step
		stats, err := trainer.Gradient(ctx, b, batch.Objective{Loss: batch.LossPreference})
		metrics := d.Preference.Metrics(of)
		metrics["loss"] = loss
		return stats, metrics, err
	}
	return d.SFT.run(ctx, len(pairs), l, publisher, log, progress)
}

// reference is what the reference thinks of all pairs. They are scored so many at a time as a step has, in their order, so a stage that goes on
// has the same numbers.
func (d DPO) reference(ctx context.Context, pairs []PreferencePair, trainer Trainer, progress Progress) ([]batch.Pair, error) {
	all := make([]batch.Pair, 0, len(pairs))
	for len(all) < len(pairs) {
		var picked []int
		for i := len(all); i < min(len(pairs), len(all)+max(1, d.SFT.BatchSize)); i++ {
			picked = append(picked, i)
		}
		b := RowsOf(pairs, picked)
		logprobs, err := trainer.ScoreReference(ctx, b, 1)
		if err != nil {
			return nil, err
		}
		of := make([]batch.Pair, len(picked))
		for i, r := range b.Rows {
			s := side(of, r)
			s.Reference += trainedSum(r, logprobs[i])
			s.Tokens += r.NumTrained()
		}
		all = append(all, of...)
		progress(d.SFT.Stage+"/reference", len(all), len(pairs), "")
	}
	return all, nil
}

// RowsOf are those of some pairs. Group says which of them a row is of, and Episode which side of it, the preferred one's even.
func RowsOf(pairs []PreferencePair, picked []int) batch.Batch {
	var rows []batch.Sequence
	for i, p := range picked {
		for k, side := range [][]batch.Sequence{pairs[p].Chosen, pairs[p].Rejected} {
			for _, r := range side {
				r.Group, r.Episode = i, 2*i+k
				rows = append(rows, r)
			}
		}
	}
	return batch.New(rows)
}

// side is that of a row.
func side(pairs []batch.Pair, r batch.Sequence) *batch.Side {
	if r.Episode%2 == 1 {
		return &pairs[r.Group].Rejected
	}
	return &pairs[r.Group].Chosen
}
