package recipe

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/learn/batch"
)

// leastTokens is over how many tokens a mean mismatch is judged at least. A late step trains few, and of these one or two that bfloat16 rounds by
// a whole nat say nothing of the policy: over 512 tokens they ended a run that was sound (docs/LOG.md).
const leastTokens = 4096

// guard bounds the mean mismatch KL, in nats a token, of the tokens of a step. Those of steps with few tokens are judged together with the
// next steps', and as if there were leastTokens with no mismatch beside: so one token cannot end a run, and what is off by more than the
// bound does after so many tokens at the latest. A run that goes on begins to count anew.
type guard struct {
	bound  float64
	nats   float64 // of steps that were too short alone
	tokens float64
}

// judge is the mean over which a step is judged, and its tokens: those of steps before that were too short are among them.
func (g *guard) judge(nats, tokens float64) (mean, of float64) {
	return (g.nats + nats) / max(g.tokens+tokens, leastTokens), g.tokens + tokens
}

// refuses says why a step must not be taken, or "".
func (g *guard) refuses(s batch.StepStats) string {
	nats := s.Mismatch * float64(s.NumTrained)
	mean, tokens := g.judge(nats, float64(s.NumTrained))
	if !(mean <= g.bound) { // a NaN is refused too
		return fmt.Sprintf("the mean mismatch KL of %d tokens is %.2g nats a token, the bound is %.2g over %d tokens or more; the largest difference of a logprob is %.2g",
			int(tokens), (g.nats+nats)/tokens, g.bound, leastTokens, s.MaxDelta)
	}
	if g.nats, g.tokens = g.nats+nats, tokens; tokens >= leastTokens {
		g.nats, g.tokens = 0, 0
	}
	return ""
}

// guardOf is what bounds the mismatch of a step. Episodes of an earlier policy are apart from the trainer's by what it learnt since: of them only what
// is no number is refused. That the samplers hold what they are to hold, Publish compares by checksums.
func (w *watch) guardOf(stale bool) *guard {
	if stale {
		return &guard{bound: math.Inf(1)}
	}
	return &w.guard
}

// guarded is the gradient of a step's first part, before the policy moves: there sampler and trainer are compared. A sampler that is another policy
// is off in most episodes. In bfloat16 a few are off now and then: once in 426 steps that was more than the bound, and ended a run (docs/ENGINE.md, section 7).
// So where the bound is passed, the farthest episodes, at most 1 in 16 or one, are left out of the part and of what is learnt. What is above the bound
// without them too, or was so in the steps before, is refused.
func (r *running) guarded(ctx context.Context, part *batch.Batch, groups []trajectory.Group, step int, stale bool, metrics map[string]float64) (s batch.StepStats, refused, err error) {
	guard := r.watch.guardOf(stale)
	metrics[farMetric] = 0
	s, err = r.trainer.Gradient(ctx, *part, r.objective())
	if err != nil {
		return s, nil, err
	}
	why := guard.refuses(s)
	if why == "" {
		r.watch.far = 0
		return s, nil, nil
	}
	if mean, _ := guard.judge(s.Mismatch*float64(s.NumTrained), float64(s.NumTrained)); math.IsNaN(mean) || math.IsInf(mean, 0) {
		return s, r.mismatch(step, why), nil
	}
	scores, err := r.trainer.Score(ctx, *part, r.Temperature)
	if err != nil {
		return s, nil, err
	}
	kept, left, worst := guard.without(*part, scores)
	why += fmt.Sprintf("; farthest is token %d of a completion of episode %s, %q (id %d): its logprob is %.4f to the sampler and %.4f to the trainer",
		worst.at, episodeID(groups, part.Rows[worst.row].Episode), r.Parity.text(worst.id), worst.id, worst.sampler, worst.trainer)
	if r.watch.far++; r.watch.far == patience {
		return s, r.mismatch(step, fmt.Sprintf("%s; and so it was in the %d steps before", why, patience-1)), nil
	}
	if len(left) == 0 || kept.NumTrained() == 0 {
		return s, r.mismatch(step, why), nil
	}
	again, err := r.trainer.Gradient(ctx, kept, r.objective())
	if err != nil {
		return s, nil, err
	}
	if guard.refuses(again) != "" {
		return s, r.mismatch(step, why), nil
	}
	*part, metrics[farMetric] = kept, float64(len(left))
	r.log.Notice(fmt.Sprintf("step %d learns nothing from %s, in which sampler and trainer differ by more than the others: %s", step, fault.Count(len(left), "episode"), why))
	return again, nil, nil
}

const farMetric = "sampling/episodes_apart"

// without leaves out of a part as few episodes as it takes to be within the bound, those whose tokens are farthest apart by the trainer's scores,
// [row][token], and no more than 1 in 16, or one. worst is the farthest token of all.
func (g *guard) without(part batch.Batch, scores [][]float32) (kept batch.Batch, left []int, worst apart) {
	nats, tokens := map[int]float64{}, map[int]float64{} // of each episode
	all, num := 0.0, 0.0
	each := tokensOf(part, scores)
	for _, x := range each {
		e := part.Rows[x.row].Episode
		nats[e], tokens[e] = nats[e]+x.mismatch(), tokens[e]+1
		all, num = all+x.mismatch(), num+1
	}
	worst = slices.MaxFunc(each, func(x, y apart) int { return cmp.Compare(x.mismatch(), y.mismatch()) })
	var episodes []int
	for _, row := range part.Rows {
		if !slices.Contains(episodes, row.Episode) {
			episodes = append(episodes, row.Episode)
		}
	}
	slices.SortStableFunc(episodes, func(x, y int) int { return cmp.Compare(nats[y], nats[x]) })
	for _, e := range episodes[:leftOut(len(episodes))] {
		if mean, _ := g.judge(all, num); mean <= g.bound {
			break
		}
		left, all, num = append(left, e), all-nats[e], num-tokens[e]
	}
	kept = part
	kept.Rows = slices.DeleteFunc(slices.Clone(part.Rows), func(row batch.Sequence) bool { return slices.Contains(left, row.Episode) })
	return kept, left, worst
}

// episodeID names an episode of a step's rows; those of earlier steps, and demonstrations, are counted behind the step's own.
func episodeID(groups []trajectory.Group, episode int) string {
	for _, g := range groups {
		if episode < len(g.Trajectories) {
			return g.Trajectories[episode].ID
		}
		episode -= len(g.Trajectories)
	}
	return "of before"
}

func (g GRPO) mismatch(step int, why string) error {
	return &fault.Error{Code: fault.CodeError, What: "the trainer does not see the policy that was sampled from",
		Where: fmt.Sprintf("%s step %d", g.Stage, step), Why: why,
		Next: "the steps before are kept, and hone runs show names their checkpoint; engine.dtype: f32 has sampler and trainer round alike"}
}
