package recipe

import "context"

// What stands in this file has no run in docs/LEARNING.md that it made better or worse. It is here because TRL has it:
// testdata/reference/trl.json holds its formulas to TRL's. So it is with the bound batch.Clip.Dual, and with the
// advantages leave_one_out and per_term.

// TopEntropy lets the policy learn at a share of a step's tokens alone, those of the highest entropy;
// batch.Batch.TopEntropy has the formula. It costs a pass over the episodes.
type TopEntropy struct {
	None
	Share float64 // above 0, below 1
	stage *stage
}

// Begin implements Addition.
func (t *TopEntropy) Begin(s *stage) error { t.stage = s; return nil }

// AddRows implements Addition. The share is of the tokens of all groups.
func (t *TopEntropy) AddRows(_ context.Context, s *Step) error { s.Alike = true; return nil }

// Compare implements Addition.
func (t *TopEntropy) Compare(ctx context.Context, s *Step) error {
	entropies, err := t.stage.trainer.Entropies(ctx, s.Rows, t.stage.Temperature)
	if err != nil {
		return err
	}
	if s.Rows, err = s.Rows.TopEntropy(entropies, t.Share); err != nil {
		return err
	}
	if s.Objective.KL.Beta == 0 && !s.Objective.Bonus.On { // else all tokens have a gradient
		s.Rows = s.Rows.WithAdvantage()
	}
	return nil
}

// OffPolicy masks rows that the policy has left already; objective.offPolicy has the formula.
type OffPolicy struct {
	None
	Bound float64 // of the mean log(sampler's / trainer's probability), above 0
}

// AddRows implements Addition.
func (o *OffPolicy) AddRows(_ context.Context, s *Step) error {
	s.Objective.OffPolicy = o.Bound
	return nil
}
