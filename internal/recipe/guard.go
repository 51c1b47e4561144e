package recipe

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/learn/batch"
)

// leastTokens is over how many tokens a mean mismatch is judged at least. A late step trains few, and of these one or
// two that bfloat16 rounds by a whole nat say nothing of the policy: over 512 tokens they ended a run that was sound
// (docs/log).
const leastTokens = 4096

// guard bounds the mean mismatch KL, in nats a token, of the tokens of a step. Those of steps with few tokens are
// judged together with the next steps', and as if there were leastTokens with no mismatch beside: so one token cannot
// end a run, and what is off by more than the bound does after so many tokens at the latest. A run that goes on begins
// to count anew.
type guard struct {
	bound  float64
	nats   float64 // of steps that were too short alone
	tokens float64
}

// mean is that by which so many tokens are judged: those of steps before that were too short are among them.
func (g *guard) mean(nats, tokens float64) float64 {
	return (g.nats + nats) / max(g.tokens+tokens, leastTokens)
}

// refuses says why a step must not be taken, or "".
func (g *guard) refuses(s batch.StepStats) string {
	nats := s.Mismatch * float64(s.NumSampled)
	tokens := g.tokens + float64(s.NumSampled)
	if !(g.mean(nats, float64(s.NumSampled)) <= g.bound) { // a NaN is refused too
		return fmt.Sprintf("the mean mismatch KL of %d tokens is %.2g nats a token, the bound is %.2g over %d tokens "+
			"or more; the largest difference of a logprob is %.2g",
			int(tokens), (g.nats+nats)/tokens, g.bound, leastTokens, s.MaxDelta)
	}
	if g.nats, g.tokens = g.nats+nats, tokens; tokens >= leastTokens {
		g.nats, g.tokens = 0, 0
	}
	return ""
}

// guardOf is what bounds the mismatch of a step. Episodes of an earlier policy are apart from the trainer's by what it
// learnt since: of them only what is no number is refused. That the samplers hold what they are to hold, Publish
// compares by checksums.
func (w *watch) guardOf(stale bool) *guard {
	if stale {
		return &guard{bound: math.Inf(1)}
	}
	return &w.guard
}

// How many of so many steps may leave episodes out, and which share of a part's episodes.
const (
	mostFar   = 2
	farWindow = 32 // steps
	farShare  = 16 // one of
)

const farMetric = "sampling/episodes_apart"

// guardGradient is the gradient of a step's first part, before the policy moves: there sampler and trainer are
// compared. Another policy is far in many episodes, step after step. Where the bound is passed once in a while, by what
// may be rounding (docs/ENGINE.md, section 7), the farthest episodes are left out of each part, by the trainer's
// scores, as few as it takes and no more than 1 in 16, or one. That is told when the step is taken. A part above the
// bound all the same, or a third such step of 32, is refused. What the statistics say of the sampler is as it was with
// all episodes.
//
// Where it is refused, Step.Refused says why.
func (r *stage) guardGradient(
	ctx context.Context, parts *[]batch.Batch, step *Step,
) (s batch.StepStats, told string, err error) {
	guard, groups := r.watch.guardOf(step.Stale), step.Groups
	refused := func(why string) (batch.StepStats, string, error) {
		step.Refused = r.mismatch(step.Number, why)
		return s, "", nil
	}
	step.Metrics[farMetric] += 0 // what was left out before is counted
	s, err = r.trainer.Gradient(ctx, (*parts)[0], step.Objective)
	if err != nil {
		return s, "", err
	}
	if !isNumber(s.Mismatch) {
		return s, "", unlike{guard.refuses(s)}
	}
	why := guard.refuses(s)
	if why == "" {
		return s, "", nil
	}
	var kept []batch.Batch
	var left []int
	var worst nearest // of the parts, that with the farthest token
	near := true
	for _, part := range *parts {
		scores, err := r.trainer.Score(ctx, part, r.Temperature)
		if err != nil {
			return s, "", err
		}
		x := guard.without(part, scores)
		near, left = near && x.near, append(left, x.left...)
		if x.farthest.mismatch() > worst.farthest.mismatch() {
			worst = x
		}
		if x.kept.NumTrained() > 0 {
			kept = append(kept, x.kept)
		}
	}
	if farthest := worst.farthest; farthest.mismatch() > 0 {
		why += fmt.Sprintf("; farthest is sampled token %d of episode %s, %q (id %d): its logprob is %.4f to the "+
			"sampler and %.4f to the trainer",
			worst.at, episodeID(groups, worst.episode), r.Parity.text(farthest.id), farthest.id, farthest.sampler,
			farthest.trainer)
	}
	if r.watch.omissions.tooOften(step.Number) {
		return refused(fmt.Sprintf("%s; and so it was in %d more of the last %d steps", why, mostFar, farWindow))
	}
	if !near || len(left) == 0 || len(kept) == 0 {
		return refused(why)
	}
	again, err := r.trainer.Gradient(ctx, kept[0], step.Objective)
	if err != nil {
		return s, "", err
	}
	if guard.refuses(again) != "" {
		return refused(why)
	}
	again.Mismatch, again.MeanRatio, again.MaxDelta = s.Mismatch, s.MeanRatio, s.MaxDelta
	*parts = kept
	step.Metrics[farMetric] += float64(len(left))
	return again, fmt.Sprintf("step %d learns nothing from %s (%s), where sampler and trainer differ by more than "+
		"elsewhere: %s", step.Number, fault.Count(len(left), "episode"), episodeIDs(groups, left), why), nil
}

