package recipe

import (
	"context"
	"slices"

	"hone/internal/learn/batch"
)

// SFT is supervised fine-tuning on demonstrations: each step lowers the mean negative log-likelihood of the assistant's
// tokens over one batch, at temperature 1 whatever rollouts are sampled at. Batches are of random conversations
// (Together), not of rows of like length, which are often of one kind; within a step the trainer sorts rows to save
// padding, which changes nothing.
type SFT struct {
	Stage           string // name in the run directory: "sft"
	Epochs          int
	BatchSize       int
	Optimizer       Optimizer
	Steps           int // instead of Epochs: as many passes over the rows as they take; 0: Epochs
	CheckpointEvery int // steps; 0: at the end only
	Seed            uint64

	// Together is for each example what it is a part of: examples of one conversation are neighbours in each pass, so
	// that a step computes once what they begin with. Nil: each is its own.
	Together []int

	Held      []batch.Sequence // rows that are not learnt from, and on which the loss is measured; none: it is not
	EvalEvery int              // steps between two measurements; 0: an epoch. There is one at the end too
	Patience  int              // so many measurements in a row without a new least loss end the stage; 0: none do
}

// Run trains on rows, resuming after the newest checkpoint of the stage, and leaves the adapter published; a nil
// publisher says that nobody samples.
func (s SFT) Run(
	ctx context.Context, rows []batch.Sequence, trainer Trainer, publisher Publisher, log Log, progress Progress,
) error {
	return s.run(ctx, len(rows), s.learner(rows, trainer), publisher, log, progress)
}

// learner takes the stage's steps on rows.
func (s SFT) learner(rows []batch.Sequence, trainer Trainer) learner {
	of := func(picked []int) batch.Batch {
		var of []batch.Sequence
		for _, i := range picked {
			of = append(of, rows[i])
		}
		return numbered(of)
	}
	l := learner{
		trainer: trainer,
		gradient: func(ctx context.Context, _ int, picked []int) (batch.StepStats, map[string]float64, error) {
			stats, err := trainer.Gradient(ctx, of(picked), batch.Objective{})
			return stats, nil, err
		},
		prepare: func(steps [][]int) {
			var batches []batch.Batch
			for _, picked := range steps {
				batches = append(batches, of(picked))
			}
			trainer.Prepare(batches, batch.Objective{})
		},
		broken: func(ctx context.Context, picked []int) (broken []int, err error) {
			b := of(picked)
			scores, err := scoresOf(ctx, trainer.Score, b, 1)
			if err != nil {
				return nil, err
			}
			numbers, _ := brokenEpisodes(b, scores)
			for _, n := range numbers {
				broken = append(broken, picked[n])
			}
			return broken, nil
		},
		one:   "row",
		place: func(i int) string { return rows[i].Place },
	}
	if len(s.Held) > 0 {
		l.measure = func(ctx context.Context) (map[string]float64, error) { return s.likelihood(ctx, trainer) }
	}
	return l
}

// numbered is a batch of rows whose Episode is their number among them.
func numbered(rows []batch.Sequence) batch.Batch {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].Episode = i
	}
	return batch.New(rows)
}

// likelihood measures the mean negative log-likelihood of the trained tokens of all rows that are held, each token
// alike, under TRL's name. So many rows are scored at once as a step has: what is held of them all is two numbers,
// however many there are.
func (s SFT) likelihood(ctx context.Context, trainer Trainer) (map[string]float64, error) {
	loss, tokens, seen := 0.0, 0, 0
	var left []int
	for rows := range slices.Chunk(s.Held, s.BatchSize) {
		b := numbered(rows)
		logprobs, err := scoresOf(ctx, trainer.Score, b, 1)
		if err != nil {
			return nil, err
		}
		for i, r := range b.Rows {
			sum := sumTrainedTokens(r, logprobs[i])
			if !isNumber(sum) {
				left = append(left, seen+r.Episode)
				continue
			}
			loss, tokens = loss-sum, tokens+r.NumTrained()
		}
		seen += len(rows)
	}
	m := map[string]float64{"eval_loss": loss / float64(max(1, tokens))}
	if len(left) > 0 {
		m[heldOutMetric] = float64(len(left))
	}
	return m, s.measurable(left, len(s.Held), "row", func(i int) string { return s.Held[i].Place })
}

// sumTrainedTokens adds up a row's numbers at its trained tokens.
func sumTrainedTokens(r batch.Sequence, x []float32) (sum float64) {
	for i, trained := range r.Trained {
		if trained {
			sum += float64(x[i])
		}
	}
	return sum
}
