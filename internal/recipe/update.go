package recipe

import (
	"context"
	"errors"

	"hone/internal/learn/batch"
)

// Updates are the optimiser steps on the episodes of a step. Iterations are passes over one batch (TRL's
// num_iterations, the mu of the paper), and Minibatches are the optimiser steps of a pass, each on its share of the
// groups (PPO's minibatches). The sampler logprob in rho stays that of the policy which sampled, so from the second
// optimiser step on rho says how far the policy has moved, and the clip bounds it. The mismatch is that of the first.
// All of them are taken at one learning rate, or none: where one cannot be, the trainer is put back to where the step
// began.
type Updates struct {
	Optimizer   Optimizer
	Iterations  int // passes over the episodes of one step; 0 is 1
	Minibatches int // optimiser steps of a pass; 0 is 1
}

// update takes the optimiser steps on a step's rows, unless these teach nothing or Step.Refused says why the first must
// not be taken. Where it fails, the trainer is where the step began, or the error is unsaved.
func (s *stage) update(ctx context.Context, step *Step) error {
	if step.Refused = s.watch.look(step.Number, step.Sampled, s.measure(step)); step.Refused != nil {
		return nil
	}
	s.overlap.ahead(ctx, step.Number)
	for {
		err := s.learn(ctx, step)
		if !errors.Is(err, batch.ErrNotFinite) {
			return err
		}
		if again, err := s.leaveOut(ctx, step, err); err != nil || !again {
			return err
		}
	}
}

// learn takes the optimiser steps. Where one cannot be taken because a number is not finite, the trainer is where the
// step began.
func (s *stage) learn(ctx context.Context, step *Step) error {
	if step.Rows.NumTrained() > 0 {
		if err := s.compare(ctx, step); err != nil {
			return err
		}
	}
	if step.Rows.NumTrained() == 0 { // the groups are all alike
		step.Taken = true
		return nil
	}
	parts, passes := step.Rows.Split(s.Minibatches), max(1, s.Iterations)
	restore, err := func() error { return nil }, error(nil)
	if passes*len(parts) > 1 {
		if restore, err = s.trainer.Snapshot(); err != nil {
			return err
		}
	}
	s.trainer.Prepare(parts, step.Objective)
	first, told, err := s.guardGradient(ctx, &parts, step)
	if err != nil {
		return err
	}
	if step.Stats = first; step.Refused != nil {
		return nil
	}
	each := make([]batch.StepStats, 0, passes*len(parts))
	for i := range passes * len(parts) {
		x, err := first, error(nil)
		if i > 0 {
			x, err = s.trainer.Gradient(ctx, parts[i%len(parts)], step.Objective)
		}
		if err == nil {
			x.GradNorm, err = s.trainer.Apply(step.Update)
		}
		if err != nil {
			if failed := restore(); failed != nil {
				return unsaved{errors.Join(err, failed)}
			}
			return err
		}
		each = append(each, x)
	}
	if told != "" {
		s.log.Notice(told)
	}
	step.Stats, step.Taken = ofIterations(each), true
	return nil
}

// ofIterations are the statistics of optimiser steps on one batch: what was computed is added up, loss, gradient's norm
// and entropy are means, how far trainer and sampler are apart is the first's, as the policy has not moved yet, and the
// share of clipped ratios and the divergence are the last's.
func ofIterations(each []batch.StepStats) batch.StepStats {
	s, n := each[0], float64(len(each))
	s.EntropyChosen *= float64(s.NumChosen)
	for _, x := range each[1:] {
		s.Loss, s.GradNorm, s.Entropy = s.Loss+x.Loss, s.GradNorm+x.GradNorm, s.Entropy+x.Entropy
		s.EntropyChosen, s.NumChosen = s.EntropyChosen+x.EntropyChosen*float64(x.NumChosen), s.NumChosen+x.NumChosen
		s.NumTokens, s.NumPadded = s.NumTokens+x.NumTokens, s.NumPadded+x.NumPadded
	}
	s.EntropyChosen /= float64(max(1, s.NumChosen)) // parts choose more tokens or fewer
	last := each[len(each)-1]
	s.Loss, s.GradNorm, s.Entropy, s.Clipped, s.KL = s.Loss/n, s.GradNorm/n, s.Entropy/n, last.Clipped, last.KL
	return s
}
