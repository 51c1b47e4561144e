package recipe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"hone/internal/fault"
	"hone/internal/learn/batch"
)

// leftOutMetric counts the examples that a step was learnt without, as a number of theirs is not finite.
const leftOutMetric = "left_out"

// heldOutMetric counts the examples that the policy was measured without, as a number of theirs is not finite.
const heldOutMetric = "eval_left_out"

// stepSkippedMetric is skippedMetric of a stage over examples.
const stepSkippedMetric = "step_skipped"

// take takes the optimiser step on the examples of a step and returns what there is to tell of it. An example with a
// number that is not finite is left out, as if it had never been there, under the bounds of GRPO's leaveOut: 1 in 16 of
// the step's or one, and two steps in 32 that leave out others than those before did. Beyond them the step is refused
// with its place. A step of which no example is to blame, or none is left, is skipped.
func (p *passing) take(
	ctx context.Context, step int, l learner, u batch.Update, log Log,
) (stats batch.StepStats, more map[string]float64, err error) {
	picked := p.pick(step)
	for all := len(picked); ; {
		stats, more, err = l.gradient(ctx, step, picked)
		if err == nil {
			stats.GradNorm, err = l.trainer.Apply(u)
		}
		if err != nil && !errors.Is(err, batch.ErrNotFinite) {
			return stats, nil, err
		}
		if err == nil {
			more = withLoss(more, stats)
			if left := all - len(picked); left > 0 {
				more[leftOutMetric] = float64(left)
			}
			return stats, more, nil
		}
		var again bool
		if picked, again, err = p.leaveOut(ctx, step, picked, all, l, err, log); err != nil {
			return stats, nil, err
		}
		if !again {
			more = map[string]float64{stepSkippedMetric: 1}
			if left := all - len(picked); left > 0 {
				more[leftOutMetric] = float64(left)
			}
			return batch.StepStats{}, more, nil
		}
	}
}

// withLoss are metrics of a step that was taken, with its loss, unless they have one, and the norm of its gradient.
func withLoss(m map[string]float64, s batch.StepStats) map[string]float64 {
	all := map[string]float64{"loss": s.Loss, "grad_norm": s.GradNorm}
	maps.Copy(all, m)
	return all
}

// leaveOut takes those of the picked examples away of which a number is not finite, and says so of those that no step
// has left out before. all is how many the step had before any was left out. again tells that it can be tried without
// them. why is the error that was met.
func (p *passing) leaveOut(
	ctx context.Context, step int, picked []int, all int, l learner, why error, log Log,
) (kept []int, again bool, err error) {
	broken, err := l.broken(ctx, picked)
	if err != nil {
		return nil, false, err
	}
	fresh := slices.DeleteFunc(slices.Clone(broken), func(i int) bool { return slices.Contains(p.leftOut, i) })
	p.leftOut = append(p.leftOut, fresh...)
	refused := func(text string) error {
		return &fault.Error{Code: fault.CodeError, What: "too many " + l.one + "s are no numbers to the trainer",
			Where: fmt.Sprintf("%s step %d", p.s.Stage, step), Why: text + "; " + fault.Short(why.Error()),
			Next: fmt.Sprintf("the steps before are kept, and hone runs show names their checkpoint; train without "+
				"these %ss, with a lower %s.optimizer.learning_rate, or with engine.dtype: f32", l.one, p.s.Stage)}
	}
	kept = slices.DeleteFunc(slices.Clone(picked), func(i int) bool { return slices.Contains(broken, i) })
	switch left := all - len(kept); {
	case tooMany(left, all):
		return nil, false, refused(fmt.Sprintf("%d of %s: %s", left, fault.Count(all, l.one), l.names(broken)))
	case (len(fresh) > 0 || len(broken) == 0) && p.omissions.tooOften(step):
		text := fmt.Sprintf("it is the third step in %d that has to leave %ss out", farWindow, l.one)
		if len(fresh) > 0 {
			text += ": " + l.names(fresh)
		}
		return nil, false, refused(text)
	case len(broken) == 0:
		log.Notice(fmt.Sprintf("step %d is skipped and learns nothing, since no %s alone is to blame: %s",
			step, l.one, fault.Short(why.Error())))
		return kept, false, nil
	case len(fresh) > 0 && len(kept) == 0:
		log.Notice(fmt.Sprintf("step %d is skipped and learns nothing, since all of it, %s (%s), has logprobs that "+
			"are no numbers", step, fault.Count(len(broken), l.one), l.names(broken)))
	case len(fresh) > 0:
		log.Notice(fmt.Sprintf("step %d is learnt without %s (%s), whose logprobs are no numbers; what is left out is "+
			"counted as %s", step, fault.Count(len(fresh), l.one), l.names(fresh), leftOutMetric))
	}
	return kept, len(kept) > 0, nil
}

// names names up to three examples.
func (l learner) names(examples []int) string {
	return firstNames(examples, func(i int) string { return placeOr(l.place(i), l.one, i) })
}

// placeOr is an example's place in a file, or its number where none is known.
func placeOr(place, one string, i int) string { return cmp.Or(place, fmt.Sprintf("%s %d", one, i+1)) }

// measurable is an error where, of so many examples that the policy is measured on, too many are no numbers, or all.
// place tells an example's.
func (s SFT) measurable(left []int, all int, one string, place func(int) string) error {
	if !tooMany(len(left), all) && len(left) < all {
		return nil
	}
	return &fault.Error{Code: fault.CodeError, What: "the policy cannot be measured", Where: s.Stage,
		Why: fmt.Sprintf("the logprobs of %d of %s that are held out are no numbers: %s", len(left),
			fault.Count(all, one), firstNames(left, func(i int) string { return placeOr(place(i), one, i) })),
		Next: fmt.Sprintf("the steps before are kept, and hone runs show names their checkpoint; hold others out, or "+
			"train with a lower %s.optimizer.learning_rate, or with engine.dtype: f32", s.Stage)}
}
