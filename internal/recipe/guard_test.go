package recipe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/learn/batch"
)

// k3 is the mismatch that one token whose logprobs differ by so much has.
func k3(delta float64) float64 { return math.Exp(delta) - 1 - delta }

// A step is judged by its tokens: what rounding does to one of a few ends no run, what is off in each of many does, and what is off in each of few
// does after some steps. The bound is bfloat16's.
func TestGuardCountsTokens(t *testing.T) {
	const bound = 2e-3
	for name, c := range map[string]struct {
		steps []batch.StepStats
		at    int // the step that is refused; -1: none
	}{
		"one token of a few":          {[]batch.StepStats{{NumTrained: 9, Mismatch: k3(0.9) / 9}}, -1},
		"two tokens of a step":        {[]batch.StepStats{{NumTrained: 433, Mismatch: 2 * k3(0.97) / 433}, {NumTrained: 433, Mismatch: 2 * k3(0.97) / 433}}, -1},
		"one token of a few, as NaN":  {[]batch.StepStats{{NumTrained: 9, Mismatch: math.NaN()}}, 0},
		"one token of one, infinite":  {[]batch.StepStats{{NumTrained: 1, Mismatch: math.Inf(1)}}, 0},
		"each token of a few":         {[]batch.StepStats{{NumTrained: 20, Mismatch: k3(0.9)}}, 0},
		"many tokens at the bound":    {[]batch.StepStats{{NumTrained: leastTokens, Mismatch: bound}, {NumTrained: 7000, Mismatch: bound}, {NumTrained: 9000, Mismatch: bound}}, -1},
		"many tokens above it":        {[]batch.StepStats{{NumTrained: leastTokens, Mismatch: 1.01 * bound}}, 0},
		"few tokens, step after step": {[]batch.StepStats{{NumTrained: 1600, Mismatch: 2 * bound}, {NumTrained: 1600, Mismatch: 2 * bound}, {NumTrained: 1600, Mismatch: 2 * bound}}, 1},
		"few with many sound ones":    {[]batch.StepStats{{NumTrained: 200, Mismatch: 2 * bound}, {NumTrained: 5000}, {NumTrained: 200, Mismatch: 2 * bound}}, -1},
	} {
		g, at := guard{bound: bound}, -1
		for i, s := range c.steps {
			if why := g.refuses(s); why != "" {
				at = i
				if !strings.Contains(why, "the bound is 0.002 over 4096 tokens") {
					t.Errorf("%s: %s", name, why)
				}
				break
			}
		}
		if at != c.at {
			t.Errorf("%s: refused at %d, want %d", name, at, c.at)
		}
	}
}

// differing is a trainer whose logprobs of some rows' first tokens are off by so much: by step, and by the place of the row's episode among those of the step.
type differing struct {
	*fakeTrainer
	off     func(step, episode int) float32
	unseen  bool    // by Score
	scored  int     // calls
	episode []int   // of the gradient that is not applied
	learnt  [][]int // of each optimiser step
}

func (d *differing) deltas(b batch.Batch) (all []float64) {
	for _, r := range b.Rows {
		all = append(all, float64(d.off(len(d.learnt), r.Episode)))
	}
	return all
}

func (d *differing) Gradient(ctx context.Context, b batch.Batch, o batch.Objective) (batch.StepStats, error) {
	s, err := d.fakeTrainer.Gradient(ctx, b, o)
	s.NumTrained, s.Mismatch = b.NumTrained(), 0
	for _, delta := range d.deltas(b) {
		s.Mismatch, s.MaxDelta = s.Mismatch+k3(delta)/float64(s.NumTrained), max(s.MaxDelta, math.Abs(delta))
	}
	d.episode = nil
	for _, r := range b.Rows {
		d.episode = append(d.episode, r.Episode)
	}
	return s, err
}

func (d *differing) Apply(u batch.Update) (float64, error) {
	d.learnt = append(d.learnt, d.episode)
	return d.fakeTrainer.Apply(u)
}

func (d *differing) Score(_ context.Context, b batch.Batch, _ float64) (all [][]float32, err error) {
	d.scored++
	for i, delta := range d.deltas(b) {
		scores := slices.Clone(b.Rows[i].SamplerLogprobs)
		if at := slices.Index(b.Rows[i].Trained, true); !d.unseen {
			scores[at] += float32(delta)
		}
		all = append(all, scores)
	}
	return all, nil
}

