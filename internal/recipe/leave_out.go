package recipe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/learn/batch"
)

// skippedMetric is 1 of a step that learnt nothing because a number was not finite and no row was to blame.
const skippedMetric = "sampling/step_skipped"

// unlike is the error of a step whose mismatch is not finite.
type unlike struct{ why string }

func (u unlike) Error() string { return u.why }

// Unwrap says what kind of error it is.
func (unlike) Unwrap() error { return batch.ErrNotFinite }

// leaveOut takes those episodes and rows out of a step of which some number is not finite, as if they had never been
// there: they leave their groups' statistics too. again tells that the step can be tried without them. Where there are
// more than 1 in 16, or one, or the third such step in 32, Step.Refused says so, with the place; where no row is to
// blame, the step is skipped. why is the error that was met.
func (s *stage) leaveOut(ctx context.Context, step *Step, why error) (again bool, err error) {
	scores, err := scoresOf(ctx, s.trainer.Score, step.Rows, s.Temperature)
	if err != nil {
		return false, err
	}
	broken, all := brokenEpisodes(step.Rows, scores)
	names := episodeIDs(step.Groups, broken)
	refuse := func(text string) {
		step.Refused = &fault.Error{Code: fault.CodeError, What: "too many rows are no numbers to the trainer",
			Where: fmt.Sprintf("%s step %d", s.Stage, step.Number), Why: text + "; " + fault.Short(why.Error()),
			Next: "the steps before are kept, and hone runs show names their checkpoint; go on from there with a " +
				"lower grpo.optimizer.learning_rate, or engine.dtype: f32"}
	}
	apart, isApart := errors.AsType[unlike](why)
	switch {
	case isApart && len(broken) == 0: // it is no row's doing that the sampler's policy is another
		step.Refused = s.mismatch(step.Number, apart.why)
	case s.watch.omissions.tooOften(step.Number):
		refuse(fmt.Sprintf("it is the third step in %d that has to leave rows out", farWindow))
	case len(broken) == 0:
		step.Taken, step.Metrics[skippedMetric] = true, 1
		s.log.Notice(fmt.Sprintf("step %d is skipped and learns nothing, since no row alone is to blame: %s",
			step.Number, fault.Short(why.Error())))
	case tooMany(len(broken), all):
		refuse(fmt.Sprintf("%d of %s: %s", len(broken), fault.Count(all, "episode"), names))
	default:
		step.mask(broken)
		step.Rows = s.rows(step)
		step.Metrics[farMetric] += float64(len(broken))
		s.log.Notice(fmt.Sprintf("step %d is learnt without %s (%s), whose logprobs are no numbers",
			step.Number, fault.Count(len(broken), "episode"), names))
		again = true
	}
	return again, nil
}

// omissions are the latest steps that left something out of what they learn from.
type omissions []int

// tooOften notes a step that leaves something out, and reports whether too many of late did.
func (o *omissions) tooOften(step int) bool {
	*o = append(slices.DeleteFunc(*o, func(at int) bool { return at <= step-farWindow || at == step }), step)
	return len(*o) > mostFar
}

// tooMany reports whether n of all are more than a step leaves out: 1 in 16, or one.
func tooMany(n, all int) bool { return n > max(1, all/farShare) }

// scorer is a Score of a Trainer.
type scorer func(ctx context.Context, b batch.Batch, temperature float64) ([][]float32, error)

// scoresOf scores a batch. A row of which a logprob is no number is scored again by itself: where rows are computed in
// one piece (engine.packing), one spoils the others.
func scoresOf(ctx context.Context, score scorer, b batch.Batch, temperature float64) ([][]float32, error) {
	scores, err := score(ctx, b, temperature)
	if err != nil || len(b.Rows) == 1 {
		return scores, err
	}
	for i, row := range b.Rows {
		if isNumber(sumTrainedTokens(row, scores[i])) {
			continue
		}
		alone, err := score(ctx, batch.Batch{Prefix: b.Prefix, Rows: b.Rows[i : i+1]}, temperature)
		if err != nil {
			return nil, err
		}
		scores[i] = alone[0]
	}
	return scores, nil
}

// brokenEpisodes are those of a batch in which the trainer's logprob of a trained token, [row][token], or the sampler's
// is not finite, and how many episodes there are.
func brokenEpisodes(b batch.Batch, scores [][]float32) (broken []int, all int) {
	seen := map[int]bool{}
	for i, row := range b.Rows {
		seen[row.Episode] = true
		for j, trained := range row.Trained {
			bad := trained && (!isNumber(float64(scores[i][j])) ||
				row.SamplerLogprobs != nil && !isNumber(float64(row.SamplerLogprobs[j])))
			if bad && !slices.Contains(broken, row.Episode) {
				broken = append(broken, row.Episode)
			}
		}
	}
	return broken, len(seen)
}

// mask takes episodes, by their number in the step, out of what it learns from: those of its groups say nothing of the
// policy any more, and rows beside the groups are gone.
func (s *Step) mask(episodes []int) {
	first := 0
	for _, g := range s.Groups {
		for i, t := range g.Trajectories {
			if slices.Contains(episodes, first+i) {
				t.Outcome, t.Error = trajectory.InfrastructureError, "the trainer's logprobs of it are no numbers"
			}
		}
		first += len(g.Trajectories)
	}
	var more []batch.Earlier
	for i, e := range s.More {
		if !slices.Contains(episodes, first+i) {
			more = append(more, e)
		}
	}
	s.More = more
}

func isNumber(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
