package recipe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/learn/batch"
)

// k3 is the mismatch that one token whose logprobs differ by so much has.
func k3(delta float64) float64 { return math.Exp(delta) - 1 - delta }

// A step is judged by its tokens: what rounding does to one of a few ends no run, what is off in each of many does, and
// what is off in each of few does after some steps. The bound is bfloat16's.
func TestGuardCountsTokens(t *testing.T) {
	const bound = 2e-3
	for name, c := range map[string]struct {
		steps []batch.StepStats
		at    int // the step that is refused; -1: none
	}{
		"one token of a few":         {[]batch.StepStats{{NumSampled: 9, Mismatch: k3(0.9) / 9}}, -1},
		"two tokens of a step":       {[]batch.StepStats{{NumSampled: 433, Mismatch: 2 * k3(0.97) / 433}, {NumSampled: 433, Mismatch: 2 * k3(0.97) / 433}}, -1},
		"one token of a few, as NaN": {[]batch.StepStats{{NumSampled: 9, Mismatch: math.NaN()}}, 0},
		"one token of one, infinite": {[]batch.StepStats{{NumSampled: 1, Mismatch: math.Inf(1)}}, 0},
		"each token of a few":        {[]batch.StepStats{{NumSampled: 20, Mismatch: k3(0.9)}}, 0},
		"many tokens at the bound": {[]batch.StepStats{{NumSampled: leastTokens, Mismatch: bound},
			{NumSampled: 7000, Mismatch: bound}, {NumSampled: 9000, Mismatch: bound}}, -1},
		"many tokens above it": {[]batch.StepStats{{NumSampled: leastTokens, Mismatch: 1.01 * bound}}, 0},
		"few tokens, step after step": {[]batch.StepStats{
			{NumSampled: 1600, Mismatch: 2 * bound},
			{NumSampled: 1600, Mismatch: 2 * bound},
			{NumSampled: 1600, Mismatch: 2 * bound},
		}, 1},
		"few with many sound ones": {[]batch.StepStats{{NumSampled: 200, Mismatch: 2 * bound}, {NumSampled: 5000}, {NumSampled: 200, Mismatch: 2 * bound}}, -1},
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

// differing is a trainer to whom the first tokens of some rows are off by so much: by step, and by the row's episode.
type differing struct {
	*fakeTrainer
	off     func(step, episode int) float32
	unseen  bool     // by Score, which finds the next row off
	killed  string   // what is: "score", "again"
	scored  int      // calls
	again   bool     // the next gradient is one behind scores
	episode []int    // of the gradient that is not applied
	learnt  [][]int  // of each optimiser step
	rows    []string // of the same, what does not hang on the policy
}

func (d *differing) deltas(b batch.Batch) (all []float64) {
	for _, r := range b.Rows {
		all = append(all, float64(d.off(len(d.learnt), r.Episode)))
	}
	return all
}

func (d *differing) Gradient(ctx context.Context, b batch.Batch, o batch.Objective) (batch.StepStats, error) {
	if d.again && d.killed == "again" {
		return batch.StepStats{}, errKilled
	}
	s, err := d.fakeTrainer.Gradient(ctx, b, o)
	s.Mismatch, s.NumSampled, d.again, d.episode = 0, b.NumTrained(), false, nil
	for i, delta := range d.deltas(b) {
		s.Mismatch, s.MaxDelta = s.Mismatch+k3(delta)/float64(s.NumSampled), max(s.MaxDelta, math.Abs(delta))
		d.episode = append(d.episode, b.Rows[i].Episode)
	}
	d.rows = append(d.rows, fmt.Sprint(b.Prefix, b.Normaliser))
	return s, err
}

func (d *differing) Apply(u batch.Update) (float64, error) {
	d.learnt = append(d.learnt, d.episode)
	return d.fakeTrainer.Apply(u)
}

func (d *differing) Score(_ context.Context, b batch.Batch, temperature float64) (all [][]float32, err error) {
	if d.scored++; d.killed == "score" {
		return nil, errKilled
	}
	if d.again = true; temperature != 0.5 {
		return nil, errors.New("another temperature")
	}
	deltas := d.deltas(b)
	if d.unseen {
		deltas = append(deltas[1:], deltas[0])
	}
	for i, delta := range deltas {
		scores := slices.Clone(b.Rows[i].SamplerLogprobs)
		scores[slices.Index(b.Rows[i].Trained, true)] += float32(delta)
		all = append(all, scores)
	}
	return all, nil
}

// guarding is GRPO of 34 episodes of two tokens a step: what one is off by 3 nats or more is above the bound, over
// leastTokens.
func guarding() GRPO {
	g := grpo()
	g.GroupsPerStep, g.MaxMismatch, g.Temperature = 17, 3e-4, 0.5
	return g
}

// Where the bound is passed by a few episodes, the step is taken without them, and says so; where by more, or too
// often, it is not.
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
		steps  int
		taken  int
		left   map[int][]int // the episodes that each step leaves out
		scored int
	}{
		"one":       {at([]int{2}, 7), false, 7, 7, map[int][]int{2: {7}}, 1},
		"two of 34": {at([]int{0}, 7, 12), false, 7, 7, map[int][]int{0: {7, 12}}, 1},
		"no more than needs be": {func(step, episode int) float32 {
			return at([]int{0}, 7)(step, episode) + at([]int{0}, 12)(step, episode)/16
		}, false, 7, 7, map[int][]int{0: {7}}, 1},
		"three of 34":            {at([]int{1}, 3, 7, 12), false, 7, 1, nil, 1},
		"three steps":            {at([]int{1, 3, 5}, 7), false, 7, 5, map[int][]int{1: {7}, 3: {7}}, 3},
		"three of a window":      {at([]int{2, 3, 33}, 7), false, 40, 33, map[int][]int{2: {7}, 3: {7}}, 3},
		"two of a window":        {at([]int{1, 3, 33}, 7), false, 40, 40, map[int][]int{1: {7}, 3: {7}, 33: {7}}, 3},
		"the scores are another": {at([]int{1}, 7), true, 7, 1, nil, 1},
	} {
		trainer, log, g := &differing{fakeTrainer: &fakeTrainer{}, off: c.off, unseen: c.unseen}, newLog(t), guarding()
		g.Steps = c.steps
		err := g.Run(t.Context(), scenarios(17), &fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK},
			scoreFunc(byRollout), trainer, trainer, log, silent)
		f, refused := errors.AsType[*fault.Error](err)
		if refused != (c.taken < c.steps) || len(trainer.learnt) != c.taken || trainer.scored != c.scored ||
			refused && f.Where != fmt.Sprintf("grpo step %d", c.taken) {
			t.Errorf("%s: %v after %d steps, scored %d times", name, err, len(trainer.learnt), trainer.scored)
			continue
		}
		if named := refused && strings.Contains(f.Why, "farthest is sampled token 0 of episode ") &&
			strings.Contains(f.Why, fmt.Sprintf("/%d/", c.taken)); refused && named != (c.scored > 0) {
			t.Errorf("%s: %s", name, f.Why)
		}
		// of steps before and after the sampler was given an adapter
		if slices.Sort(trainer.rows); len(slices.Compact(trainer.rows)) > 2 {
			t.Errorf("%s: prefix and normaliser are %q", name, slices.Compact(trainer.rows))
		}
		for step, episodes := range trainer.learnt {
			var left []int
			for e := range 34 {
				if !slices.Contains(episodes, e) {
					left = append(left, e)
				}
			}
			m, ok := log.Metric[fmt.Sprint("grpo", step)], false
			if _, ok = m[farMetric]; !ok || !slices.Equal(left, c.left[step]) || m[farMetric] != float64(len(left)) ||
				(m["sampling/mismatch_kl"]*68/leastTokens > g.MaxMismatch) != (len(left) > 0) {
				t.Errorf("%s: step %d leaves out %v, want %v; metrics %v", name, step, left, c.left[step], m)
			}
		}
		if len(log.said) != len(c.left) {
			t.Errorf("%s: said %q", name, log.said)
			continue
		}
		for i, step := range slices.Sorted(maps.Keys(c.left)) {
			far := slices.Max(c.left[step]) // its group is of two
			id := fmt.Sprintf("/%d/%d", step, far%2)
			if !strings.HasPrefix(log.said[i], fmt.Sprintf("step %d learns nothing from %d episode",
				step, len(c.left[step]))) || strings.Count(log.said[i], id) < 2 ||
				!strings.Contains(log.said[i], "farthest is sampled token 0 of episode ") {
				t.Errorf("%s: said %q, want %q", name, log.said[i], id)
			}
		}
	}
}

