package recipe

import (
	"context"

	"hone/internal/learn/batch"
)

// Loss is that of the policy's tokens; package learn/objective has the formulas.
type Loss struct {
	Name   batch.Loss
	Clip   batch.Clip
	Length int // tokens that a loss with a constant normaliser divides by for each episode
}

// objective is the loss of a step's tokens, before additions change it.
func (l Loss) objective(temperature float64) batch.Objective {
	return batch.Objective{Loss: l.Name, Clip: l.Clip, Temperature: temperature}
}

// compare gives a step's rows what the policy is compared with, as it is before the step's first update.
//
// GSPO's ratios are against the trainer's own old logprobs, without a Correction too: its usual bounds (3e-4) are as
// small as what sampler and trainer round apart, so rows would be clipped before the policy has moved.
func (s *stage) compare(ctx context.Context, step *Step) error {
	if _, corrected := AdditionOf[*Correction](s.Additions); s.Loss.Name == batch.LossGSPO && !corrected {
		old, err := s.trainer.Score(ctx, step.Rows, s.Temperature)
		if err != nil {
			return err
		}
		step.Rows = step.Rows.With(batch.ColumnOldLogprobs, old)
	}
	for _, a := range s.Additions {
		if err := a.Compare(ctx, step); err != nil {
			return err
		}
	}
	return nil
}
