package recipe

import (
	"context"
	"slices"

	"hone/internal/learn/batch"
)

// Divergence is that from the policy which the stage began with, added to the loss; objective.divergence has its
// formulas. It costs a pass over the episodes.
type Divergence struct {
	None
	batch.KL
	stage *stage
}

// Begin implements Addition.
func (d *Divergence) Begin(s *stage) error { d.stage = s; return nil }

// Resume implements Addition: the policy as it is now is kept, in checkpoints too.
func (d *Divergence) Resume(context.Context) error {
	if d.stage.start > 0 {
		return nil
	}
	return d.stage.trainer.HoldReference()
}

// AddRows implements Addition. Tokens without an advantage have a gradient too.
func (d *Divergence) AddRows(_ context.Context, s *Step) error {
	s.Objective.KL, s.Alike = d.KL, true
	return nil
}

// Compare implements Addition.
func (d *Divergence) Compare(ctx context.Context, s *Step) error {
	reference, err := d.stage.trainer.ScoreReference(ctx, s.Rows, d.stage.Temperature)
	if err != nil {
		return err
	}
	for i, row := range s.Rows.Rows {
		if row.Scored { // no sample of the policy, which its divergence is a mean over
			reference[i] = slices.Repeat([]float32{batch.NoReference}, len(row.IDs))
		}
	}
	s.Rows = s.Rows.With(batch.ColumnReferenceLogprobs, reference)
	return nil
}

// See implements Addition.
func (*Divergence) See(s *Step) { s.Metrics["kl"] = s.Stats.KL }
