package recipe

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// alike is a scorer under which all episodes of some scenarios earn the same.
type alike map[string]float64

func (a alike) Score(ctx context.Context, s *scenario.Scenario, g trajectory.Group) ([]trajectory.Score, error) {
	return scoreFunc(func(rollout int) float64 {
		if reward, ok := a[s.ID]; ok {
			return reward
		}
		return float64(rollout)
	}).Score(ctx, s, g)
}

func resampling() GRPO {
	return grpo().with(&Resample{Most: 2})
}

// easy are all scenarios but c, f and i.
var easy = alike{"a": 1, "b": 0, "d": 1, "e": 0, "g": 1, "h": 0}

// A group that teaches nothing is replaced by that of another scenario, up to a limit. Metrics are of all episodes, the
// step's rows of what is kept.
func TestGroupsThatTeachNothingAreReplaced(t *testing.T) {
	trainer, log := &watched{fakeTrainer: &fakeTrainer{}}, newLog(t)
	r := &fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK}
	if err := resampling().Run(t.Context(), scenarios(9), r, easy, trainer, trainer, log, silent); err != nil {
		t.Fatal(err)
	}
	replaced, trained := 0, map[int32]bool{}
	for step := range 7 {
		m := log.Metric[fmt.Sprint("grpo", step)]
		n := int(m["groups_replaced"])
		if n > 4 || m["outcome/ok"] != float64(2*(2+n)) {
			t.Errorf("step %d: %d groups replaced, of %g episodes", step, n, m["outcome/ok"])
		}
		if want := float64(n) / float64(2+n); n > 0 && m["frac_reward_zero_std"] < want {
			t.Errorf("step %d: %g of the groups are alike, want %g at least", step, m["frac_reward_zero_std"], want)
		}
		replaced += n
	}
	for _, b := range trainer.given {
		for _, row := range b.Rows {
			trained[row.IDs[0]] = true
		}
		if b.Normaliser > 8 { // of two groups
			t.Errorf("normalised by %d tokens", b.Normaliser)
		}
	}
	if replaced < 7 || r.episodes != 2*(14+replaced) || len(trained) != 3 || !trained['c'] || !trained['f'] ||
		!trained['i'] {
		t.Errorf("%d groups replaced, %d episodes, trained on %v", replaced, r.episodes, trained)
	}
	none := newLog(t)
	trainer = &watched{fakeTrainer: &fakeTrainer{}}
	r = &fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK}
	err := resampling().Run(t.Context(), scenarios(9), r, scoreFunc(func(int) float64 { return 1 }), trainer, trainer,
		none, silent)
	if err != nil || r.episodes != 7*2*6 || len(trainer.Steps) != 0 || none.Metric["grpo0"]["groups_replaced"] != 4 ||
		none.Metric["grpo0"]["reward"] != 1 {
		t.Errorf("%v: %d episodes, %d steps, %v", err, r.episodes, len(trainer.Steps), none.Metric["grpo0"])
	}
	// of three scenarios, one is left to come in the place of two
	few := &fakeRunner{trainer: &fakeTrainer{}, outcome: trajectory.OK}
	if err := resampling().Run(t.Context(), scenarios(3), few, alike{"a": 1, "b": 1, "c": 1}, few.trainer, few.trainer,
		newLog(t), silent); err != nil || few.episodes != 7*2*3 {
		t.Errorf("%v: %d episodes", err, few.episodes)
	}
}