// Where the bound is passed by a few episodes, the step is taken without them, and says so; where by more, or step after step, it is not.
func TestAStepLeavesOutTheEpisodesThatAreApart(t *testing.T) {
	at := func(steps []int, episodes ...int) func(int, int) float32 {
		return func(step, episode int) float32 {
			if slices.Contains(steps, step) && slices.Contains(episodes, episode) {
				return -3 - float32(episode)/16
			}
			return 0
		}
	}
	for name, c := range map[string]struct {
		off    func(step, episode int) float32
		unseen bool
		at     int           // the step that is refused; 7: none
		left   map[int][]int // the episodes that each step leaves out
		scored int
	}{
		"one":           {at([]int{2}, 7), false, 7, map[int][]int{2: {7}}, 1},
		"two of twenty": {at([]int{0}, 7, 12), false, 7, map[int][]int{0: {7, 12}}, 1},
		"no more than needs be": {func(step, episode int) float32 {
			return at([]int{0}, 7)(step, episode) + at([]int{0}, 12)(step, episode)/16
		}, false, 7, map[int][]int{0: {7}}, 1},
		"three of twenty":          {at([]int{1}, 3, 7, 12), false, 1, nil, 1},
		"two steps, and two more":  {at([]int{1, 2, 4, 5}, 7), false, 7, map[int][]int{1: {7}, 2: {7}, 4: {7}, 5: {7}}, 4},
		"three steps":              {at([]int{2, 3, 4}, 7), false, 4, map[int][]int{2: {7}, 3: {7}}, 3},
		"a NaN":                    {func(step, episode int) float32 { return at([]int{1}, 7)(step, episode) * float32(math.NaN()) }, false, 0, nil, 0},
		"the scores do not see it": {at([]int{1}, 7), true, 1, nil, 1},
	} {
		trainer, log := &differing{fakeTrainer: &fakeTrainer{}, off: c.off, unseen: c.unseen}, newLog(t)
		g := grpo()
		g.GroupsPerStep, g.MaxMismatch = 10, 3e-4 // a token is 5e-4 to 8e-4 of leastTokens
		err := g.Run(t.Context(), scenarios(10), &fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK}, scoreFunc(byRollout), trainer, trainer, log, silent)
		f, refused := errors.AsType[*fault.Error](err)
		if refused != (c.at < 7) || len(trainer.learnt) != c.at || trainer.scored != c.scored || refused && f.Where != fmt.Sprintf("grpo step %d", c.at) {
			t.Errorf("%s: %v after %d steps, scored %d times", name, err, len(trainer.learnt), trainer.scored)
			continue
		}
		if refused && c.scored > 0 && (!strings.Contains(f.Why, "farthest is token 0 of a completion of episode ") || strings.Contains(f.Why, "episode of before")) {
			t.Errorf("%s: %s", name, f.Why)
		}
		for step, episodes := range trainer.learnt {
			var left []int
			for e := range 20 {
				if !slices.Contains(episodes, e) {
					left = append(left, e)
				}
			}
			if m := log.Metric[fmt.Sprint("grpo", step)]; !slices.Equal(left, c.left[step]) || m[farMetric] != float64(len(left)) || m["sampling/mismatch_kl"]*40/leastTokens > g.MaxMismatch {
				t.Errorf("%s: step %d leaves out %v, want %v; metrics %v", name, step, left, c.left[step], m)
			}
		}
		for i, step := range slices.Sorted(maps.Keys(c.left)) {
			want := fmt.Sprintf("/%d/%d, ", step, slices.Max(c.left[step])%2) // the farthest one's step and rollout
			if len(log.said) != len(c.left) || !strings.Contains(log.said[i], want) || !strings.HasPrefix(log.said[i], fmt.Sprintf("step %d learns nothing from %d episode", step, len(c.left[step]))) {
				t.Errorf("%s: said %q, want %q", name, log.said, want)
			}
		}
	}
}

// The tokens that are left out are no part of the mean of what stays: two long episodes of 20 are off, and without the first the others' mean is still above
// the bound, by as much as its tokens are.
func TestTheMeanIsOfWhatStays(t *testing.T) {
	const bound, tokens = 2e-3, 500
	var part batch.Batch
	var scores [][]float32
	for e := range 20 {
		row := batch.Sequence{IDs: make([]int32, tokens), Trained: slices.Repeat([]bool{true}, tokens), SamplerLogprobs: make([]float32, tokens), Episode: e}
		part.Rows, scores = append(part.Rows, row), append(scores, make([]float32, tokens))
	}
	delta := 0. // of one token: the mean is above the bound over 19 episodes, and within it over 20
	for k3(delta) < 1.02*bound*19*tokens {
		delta += 1e-3
	}
	scores[3][9], scores[5][0] = float32(delta), float32(2*delta)
	g := guard{bound: bound}
	kept, left, worst := g.without(part, scores)
	if !slices.Equal(left, []int{5, 3}) || len(kept.Rows) != 18 || worst.row != 5 || worst.at != 0 {
		t.Errorf("left out are %v, %d rows stay; farthest is %+v", left, len(kept.Rows), worst)
	}
}

// What is left out of a step stays so in all of its passes, and the other parts are as they were.
func TestEpisodesAreLeftOutOfEachPass(t *testing.T) {
	trainer, log := &differing{fakeTrainer: &fakeTrainer{}, off: func(step, episode int) float32 {
		if step == 0 && episode == 4 { // of the first part's
			return -3
		}
		return 0
	}}, newLog(t)
	g := grpo()
	g.GroupsPerStep, g.MaxMismatch, g.Steps, g.Minibatches, g.Iterations = 10, 3e-4, 1, 2, 2
	err := g.Run(t.Context(), scenarios(10), &fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK}, scoreFunc(byRollout), trainer, trainer, log, silent)
	first, second := []int{0, 1, 5, 8, 9, 12, 13, 16, 17}, []int{2, 3, 6, 7, 10, 11, 14, 15, 18, 19}
	if want := [][]int{first, second, first, second}; err != nil || !slices.EqualFunc(trainer.learnt, want, slices.Equal) || log.Metric["grpo0"][farMetric] != 1 {
		t.Errorf("%v: the passes learn from %v, want %v", err, trainer.learnt, want)
	}
}
