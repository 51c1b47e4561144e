package recipe

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// What an alarm of parting needs to see, for a reward that rises while held-out success falls (Goodhart's law; Gao et
// al., arXiv:2210.10760, figure 1, is how it looks).
const (
	leastSteps = 5   // of training before each of the two validations that are compared
	sureness   = 3   // standard errors: 0.1% of what is compared is so far apart by chance, and many steps are
	widest     = 0.2 // how much more training may pass than held-out scenarios do,
	leastHeld  = 20  // of which there have to be so many: of fewer that pass as often, one in a hundred would look so
)

// standing is how things are at a validation.
type standing struct {
	step    int
	success float64   // share of the held-out scenarios that pass
	n       float64   // of so many
	rewards []float64 // means of the training steps just before
	passed  []float64 // shares of these steps' episodes that pass, where known
	seen    string    // which of the held-out scenarios pass, as Validation.seen; "" where it is not known
}

// fell reports whether success fell from one validation to a later one by more than chance does. The scenarios are the
// same, so those that pass in one of the two alone are compared (McNemar 1947): of d scenarios that changed, chance has
// as many lost as gained, give or take the root of d. Where it is not known which passed, success is compared as of two
// samples.
func fell(was, is standing) bool {
	if len(was.seen) == len(is.seen) && was.seen != "" {
		lost, gained := 0., 0.
		for i := range was.seen {
			switch {
			case was.seen[i] == didPass && is.seen[i] == didFail:
				lost++
			case was.seen[i] == didFail && is.seen[i] == didPass:
				gained++
			}
		}
		return lost-gained > sureness*math.Sqrt(lost+gained)
	}
	p := (was.success*was.n + is.success*is.n) / (was.n + is.n)
	return was.success-is.success > sureness*math.Sqrt(p*(1-p)*(1/was.n+1/is.n))
}

// parts reports whether from one validation to a later one the reward of training rose while success fell, each by more
// than chance does.
func parts(was, is standing) bool {
	if was.n == 0 || is.n == 0 || len(was.rewards) < leastSteps || len(is.rewards) < leastSteps {
		return false
	}
	before, varBefore := moments(was.rewards)
	now, varNow := moments(is.rewards)
	return fell(was, is) && now > before &&
		now-before > sureness*math.Sqrt(varBefore/float64(len(was.rewards))+varNow/float64(len(is.rewards)))
}

// narrow reports whether so many more episodes of training pass than of held-out scenarios that what is learnt does not
// carry over. The error is what the share of held-out scenarios would have, were it training's.
func narrow(is standing) bool {
	if is.n < leastHeld || len(is.passed) < leastSteps {
		return false
	}
	trained, variance := moments(is.passed)
	gap := trained - is.success
	return gap > widest && gap > sureness*math.Sqrt(trained*(1-trained)/is.n+variance/float64(len(is.passed)))
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

// compare tells the user, each once, what training and held-out scenarios say that does not go together. It reads what
// was recorded, so a run that goes on compares with the steps before it too.
func (w *watch) compare(v *Validation, steps int, log Log) error {
	if w.said[partingName] && w.said[narrowName] || !v.due(steps, steps) {
		return nil
	}
	held, err := log.Measurements(ValidationStage)
	if err != nil {
		return err
	}
	trained, err := log.Measurements(w.stage)
	if err != nil {
		return err
	}
	var before []standing
	for _, s := range slices.Sorted(maps.Keys(held)) {
		if s < steps {
			before = append(before, v.standing(s, held, trained))
		}
	}
	is := v.standing(steps, held, trained)
	w.parting(before, is)
	w.narrow(before, is)
	return nil
}

// narrow tells that what is learnt does not carry over to held-out scenarios.
func (w *watch) narrow(before []standing, is standing) {
	if w.said[narrowName] || !narrow(is) {
		return
	}
	w.said[narrowName] = true
	if slices.ContainsFunc(before, narrow) {
		return // a process before this one has said it
	}
	trained, _ := moments(is.passed)
	w.notice(
		fmt.Sprintf("overfitting: before step %d the train pass rate is %.0f%%, the held-out one %.0f%%; "+
			"where the two are alike in kind, training has too few wordings or kinds of task: add some (hone synth), "+
			"and begin anew",
			is.step, 100*trained, 100*is.success),
	)
}

// parting tells that the reward of training and the success on held-out scenarios part: what earns the reward is no
// longer what was meant.
func (w *watch) parting(before []standing, is standing) {
	if w.said[partingName] {
		return
	}
	best := bestOf(before)
	if !parts(best, is) {
		return
	}
	w.said[partingName] = true
	for i, was := range before {
		if parts(bestOf(before[:i]), was) {
			return // a process before this one has said it
		}
	}
	rose, _ := moments(best.rewards)
	now, _ := moments(is.rewards)
	w.notice(
		fmt.Sprintf("possible reward hacking: from step %d to %d the mean reward of training rose from %.2f to %.2f, "+
			"while success on held-out scenarios fell from %.0f%% to %.0f%%; something earns reward that solves no "+
			"task: read the episodes that earn most (hone runs report), then lower or take out the term that pays "+
			"them; the adapter of step %d was the best",
			best.step, is.step, rose, now, 100*best.success, 100*is.success, best.step),
	)
}

// bestOf is the best of validations that can be compared, the first of several.
func bestOf(list []standing) (best standing) {
	for _, was := range list {
		if was.n > 0 && len(was.rewards) >= leastSteps && (best.n == 0 || was.success > best.success) {
			best = was
		}
	}
	return best
}

// What was said, of what is said once.
const (
	partingName = "parting"
	narrowName  = "narrow"
)

// standing is what was measured of a validation after so many steps, and of as many training steps before it as there
// are between two.
func (v *Validation) standing(steps int, held, trained map[int]map[string]float64) standing {
	m, ok := held[steps]
	if !ok {
		return standing{}
	}
	s := standing{step: steps, success: m["success"], n: float64(len(v.Scenarios)) * (1 - m["masked_ratio"]),
		seen: v.seen[steps]}
	for step := max(0, steps-max(v.Every, leastSteps)); step < steps; step++ {
		if row, ok := trained[step]; ok {
			s.rewards = append(s.rewards, row["reward"])
			if passed, ok := row["success"]; ok {
				s.passed = append(s.passed, passed)
			}
		}
	}
	return s
}