// A run that is stopped while a step is judged keeps the steps before it, and it is no fault of the sampler.
func TestAStepThatIsStoppedWhileItIsJudged(t *testing.T) {
	for _, killed := range []string{"score", "again"} {
		trainer, log := &differing{fakeTrainer: &fakeTrainer{}, killed: killed, off: func(step, episode int) float32 {
			if step == 2 && episode == 7 {
				return -3
			}
			return 0
		}}, newLog(t)
		err := guarding().Run(t.Context(), scenarios(17),
			&fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK}, scoreFunc(byRollout), trainer, trainer,
			log, silent)
		if !errors.Is(err, errKilled) || len(trainer.learnt) != 2 || log.latest["grpo"] != 2 || len(log.said) > 0 {
			t.Errorf("%s: %v after %d steps, of which %d are kept; said %q",
				killed, err, len(trainer.learnt), log.latest["grpo"], log.said)
		}
	}
}

// The tokens that are left out are no part of the mean of what stays: two long episodes of 32 are off, and without the
// first the others' mean is still above the bound, by as much as its tokens are. An episode's rows go together, and
// rows of before stay: they are the trainer's own, and say nothing.
func TestTheMeanIsOfWhatStays(t *testing.T) {
	const bound, tokens = 2e-3, 500
	part, scores := batch.Batch{Prefix: []int32{1}, Normaliser: 77}, [][]float32(nil)
	add := func(episode int, scored bool) {
		part.Rows = append(part.Rows, batch.Sequence{
			IDs:             make([]int32, tokens),
			Trained:         slices.Repeat([]bool{true}, tokens),
			SamplerLogprobs: make([]float32, tokens),
			Episode:         episode,
			Scored:          scored,
		})
		scores = append(scores, make([]float32, tokens))
	}
	for e := range 32 {
		add(e, false)
		if e == 5 {
			add(e, false)
		}
	}
	for e := range 32 {
		add(32+e, true)
	}
	// of one token: the mean is above the bound over the 31 that stay at first, and within it over all 33 rows
	delta := 0.
	for k3(delta) < 1.02*bound*31*tokens {
		delta += 1e-3
	}
	// the second row of episode 5, and a row of before
	scores[3][9], scores[6][4], scores[40][0] = float32(delta), float32(2*delta), 100
	g := guard{bound: bound}
	x := g.without(part, scores)
	if !x.near || !slices.Equal(x.left, []int{5, 3}) || len(x.kept.Rows) != 62 || x.episode != 5 || x.at != tokens+4 ||
		x.kept.Normaliser != 77 || len(x.kept.Prefix) != 1 {
		t.Errorf("%v: left out are %v, %d rows stay; farthest is token %d of episode %d",
			x.near, x.left, len(x.kept.Rows), x.at, x.episode)
	}
	if len(part.Rows) != 65 {
		t.Errorf("of the part given %d rows are left", len(part.Rows))
	}
}