// Which scenarios are run, and what is learnt, does not depend on which episodes end first; a run that is stopped
// before any episode goes on to the same.
func TestReplacementsDependOnNothingElse(t *testing.T) {
	episodes := 0 // of the last run
	run := func(ctx context.Context, log *memoryLog, salt string, before func(step, episode int)) *fakeTrainer {
		trainer := &fakeTrainer{}
		r := gated{&fakeRunner{trainer: trainer, outcome: trajectory.OK, before: before}, func(id string) {
			h := fnv.New32()
			_, _ = h.Write([]byte(salt + id))
			time.Sleep(time.Duration(h.Sum32()%50) * time.Millisecond)
		}}
		err := resampling().Run(ctx, scenarios(9), r, judging(func(_ context.Context, s *scenario.Scenario) error {
			time.Sleep(time.Duration(len(salt)*int(s.ID[0])%70) * time.Millisecond)
			return nil
		}).by(easy), trainer, trainer, log, silent)
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		episodes = r.episodes
		return trainer
	}
	synctest.Test(t, func(t *testing.T) {
		wantLog := newLog(t)
		want := run(t.Context(), wantLog, "", nil)
		all := episodes
		for _, salt := range []string{"a", "bc", "def", "ghij"} {
			log := newLog(t)
			if got := run(t.Context(), log, salt, nil); !slices.Equal(got.Steps, want.Steps) ||
				!reflect.DeepEqual(log.Metric, wantLog.Metric) {
				t.Errorf("%s: other steps", salt)
			}
		}
		for step := range 7 {
			for _, episode := range []int{0, 2, 5} {
				log := newLog(t)
				ctx, cancel := context.WithCancel(t.Context())
				run(ctx, log, "x", func(s, e int) {
					if s == step && e == episode {
						cancel()
					}
				})
				cancel()
				kept := len(log.Kept)
				got := run(t.Context(), log, "yy", nil)
				if kept+episodes != all {
					t.Errorf("stopped in step %d before episode %d: %d episodes kept, %d run again, of %d",
						step, episode, kept, episodes, all)
				}
				if !slices.Equal(got.Steps, want.Steps) || !reflect.DeepEqual(log.Metric, wantLog.Metric) ||
					!reflect.DeepEqual(log.Kept, wantLog.Kept) || kept == 0 && step > 0 {
					t.Errorf("stopped in step %d before episode %d: the run differs", step, episode)
				}
			}
		}
	})
}

// Each place has its own scenarios to come, as many as may, and none that another place has.
func TestOthersAreApart(t *testing.T) {
	for n, want := range map[int][]int{9: {2, 2}, 5: {2, 1}, 2: {0, 0}} {
		list := scenarios(n)
		picked := resampling().tasks(list, 3)
		seen, p := map[string]bool{picked[0].ID: true, picked[1].ID: true}, &Picked{Step: 3, Scenarios: picked}
		of[*Resample](begun(t, resampling(), list)).Pick(p)
		for place, of := range p.Others {
			if len(of) != want[place] {
				t.Errorf("of %d scenarios, place %d has %d others, want %d", n, place, len(of), want[place])
			}
			for _, s := range of {
				if seen[s.ID] {
					t.Errorf("of %d scenarios, %s comes twice", n, s.ID)
				}
				seen[s.ID] = true
			}
		}
	}
}

// by is a scorer that scores as another does, after it did what it does.
func (j judging) by(other Scorer) Scorer { return after{j, other} }

type after struct {
	judging
	Scorer
}

func (a after) Score(ctx context.Context, s *scenario.Scenario, g trajectory.Group) ([]trajectory.Score, error) {
	if err := a.judging(ctx, s); err != nil {
		return nil, err
	}
	return a.Scorer.Score(ctx, s, g)
}

// A replacement runs while episodes of the other groups do: else the last episode of one, which waits for it, would
// block for ever.
func TestReplacementsAreAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		replaced := make(chan struct{})
		runner := gated{&fakeRunner{trainer: &fakeTrainer{}, outcome: trajectory.OK}, func(id string) {
			switch {
			case id == "c/0/0":
				close(replaced)
			case id == "b/0/1":
				return
			}
		}}
		slow := waiting{runner, "b/0/1", replaced}
		r := Rollouts{Stage: "grpo", GroupSize: 2, Runner: slow, Scorer: alike{"a": 1}, Log: newLog(t),
			Progress: silent, Others: [][]scenario.Scenario{scenarios(3)[2:], nil},
			Keep: of[*Resample](begun(t, resampling(), nil)).teaches}
		groups, before, err := r.groups(t.Context(), scenarios(2))
		if err != nil || groups[0].ScenarioID != "c" || groups[1].ScenarioID != "b" || len(before) != 1 ||
			before[0].ScenarioID != "a" {
			t.Errorf("%v: %+v, before them %+v", err, groups, before)
		}
	})
}

