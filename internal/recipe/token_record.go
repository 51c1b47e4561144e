package recipe

import (
	"context"
	"math"

	"hone/internal/learn/batch"
)

// TokenRecord keeps, of each Every-th step from the first, what training has of each token that it learns from, so that
// a person can look at it. Such a step takes two forward passes over the episodes more. It acts behind the other
// additions, so that what they change is in it.
type TokenRecord struct {
	None
	Every int
	// Keep takes the rows of a step's episodes, by the episodes' names; nil: nothing is kept. A record that cannot be
	// kept is told, and stops nothing.
	Keep  func(step int, rows map[string][]RecordedRow) error
	stage *stage
}

// RecordedRow is one training row. Its lists have a number for each token that is learnt from, in their order; null is
// one that is not finite.
type RecordedRow struct {
	Length    int        `json:"length"` // of the row, in tokens
	At        []int      `json:"at"`     // where in the row
	Advantage []*float32 `json:"advantage"`
	Weight    []*float32 `json:"weight"`
	Sampler   []*float32 `json:"sampler"` // logprob, natural log at the sampling temperature
	Trainer   []*float32 `json:"trainer"` // the same before the step's first update
	Entropy   []*float32 `json:"entropy"` // nats over the vocabulary, before it too
}

// Begin implements Addition.
func (r *TokenRecord) Begin(s *stage) error { r.stage = s; return nil }

// Compare implements Addition.
func (r *TokenRecord) Compare(ctx context.Context, s *Step) error {
	if r.Keep == nil || s.Number%r.Every != 0 {
		return nil
	}
	scores, err := r.stage.trainer.Score(ctx, s.Rows, r.stage.Temperature)
	if err != nil {
		return err
	}
	entropies, err := r.stage.trainer.Entropies(ctx, s.Rows, r.stage.Temperature)
	if err != nil {
		return err
	}
	episodes := 0
	for _, g := range s.Groups {
		episodes += len(g.Trajectories)
	}
	rows := map[string][]RecordedRow{}
	for i, row := range s.Rows.Rows {
		if row.Episode < episodes { // others are of earlier steps, or demonstrations
			name := episodeID(s.Groups, row.Episode)
			rows[name] = append(rows[name], recordedRow(len(s.Rows.Prefix), row, scores[i], entropies[i]))
		}
	}
	if err := r.Keep(s.Number, rows); err != nil {
		r.stage.log.Notice("the tokens of a step are not kept for those who look at the run: " + err.Error())
	}
	return nil
}

func recordedRow(prefix int, row batch.Sequence, scores, entropies []float32) RecordedRow {
	out := RecordedRow{Length: prefix + len(row.IDs)}
	for i, trained := range row.Trained {
		if !trained {
			continue
		}
		weight := float32(1)
		if row.Weights != nil {
			weight = row.Weights[i]
		}
		out.At = append(out.At, prefix+i)
		out.Advantage, out.Weight = append(out.Advantage, finite(row.Advantages[i])), append(out.Weight, finite(weight))
		out.Sampler, out.Trainer =
			append(out.Sampler, finite(row.SamplerLogprobs[i])), append(out.Trainer, finite(scores[i]))
		out.Entropy = append(out.Entropy, finite(entropies[i]))
	}
	return out
}

// finite is nil of what JSON has no number for.
func finite(x float32) *float32 {
	if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
		return nil
	}
	return &x
}