// What is left out of a step stays so in all of its passes, and each part is judged by itself.
func TestEpisodesAreLeftOutOfEachPass(t *testing.T) {
	trainer, log := &differing{fakeTrainer: &fakeTrainer{}, off: func(step, episode int) float32 {
		if step == 0 && (episode == 4 || episode == 7) { // of the first part and of the second
			return -3
		}
		return 0
	}}, newLog(t)
	g := guarding()
	g.GroupsPerStep, g.Steps, g.Minibatches, g.Iterations = 10, 1, 2, 2
	err := g.Run(t.Context(), scenarios(10), &fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK},
		scoreFunc(byRollout), trainer, trainer, log, silent)
	first, second := []int{0, 1, 5, 8, 9, 12, 13, 16, 17}, []int{2, 3, 6, 10, 11, 14, 15, 18, 19}
	if want := [][]int{first, second, first, second}; err != nil ||
		!slices.EqualFunc(trainer.learnt, want, slices.Equal) || log.Metric["grpo0"][farMetric] != 2 {
		t.Errorf("%v: the passes learn from %v, want %v", err, trainer.learnt, want)
	}
}

// A part that is above the bound without its farthest episode too is refused, whichever it is.
func TestEachPartIsJudged(t *testing.T) {
	trainer, g := &differing{fakeTrainer: &fakeTrainer{}, off: func(step, episode int) float32 {
		if slices.Contains([]int{0, 2, 8}, episode) { // one of the first part, and two of the second of three
			return -3
		}
		return 0
	}}, guarding()
	g.GroupsPerStep, g.Steps, g.Minibatches = 9, 1, 3
	err := g.Run(t.Context(), scenarios(9), &fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK},
		scoreFunc(byRollout), trainer, trainer, newLog(t), silent)
	if _, refused := errors.AsType[*fault.Error](err); !refused || len(trainer.learnt) > 0 || trainer.scored != 3 {
		t.Errorf("%v after %d optimiser steps, scored %d times", err, len(trainer.learnt), trainer.scored)
	}
}

// Episodes of the policy before are apart by what was learnt since, which is no fault.
func TestStaleEpisodesAreNotHeldToTheBound(t *testing.T) {
	g := overlapping()
	for apart, refused := range map[int]bool{0: true, 1: false} { // the first step's are of the policy that is trained
		k := &killer{n: -1}
		trainer := rewound{&fakeTrainer{mismatch: 2 * g.MaxMismatch, apart: apart}, k}
		err := g.Run(t.Context(), scenarios(8), &fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK}, easy,
			trainer, trainer, lockedLog{newLog(t), &sync.Mutex{}, k}, silent)
		if _, is := errors.AsType[*fault.Error](err); is != refused || err != nil != refused {
			t.Errorf("apart from step %d on: %v", apart, err)
		}
	}
}
