package recipe

import "hone/internal/learn/batch"

// Entropy rewards the policy for what it leaves open (a bonus in the loss), so that it goes on trying. The zero value does not.
//
// With a target above 0 the coefficient adapts (Skywork-OR1, arXiv 2505.22312, section 4; TRL's use_adaptive_entropy). With H_k the mean entropy
// of the tokens of step k that have the bonus, in nats, and c_0 the coefficient that is given:
//
//	step k has the coefficient    c_k where H_{k-1} <= target, else 0; step 0 has 0
//	c_{k+1} = min(c_k + delta, 1)    where H_k <= target
//	          max(c_k - delta, 0)    else
//
// So a policy above its target is left alone, and one that stays below is pushed harder each step.
type Entropy struct {
	Coefficient float64
	Target      float64 // nats a token; 0: the coefficient stays as it is
	Delta       float64
}

// On reports whether there is a bonus.
func (e Entropy) On() bool { return e.Coefficient > 0 || e.Target > 0 }

// exploring is the bonus over the steps of a stage.
type exploring struct {
	Entropy
	coefficient float64 // c_k
	below       bool    // H_{k-1} is at the target or below
}

// The metrics that say where the bonus stands.
const (
	entropyMetric     = "entropy"
	chosenMetric      = "entropy_chosen"
	coefficientMetric = "entropy_coef"
)

// exploring is where the bonus stands before a step: as the step before left it, by its metrics, which a run that goes on still has.
func (e Entropy) exploring(stage string, step int, log Log) (exploring, error) {
	x := exploring{Entropy: e, coefficient: e.Coefficient}
	if e.Target == 0 || step == 0 {
		return x, nil
	}
	rows, err := log.Measured(stage)
	if m, ok := rows[step-1]; ok {
		x.coefficient = m[coefficientMetric]
		x.below = x.isBelow(m)
	}
	return x, err
}

// bonus is that of the step's loss.
func (x exploring) bonus() batch.Bonus {
	b := batch.Bonus{On: x.On(), Coefficient: x.coefficient}
	if x.Target > 0 && !x.below {
		b.Coefficient = 0
	}
	return b
}

// took notes the entropy of a step, and adds to its metrics where the bonus stands behind it.
func (x *exploring) took(metrics map[string]float64) {
	if !x.On() {
		return
	}
	if _, ok := metrics[entropyMetric]; ok && x.Target > 0 {
		x.below = x.isBelow(metrics)
		if x.below {
			x.coefficient = min(x.coefficient+x.Delta, 1)
		} else {
			x.coefficient = max(x.coefficient-x.Delta, 0)
		}
	}
	metrics[coefficientMetric] = x.coefficient
}

func (x exploring) isBelow(m map[string]float64) bool {
	h, ok := m[chosenMetric]
	if !ok {
		h, ok = m[entropyMetric]
	}
	return ok && h <= x.Target
}
