package recipe

import (
	"context"

	"hone/internal/learn/batch"
)

// Correction is of the difference between sampler and trainer; batch.Correction has the formulas. Ratios are against
// the trainer's own logprobs before the step's first update then. It costs a pass over the episodes.
type Correction struct {
	None
	batch.Correction
	stage *stage
}

// Begin implements Addition.
func (c *Correction) Begin(s *stage) error { c.stage = s; return nil }

// Compare implements Addition.
func (c *Correction) Compare(ctx context.Context, s *Step) error {
	old, err := c.stage.trainer.Score(ctx, s.Rows, c.stage.Temperature)
	if err != nil {
		return err
	}
	rows, weights, err := s.Rows.Correct(c.Correction, old)
	if err != nil {
		return err
	}
	s.Rows = rows
	for name, x := range map[string]float64{"min": weights.Min, "mean": weights.Mean, "max": weights.Max} {
		s.Metrics["sampling/importance_sampling_ratio/"+name] = x
	}
	s.Metrics["sampling/importance_sampling_masked"] = weights.Masked
	return nil
}
