package recipe

import (
	"context"
	"fmt"
	"slices"

	"hone/internal/learn/batch"
)

// DPO is direct preference optimisation (arXiv 2305.18290): each step raises how much more the policy prefers one of
// two completions of a prompt than the reference does, which is the policy that the stage began with. What the
// reference thinks of each pair is computed once, before the first step; what the policy does is computed before each,
// on the same rows (batch.Preference has the formulas).
type DPO struct {
	SFT        SFT // how it goes over the pairs; its Held is not read
	Preference batch.Preference

	// Held are pairs that are not learnt from, on which loss and margins are measured as if all were one step's; none:
	// nothing is.
	Held []PreferencePair
	// Examiner scores them: the trainer, with its time counted as another part's. Nil is the trainer as it is.
	Examiner Trainer
}

// PreferencePair is two completions of one prompt. A side has several rows where the chat template rewrites what came
// before.
type PreferencePair struct{ Chosen, Rejected []batch.Sequence }

// Run trains on pairs, resuming after the newest checkpoint of the stage, and leaves the adapter published; a nil
// publisher says that nobody samples.
func (d DPO) Run(
	ctx context.Context, pairs []PreferencePair, trainer Trainer, publisher Publisher, log Log, progress Progress,
) error {
	var reference, held []batch.Pair
	l := learner{trainer: trainer}
	l.begin = func(ctx context.Context, fresh bool) (err error) {
		if fresh {
			err = trainer.HoldReference()
		}
		if err == nil {
			reference, err = d.reference(ctx, pairs, trainer, progress)
		}
		if err == nil {
			held, err = d.reference(ctx, d.Held, trainer, progress)
		}
		return err
	}
	if len(d.Held) > 0 {
		l.measure = func(ctx context.Context) (map[string]float64, error) { return d.examine(ctx, held, trainer) }
	}
	// compared are some pairs as policy and reference think of them.
	compared := func(ctx context.Context, b batch.Batch, picked []int) ([]batch.Pair, error) {
		policy, err := scoresOf(ctx, trainer.Score, b, 1)
		if err != nil {
			return nil, err
		}
		of := make([]batch.Pair, len(picked))
		for i, p := range picked {
			of[i] = reference[p]
		}
		for i, r := range b.Rows {
			side(of, r).Policy += sumTrainedTokens(r, policy[i])
		}
		return of, nil
	}
	l.broken = func(ctx context.Context, picked []int) (broken []int, err error) {
		of, err := compared(ctx, RowsOf(pairs, picked), picked)
		for i, p := range of {
			if unnumbered(p) {
				broken = append(broken, picked[i])
			}
		}
		return broken, err
	}
	l.one, l.place = "pair", func(i int) string { return pairs[i].place() }
	l.gradient = func(ctx context.Context, _ int, picked []int) (batch.StepStats, map[string]float64, error) {
		b := RowsOf(pairs, picked)
		of, err := compared(ctx, b, picked)
		if err != nil {
			return batch.StepStats{}, nil, err
		}
		if slices.ContainsFunc(of, unnumbered) {
			return batch.StepStats{}, nil, fmt.Errorf("a logprob of a pair is no number: %w", batch.ErrNotFinite)
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

// reference is what the reference thinks of all pairs.
func (d DPO) reference(
	ctx context.Context, pairs []PreferencePair, trainer Trainer, progress Progress,
) ([]batch.Pair, error) {
	all := make([]batch.Pair, len(pairs))
	err := d.each(pairs, func(first, end int, b batch.Batch) error {
		logprobs, err := scoresOf(ctx, trainer.ScoreReference, b, 1)
		if err != nil {
			return err
		}
		for i, r := range b.Rows {
			s := side(all[first:], r)
			s.Reference += sumTrainedTokens(r, logprobs[i])
			s.Tokens += r.NumTrained()
		}
		progress(d.SFT.Stage+"/reference", end, len(pairs), "")
		return nil
	})
	return all, err
}

// examine measures the policy on the pairs that are held out, of which the reference's numbers are given, under the
// names of TRL's evaluations.
func (d DPO) examine(ctx context.Context, reference []batch.Pair, trainer Trainer) (map[string]float64, error) {
	if d.Examiner != nil {
		trainer = d.Examiner
	}
	held := slices.Clone(reference)
	err := d.each(d.Held, func(first, _ int, b batch.Batch) error {
		logprobs, err := scoresOf(ctx, trainer.Score, b, 1)
		if err != nil {
			return err
		}
		for i, r := range b.Rows {
			side(held[first:], r).Policy += sumTrainedTokens(r, logprobs[i])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var of []batch.Pair
	var left []int
	for i, p := range held {
		if unnumbered(p) {
			left = append(left, i)
		} else {
			of = append(of, p)
		}
	}
	loss, _ := d.Preference.Of(of)
	metrics := map[string]float64{"eval_loss": loss}
	if len(left) > 0 {
		metrics[heldOutMetric] = float64(len(left))
	}
	for name, x := range d.Preference.Metrics(of) {
		metrics["eval_"+name] = x
	}
	return metrics, d.SFT.measurable(left, len(held), "pair", func(i int) string { return d.Held[i].place() })
}

// unnumbered reports whether a pair has a logprob that is no number.
func unnumbered(p batch.Pair) bool {
	return !isNumber(p.Chosen.Policy + p.Rejected.Policy + p.Chosen.Reference + p.Rejected.Reference)
}

// place is that of the pair in its file.
func (p PreferencePair) place() string {
	if len(p.Chosen) == 0 {
		return ""
	}
	return p.Chosen[0].Place
}

// each gives the rows of pairs, so many pairs at a time as a step has and in their order, so that a stage that goes on
// has the same numbers.
func (d DPO) each(pairs []PreferencePair, do func(first, end int, b batch.Batch) error) error {
	all := make([]int, len(pairs))
	for i := range all {
		all[i] = i
	}
	for picked := range slices.Chunk(all, max(1, d.SFT.BatchSize)) {
		if err := do(picked[0], picked[len(picked)-1]+1, RowsOf(pairs, picked)); err != nil {
			return err
		}
	}
	return nil
}

// RowsOf are those of some pairs. Group says which of them a row is of, and Episode which side of it, the preferred
// one's even.
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
