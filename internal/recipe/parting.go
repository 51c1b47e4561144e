package recipe

import (
	"fmt"
	"math"
)

// What an alarm of parting needs to see, for a reward that rises while held-out success falls (Goodhart's law; Gao et al.,
// arXiv:2210.10760, figure 1, is how it looks).
const (
	leastSteps = 5 // of training before each of the two validations that are compared
	sureness   = 3 // standard errors: 0.1% of what is compared is so far apart by chance, and many steps are
)

// standing is how things are at a validation.
type standing struct {
	step    int
	success float64   // share of the held-out scenarios that pass
	n       float64   // of so many
	rewards []float64 // means of the training steps just before
}

// parts reports whether from one validation to a later one the reward of training rose while success fell, each by more
// than chance does. Success is compared as of two samples, which is cautious: the scenarios are the same.
func parts(was, is standing) bool {
	if was.n == 0 || is.n == 0 || len(was.rewards) < leastSteps || len(is.rewards) < leastSteps {
		return false
	}
	p := (was.success*was.n + is.success*is.n) / (was.n + is.n)
	fell := was.success - is.success
	before, varBefore := moments(was.rewards)
	now, varNow := moments(is.rewards)
	return fell > sureness*math.Sqrt(p*(1-p)*(1/was.n+1/is.n)) &&
		now > before && now-before > sureness*math.Sqrt(varBefore/float64(len(was.rewards))+varNow/float64(len(is.rewards)))
}

// moments are the mean and the variance of values.
func moments(values []float64) (mean, variance float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		variance += (v - mean) * (v - mean) / float64(max(1, len(values)-1))
	}
	return mean, variance
}

// parting tells the user, once, that the reward of training and the success on held-out scenarios part: what earns the reward is
// no longer what was meant. It reads what was recorded, so a run that
// goes on compares with the steps before it too.
func (w *watch) parting(v *Validation, steps int, log Log) error {
	if w.said[partingName] || !v.due(steps, steps) {
		return nil
	}
	held, err := log.Measured(ValidationStage)
	if err != nil {
		return err
	}
	trained, err := log.Measured(w.stage)
	if err != nil {
		return err
	}
	is := v.standing(steps, held, trained)
	var best standing
	for s := v.Every; s < steps; s += v.Every {
		if was := v.standing(s, held, trained); was.n > 0 && len(was.rewards) >= leastSteps && (best.n == 0 || was.success > best.success) {
			best = was
		}
	}
	if !parts(best, is) {
		return nil
	}
	w.said[partingName] = true
	before, _ := moments(best.rewards)
	now, _ := moments(is.rewards)
	w.notice(fmt.Sprintf("the reward and the goal part: from step %d to %d the mean reward of training rose from %.2f to %.2f, while success on held-out scenarios "+
		"fell from %.0f%% to %.0f%%; something earns reward that solves no task: read the episodes that earn most (hone runs report), then lower or take out the term that "+
		"pays them; the adapter of step %d was the best", best.step, steps, before, now, 100*best.success, 100*is.success, best.step))
	return nil
}

const partingName = "parting"

// standing is what was measured of a validation after so many steps, and of as many training steps before it as there are between two.
func (v *Validation) standing(steps int, held, trained map[int]map[string]float64) standing {
	m, ok := held[steps]
	if !ok {
		return standing{}
	}
	s := standing{step: steps, success: m["success"], n: float64(len(v.Scenarios)) * (1 - m["masked_ratio"])}
	for step := max(0, steps-max(v.Every, leastSteps)); step < steps; step++ {
		if row, ok := trained[step]; ok {
			s.rewards = append(s.rewards, row["reward"])
		}
	}
	return s
}