// nearest is what is left of a part without the episodes whose tokens are farthest apart.
type nearest struct {
	kept batch.Batch
	near bool  // within the bound
	left []int // episodes, the farthest first

	farthest    apart // token of all
	episode, at int   // which episode's that is, and its place among the tokens that were sampled there
}

// without leaves out of a part as few episodes as it takes to be within the bound, by the trainer's scores,
// [row][token], and no more than 1 in 16, or one. Rows of before, which the trainer has scored itself, stay, and are
// not counted.
func (g *guard) without(part batch.Batch, scores [][]float32) (x nearest) {
	nats, tokens := map[int]float64{}, map[int]float64{} // of each episode
	var episodes []int
	all, num := 0.0, 0.0
	for _, token := range tokensOf(part, scores) {
		e := part.Rows[token.row].Episode
		if tokens[e] == 0 {
			episodes = append(episodes, e)
		}
		if token.mismatch() > x.farthest.mismatch() {
			x.farthest, x.episode, x.at = token, e, int(tokens[e])
		}
		nats[e], tokens[e] = nats[e]+token.mismatch(), tokens[e]+1
		all, num = all+token.mismatch(), num+1
	}
	slices.SortStableFunc(episodes, func(x, y int) int { return cmp.Compare(nats[y], nats[x]) })
	within := func() bool { return g.mean(all, num) <= g.bound }
	for _, e := range episodes[:min(max(1, len(episodes)/farShare), max(0, len(episodes)-1))] {
		if within() {
			break
		}
		x.left, all, num = append(x.left, e), all-nats[e], num-tokens[e]
	}
	x.kept, x.near = part, within()
	x.kept.Rows = slices.DeleteFunc(slices.Clone(part.Rows), func(row batch.Sequence) bool {
		return slices.Contains(x.left, row.Episode)
	})
	return x
}

// episodeIDs names up to three episodes.
func episodeIDs(groups []trajectory.Group, episodes []int) string {
	return firstNames(episodes, func(e int) string { return episodeID(groups, e) })
}

// firstNames names up to three of what is counted.
func firstNames(all []int, name func(int) string) string {
	var names []string
	for _, i := range all[:min(3, len(all))] {
		names = append(names, name(i))
	}
	if more := len(all) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// episodeID names an episode of a step's rows.
func episodeID(groups []trajectory.Group, episode int) string {
	for _, g := range groups {
		if episode < len(g.Trajectories) {
			return g.Trajectories[episode].ID
		}
		episode -= len(g.Trajectories)
	}
	return fmt.Sprint(episode)
}

func (g GRPO) mismatch(step int, why string) error {
	return &fault.Error{Code: fault.CodeError, What: "the trainer does not see the policy that was sampled from",
		Where: fmt.Sprintf("%s step %d", g.Stage, step), Why: why,
		Next: "the steps before are kept, and hone runs show names their checkpoint; engine.dtype: " +
			"f32 has sampler and trainer round alike"}
}