// waiting holds one episode back, beside which others end.
type waiting struct {
	gated
	id    string
	until chan struct{}
}

func (w waiting) Run(ctx context.Context, requests <-chan rollout.Request) <-chan *trajectory.Trajectory {
	ended, all := make(chan *trajectory.Trajectory), make(chan struct{})
	go func() {
		defer close(ended)
		held := 0
		for t := range w.gated.Run(ctx, requests) {
			if t.ID == w.id {
				held++
				go func() {
					<-w.until
					ended <- t
					all <- struct{}{}
				}()
				continue
			}
			ended <- t
		}
		for range held {
			<-all
		}
	}()
	return ended
}

func pooling(skipSolved, skipFailed float64) GRPO {
	g := grpo().with(&Pools{SkipSolved: skipSolved, SkipFailed: skipFailed})
	g.Steps, g.Passed = 12, func(t *trajectory.Trajectory) (bool, bool) { return t.Reward > 0, true }
	return g
}

// Scenarios that all episodes passed, or none, rest; without a chance to they come in each pass, and if all rest the
// steps are full all the same.
func TestPools(t *testing.T) {
	seen := func(g GRPO, scorer Scorer) (count map[string]int, m map[string]float64) {
		trainer, log := &fakeTrainer{}, newLog(t)
		if err := g.Run(t.Context(), scenarios(6), &fakeRunner{trainer: trainer, outcome: trajectory.OK}, scorer,
			trainer, trainer, log, silent); err != nil {
			t.Fatal(err)
		}
		count = map[string]int{}
		for key := range log.Kept {
			count[strings.Split(strings.Fields(key)[2], "/")[0]]++
		}
		return count, log.Metric["grpo11"]
	}
	scorer := alike{"a": 1, "b": 1, "c": 0} // a and b are solved, c failed
	for _, c := range []struct {
		solved, failed float64
		ofSolved       []int // fewest and most episodes of a, of 8 where none rests
		ofFailed       []int // of c
	}{
		{0, 0, []int{8, 8}, []int{8, 8}},   // four passes over six scenarios, two episodes each
		{1, 0, []int{2, 2}, []int{10, 14}}, // once, and not again; what is left comes the more often
		{0, 1, []int{8, 14}, []int{2, 2}},
		{1, 1, []int{2, 2}, []int{2, 2}},
		{0.7, 0, []int{4, 7}, []int{6, 14}}, // now and then
	} {
		count, m := seen(pooling(c.solved, c.failed), scorer)
		all := 0
		for _, n := range count {
			all += n
		}
		if count["a"] < c.ofSolved[0] || count["a"] > c.ofSolved[1] || count["c"] < c.ofFailed[0] ||
			count["c"] > c.ofFailed[1] || all != 48 {
			t.Errorf("skipping %g and %g: %v", c.solved, c.failed, count)
		}
		if on := c.solved+c.failed > 0; on && (m["pools/solved"] != 2 || m["pools/failed"] != 1) {
			t.Errorf("skipping %g and %g: %v", c.solved, c.failed, m)
		}
	}
	count, m := seen(pooling(1, 1), scoreFunc(func(int) float64 { return 1 }))
	if m["pools/solved"] != 6 || m["outcome/ok"] != 4 {
		t.Errorf("where all rest: %v, %v", count, m)
	}
}

