package recipe

import (
	"context"

	"hone/internal/learn/batch"
)

// Entropy rewards the policy for what it leaves open (a bonus in the loss), so that it goes on trying. Without it there
// is no bonus.
//
// With a target above 0 the coefficient adapts (Skywork-OR1, arXiv 2505.22312, section 4; TRL's use_adaptive_entropy).
// With H_k the mean entropy of the tokens of step k that have the bonus, in nats, and c_0 the coefficient that is
// given:
//
//	step k has the coefficient    c_k where H_{k-1} <= target, else 0; step 0 has 0
//	c_{k+1} = min(c_k + delta, 1)    where H_k <= target
//	          max(c_k - delta, 0)    else
//
// So a policy above its target is left alone, and one that stays below is pushed harder each step.
type Entropy struct {
	None
	Coefficient float64
	Target      float64 // nats a token; 0: the coefficient stays as it is
	Delta       float64

	stage       *stage
	chooses     bool    // the bonus is of tokens that TopEntropy chooses
	coefficient float64 // c_k
	below       bool    // H_{k-1} is at the target or below
}

// The metrics that say where the bonus stands.
const (
	entropyMetric     = "entropy"
	chosenMetric      = "entropy_chosen"
	coefficientMetric = "entropy_coef"
)

// Begin implements Addition.
func (e *Entropy) Begin(s *stage) error {
	e.stage, e.coefficient, e.below = s, e.Coefficient, false
	_, e.chooses = AdditionOf[*TopEntropy](s.Additions)
	return nil
}

// Resume implements Addition: the bonus is as the step before left it, by its metrics, which a run that goes on still
// has.
func (e *Entropy) Resume(context.Context) error {
	if e.Target == 0 || e.stage.start == 0 {
		return nil
	}
	rows, err := e.stage.log.Measurements(e.stage.Stage)
	if m, ok := rows[e.stage.start-1]; ok {
		e.coefficient, e.below = m[coefficientMetric], e.isBelow(m)
	}
	return err
}

// AddRows implements Addition. Tokens without an advantage have a gradient too.
func (e *Entropy) AddRows(_ context.Context, s *Step) error {
	s.Objective.Bonus, s.Alike = batch.Bonus{On: true, Coefficient: e.coefficient}, true
	if e.Target > 0 && !e.below {
		s.Objective.Bonus.Coefficient = 0
	}
	return nil
}

// Compare implements Addition.
func (e *Entropy) Compare(_ context.Context, s *Step) error {
	s.Rows = s.Rows.Exploring()
	return nil
}

// See implements Addition.
func (e *Entropy) See(s *Step) {
	if s.Stats.NumTrained > 0 {
		s.Metrics[entropyMetric] = s.Stats.Entropy
		if e.chooses {
			s.Metrics[chosenMetric] = s.Stats.EntropyChosen
		}
	}
	if !s.Taken {
		return
	}
	if _, ok := s.Metrics[entropyMetric]; ok && e.Target > 0 {
		e.below = e.isBelow(s.Metrics)
		if e.below {
			e.coefficient = min(e.coefficient+e.Delta, 1)
		} else {
			e.coefficient = max(e.coefficient-e.Delta, 0)
		}
	}
	s.Metrics[coefficientMetric] = e.coefficient
}

func (e *Entropy) isBelow(m map[string]float64) bool {
	h, ok := m[chosenMetric]
	if !ok {
		h, ok = m[entropyMetric]
	}
	return ok && h <= e.Target
}