// A run with pools that is stopped before any step goes on to the same.
func TestPoolsOutliveAStop(t *testing.T) {
	train := func(ctx context.Context, trainer *fakeTrainer, log *memoryLog) error {
		return pooling(0.7, 0.5).with(&Resample{Most: 1}).Run(ctx, scenarios(6),
			&fakeRunner{trainer: trainer, outcome: trajectory.OK}, alike{"a": 1, "b": 1, "c": 0}, trainer, trainer,
			log, silent)
	}
	whole, wantLog := &fakeTrainer{}, newLog(t)
	if err := train(t.Context(), whole, wantLog); err != nil {
		t.Fatal(err)
	}
	for stop := range len(whole.Steps) {
		ctx, cancel := context.WithCancel(t.Context())
		trainer, log := &fakeTrainer{before: func(step int) {
			if step == stop {
				cancel()
			}
		}}, newLog(t)
		if err := train(ctx, trainer, log); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		again := &fakeTrainer{}
		if err := train(t.Context(), again, log); err != nil || !slices.Equal(again.Steps, whole.Steps) ||
			!reflect.DeepEqual(log.Metric, wantLog.Metric) {
			t.Errorf("stopped before %d: %v: the run differs", stop, err)
		}
		cancel()
	}
}

// The scenarios that are tried at a place after its first run at once, two and then the rest, and all of a wave that
// teach are kept: an episode of each waits until the other's has begun.
func TestReplacementsRunAtOnce(t *testing.T) {
	teaches := of[*Resample](begun(t, resampling(), nil)).teaches
	synctest.Test(t, func(t *testing.T) {
		begun := map[string]chan struct{}{"b": make(chan struct{}), "c": make(chan struct{}), "d": make(chan struct{}),
			"e": make(chan struct{})}
		other := map[string]string{"b": "c", "c": "b", "d": "e", "e": "d"}
		r := gated{&fakeRunner{trainer: &fakeTrainer{}, outcome: trajectory.OK}, func(id string) {
			if s := id[:1]; strings.HasSuffix(id, "/0") && begun[s] != nil {
				close(begun[s])
				<-begun[other[s]]
			}
		}}
		rollouts := Rollouts{Stage: "grpo", GroupSize: 2, Runner: atOnce{r}, Scorer: alike{"a": 1, "b": 0, "c": 1},
			Log: newLog(t), Progress: silent, Others: [][]scenario.Scenario{scenarios(6)[1:5]}, Keep: teaches}
		groups, before, err := rollouts.groups(t.Context(), scenarios(1))
		if err != nil || len(groups) != 2 || groups[0].ScenarioID != "d" || groups[1].ScenarioID != "e" ||
			len(before) != 3 {
			t.Errorf("%v: %+v, before them %+v", err, groups, before)
		}
	})
}

// atOnce runs each episode in a goroutine of its own.
type atOnce struct{ gated }

func (a atOnce) Run(ctx context.Context, requests <-chan rollout.Request) <-chan *trajectory.Trajectory {
	ended := make(chan *trajectory.Trajectory)
	go func() {
		defer close(ended)
		var all sync.WaitGroup
		for q := range requests {
			one := make(chan rollout.Request, 1)
			one <- q
			close(one)
			all.Go(func() {
				own := *a.fakeRunner // which counts
				for t := range (gated{&own, a.wait}).Run(ctx, one) {
					ended <- t
				}
			})
		}
		all.Wait()
	}()
	return ended
}

// A scenario that rests comes in nobody's place either.
func TestThoseThatRestAreNoReplacements(t *testing.T) {
	list := scenarios(9)
	s := begun(t, resampling().with(&Pools{SkipSolved: 1}), list)
	pools := of[*Pools](s)
	pools.at.Pass = 1
	pools.at.Rates = map[string]float64{"d": 1, "e": 1, "f": 0, "g": 0.5}
	var came []string
	p := &Picked{Scenarios: list[:2], Rests: pools.rests}
	of[*Resample](s).Pick(p)
	for _, of := range p.Others {
		for _, s := range of {
			came = append(came, s.ID)
		}
	}
	if len(came) != 4 || slices.Contains(came, "d") || slices.Contains(came, "e") {
		t.Errorf("%v came", came)
	}
}
