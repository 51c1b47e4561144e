package recipe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"hone/internal/episode/rollout"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// shaped is a runner whose episodes are changed as they end.
type shaped struct {
	*fakeRunner
	shape func(step int, t *trajectory.Trajectory)
}

func (s shaped) Run(ctx context.Context, requests <-chan rollout.Request) <-chan *trajectory.Trajectory {
	ended := make(chan *trajectory.Trajectory)
	go func() {
		defer close(ended)
		for t := range s.fakeRunner.Run(ctx, requests) {
			var step int
			_, _ = fmt.Sscanf(strings.Split(t.ID, "/")[1], "%d", &step)
			s.shape(step, t)
			ended <- t
		}
	}()
	return ended
}

// shapedRun runs GRPO of five groups of two a step on episodes of a shape.
func shapedRun(
	t *testing.T, score scoreFunc, shape func(step int, t *trajectory.Trajectory),
) (*fakeTrainer, *memoryLog, error) {
	g := grpo()
	g.GroupsPerStep = 5
	trainer, log := &fakeTrainer{}, newLog(t)
	r := shaped{&fakeRunner{trainer: trainer, outcome: trajectory.OK}, shape}
	return trainer, log, g.Run(context.Background(), scenarios(5), r, score, trainer, trainer, log, silent)
}

// Of ten episodes two may be lost in each step; three may be twice in a row. A third time the run stops and says why,
// with the steps before kept and the step at hand not taken.
func TestMaskedEpisodesStopTheRun(t *testing.T) {
	for _, c := range []struct {
		name  string
		lost  []int // by step
		steps int
	}{
		{"a fifth in each", []int{2, 2, 2, 2, 2, 2, 2}, 7},
		{"more, but not in a row", []int{3, 3, 0, 3, 3, 2, 3}, 7},
		{"more in three", []int{0, 3, 0, 3, 4, 3, 0}, 5},
	} {
		trainer, log, err := shapedRun(t, byRollout, func(step int, e *trajectory.Trajectory) {
			if lost := c.lost[step]; int(e.ScenarioID[0]-'a') < lost && e.Rollout == 0 {
				e.Outcome, e.Error = trajectory.EnvironmentError, "the shop is closed"
			}
		})
		if len(trainer.Steps) != c.steps {
			t.Errorf("%s: %d steps, want %d", c.name, len(trainer.Steps), c.steps)
		}
		told := 0
		for _, text := range log.said {
			if strings.Contains(text, "left out of what is learnt (environment_error)") &&
				strings.Contains(text, "the shop is closed") {
				told++
			}
		}
		if told != 1 {
			t.Errorf("%s: that episodes are lost is said %d times: %q", c.name, told, log.said)
		}
		if c.steps == 7 {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Code != fault.CodeFailures || f.Where != "grpo step 5" || !strings.Contains(f.Why, "30%") ||
			!strings.Contains(f.Why, "environment_error") || !strings.Contains(f.Why, "the shop is closed") ||
			log.latest["grpo"] != 5 {
			t.Errorf("%s: %v, %d steps kept", c.name, err, log.latest["grpo"])
		}
		if got := log.Metric["grpo5"]["masked_ratio"]; got != 0.3 {
			t.Errorf("%s: masked_ratio is %v", c.name, got)
		}
	}
}

// Of episodes that are lost the first of each outcome is named.
func TestTheFirstLostEpisodeIsNamed(t *testing.T) {
	var said []string
	w := watch{notice: func(text string) { said = append(said, text) }, said: map[string]bool{}}
	w.warnLosses(3, []trajectory.Group{
		{Trajectories: []*trajectory.Trajectory{{ID: "fine", Outcome: trajectory.OK}, {ID: "x", Outcome: trajectory.JudgeError, Error: "why"}}},
		{Trajectories: []*trajectory.Trajectory{
			{ID: "y", Outcome: trajectory.JudgeError, Error: "else"},
			{ID: "z", Outcome: trajectory.EnvironmentError, Error: "gone"},
		}},
	})
	if len(said) != 2 || !strings.HasPrefix(said[0], "1 episode of step 3") ||
		!strings.Contains(said[0], "the first z: gone") || !strings.HasPrefix(said[1], "2 episodes of step 3") ||
		!strings.Contains(said[1], "the first x: why") {
		t.Errorf("%q", said)
	}
}

// A step in which most episodes are cut says, once, what to raise: what cut most of them.
func TestCutEpisodesSayWhatToRaise(t *testing.T) {
	for reason, key := range raise {
		_, log, err := shapedRun(t, byRollout, func(step int, e *trajectory.Trajectory) {
			switch n := int(e.ScenarioID[0] - 'a'); {
			case step >= 2 && n < 2:
				e.Outcome, e.StopReason = trajectory.Limit, reason
			case step >= 2 && n == 2 && e.Rollout < step-2: // the sixth of ten from step 3 on, a seventh from 4
				e.Outcome, e.StopReason = trajectory.Limit, trajectory.StopMaxTurns
			default:
				e.StopReason = trajectory.StopCompleted
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		cut := 0
		for _, text := range log.said {
			if strings.Contains(text, "most episodes ("+string(reason)+")") && strings.HasSuffix(text, "raise "+key) {
				cut++
			}
		}
		if cut != 1 || len(log.said) != 1 {
			t.Errorf("%s: said %q", reason, log.said)
		}
		for step, want := range []float64{0, 0, 0.4, 0.5, 0.6, 0.6} {
			if got := log.Metric[fmt.Sprint("grpo", step)]["completions/clipped_ratio"]; got != want {
				t.Errorf("%s: step %d: clipped_ratio %v, want %v", reason, step, got, want)
			}
		}
	}
}

// After three steps without a difference in any group it is said, once; two are let pass.
func TestNothingToLearnIsSaidAfterThreeSteps(t *testing.T) {
	for name, c := range map[string]struct {
		alike func(step int) bool
		said  int
	}{
		"always":         {func(int) bool { return true }, 1},
		"two of three":   {func(step int) bool { return step%3 != 2 }, 0},
		"from step 4 on": {func(step int) bool { return step >= 4 }, 1},
	} {
		said := -1
		g := grpo()
		trainer, log := &fakeTrainer{}, newLog(t)
		var alike atomic.Bool // a group is scored while others run
		r := shaped{
			&fakeRunner{trainer: trainer, outcome: trajectory.OK, before: func(step, _ int) {
				alike.Store(c.alike(step))
			}},
			func(int, *trajectory.Trajectory) {},
		}
		err := g.Run(context.Background(), scenarios(5), r, scoreFunc(func(rollout int) float64 {
			if alike.Load() {
				return 0.25
			}
			return float64(rollout)
		}), trainer, trainer, log, func(stage string, done, _ int, _ string) {
			if stage == "grpo" && len(log.said) > 0 && said < 0 {
				said = done
			}
		})
		if err != nil ||
			len(log.said) != c.said || c.said > 0 && (!strings.Contains(log.said[0], "nothing is learnt: in 3 steps") ||
			!strings.Contains(log.said[0], "0.25")) {
			t.Errorf("%s: %v, said %q", name, err, log.said)
		}
		if name == "always" && said != 3 {
			t.Errorf("said after step %d", said)
		}
	}
}

// Within a step episodes are counted, from 1 to all.
func TestProgressWithinAStep(t *testing.T) {
	trainer := &fakeTrainer{}
	seen := map[string][]int{}
	err := grpo().Run(context.Background(), scenarios(5), &fakeRunner{trainer: trainer, outcome: trajectory.OK},
		scoreFunc(byRollout), trainer, trainer, newLog(t),
		func(stage string, done, total int, note string) {
			if stage == "grpo/episodes" && total == 4 {
				seen[note] = append(seen[note], done)
			}
		})
	if err != nil || len(seen) != 7 || !slices.Equal(seen["of step 7"], []int{1, 2, 3, 4}) {
		t.Errorf("%v: %v", err, seen)
	}
}

// validating runs GRPO with an evaluation on three scenarios each two steps. It stops before an episode, or an
// evaluated one, where that is not never.
func validating(log *memoryLog, stop, stopValidation [2]int) (*fakeTrainer, int, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	trainer := &fakeTrainer{}
	at := func(place [2]int) func(int, int) {
		return func(step, episode int) {
			if [2]int{step, episode} == place {
				cancel()
			}
		}
	}
	g := grpo()
	measured := &fakeRunner{trainer: trainer, outcome: trajectory.OK, before: at(stopValidation)}
	g.Validation = &Validation{Every: 2, Scenarios: scenarios(3), Runner: measured,
		Passed: func(t *trajectory.Trajectory) bool { return t.ScenarioID != "b" }}
	sampled := &fakeRunner{trainer: trainer, outcome: trajectory.OK, before: at(stop)}
	err := g.Run(ctx, scenarios(5), sampled, scoreFunc(byRollout), trainer, trainer, log, silent)
	return trainer, measured.episodes, err
}

// Before the first step, each two steps and at the end the policy of that time is measured, in a stage of its own, with
// a checkpoint to go with it but for the first. Wherever a run is stopped, it goes on to the same, and runs no
// evaluated episode twice.
func TestValidationWithinTraining(t *testing.T) {
	want := newLog(t)
	trainer, episodes, err := validating(want, never, never)
	if err != nil || len(trainer.Steps) != 7 || episodes != 15 || want.latest["grpo"] != 7 {
		t.Fatalf("%v: %d steps, %d evaluated episodes", err, len(trainer.Steps), episodes)
	}
	for _, step := range []int{0, 2, 4, 6, 7} {
		if m := want.Metric[fmt.Sprint("validation", step)]; m["success"] != 2.0/3 || m["masked_ratio"] != 0 {
			t.Errorf("after %d steps: %v", step, m)
		}
		if _, err := os.Stat(want.dir("grpo", step)); err != nil && step > 0 {
			t.Errorf("what was measured is not kept: %v", err)
		}
		for _, id := range []string{"a", "b", "c"} {
			e, ok := want.Kept[fmt.Sprintf("validation %d %s/%d/0", step, id, step)]
			if !ok || e.Turns[0].CompletionIDs[1] != int32(step) { // the policy published then
				t.Errorf("after %d steps, scenario %s: %+v", step, id, e)
			}
		}
	}
	for _, stop := range [][2][2]int{
		{{0, 0}, never}, {{2, 0}, never}, {{3, 1}, never}, {{6, 3}, never}, {never, {2, 0}}, {never, {4, 1}},
		{never, {6, 2}}, {never, {7, 1}}, {never, {0, 1}},
	} {
		log := newLog(t)
		_, first, err := validating(log, stop[0], stop[1])
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("%v: stopped with %v", stop, err)
		}
		again, second, err := validating(log, never, never)
		lost := 0
		if stop[1] != never {
			// the episode that was cut short, and those that had not begun: the fake goes on to its end
			lost = 3 - stop[1][1]
		}
		if err != nil || first+second != 15+lost {
			t.Errorf("%v: %v: %d and %d evaluated episodes", stop, err, first, second)
		}
		if !slices.Equal(again.Steps, trainer.Steps) || !reflect.DeepEqual(log.Metric, want.Metric) ||
			!reflect.DeepEqual(log.Kept, want.Kept) {
			t.Errorf("%v: the resumed run differs", stop)
		}
	}
}

// An evaluation that was recorded is not run again, not for the episodes either that said nothing of the policy.
func TestRecordedValidationIsNotRunAgain(t *testing.T) {
	log, episodes := newLog(t), 0
	for _, stop := range []int{2, -1} { // before an episode of that step
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		trainer, g := &fakeTrainer{}, grpo()
		measured := &fakeRunner{trainer: trainer, outcome: trajectory.OK}
		g.Validation = &Validation{
			Every:     2,
			Scenarios: scenarios(3),
			Passed:    func(*trajectory.Trajectory) bool { return true },
			Runner: shaped{measured, func(_ int, e *trajectory.Trajectory) {
				if e.ScenarioID == "b" {
					e.Outcome = trajectory.EnvironmentError
				}
			}},
		}
		sampled := &fakeRunner{trainer: trainer, outcome: trajectory.OK, before: func(step, _ int) {
			if step == stop {
				cancel()
			}
		}}
		if err := g.Run(ctx, scenarios(5), sampled, scoreFunc(byRollout), trainer, trainer, log,
			silent); (err != nil) != (stop >= 0) {
			t.Fatal(err)
		}
		episodes += measured.episodes
	}
	if m := log.Metric["validation2"]; episodes != 15 || m["success"] != 1 || m["masked_ratio"] != 1.0/3 {
		t.Errorf("%d evaluated episodes, want 15: %v", episodes, m)
	}
}

// A stage ends once so many evaluations in a row made nothing better than the one before them, that of the policy it
// began with among them; it says so, and a run that goes on ends at the same step. Reward tells apart what passes
// alike.
func TestStagesEndWhereNothingGetsBetter(t *testing.T) {
	for name, c := range map[string]struct {
		rewards  []float64 // by evaluation, of the policies after 0, 2, 4, 6 and 7 steps
		patience int
		steps    int
		best     string
	}{
		"never better":        {[]float64{1, 1, 1, 1, 1}, 2, 4, "after step 0 in 2 evaluations"},
		"better once":         {[]float64{1, 2, 1, 2, 1}, 2, 6, "after step 2 in 2 evaluations"},
		"better each time":    {[]float64{1, 2, 3, 4, 5}, 1, 7, ""},
		"worse at once":       {[]float64{2, 1, 3, 4, 5}, 1, 2, "after step 0 in 1 evaluation "},
		"as long as it takes": {[]float64{2, 1, 1, 1, 1}, 0, 7, ""},
	} {
		run := func(log *memoryLog) *fakeTrainer {
			t.Helper()
			trainer, g := &fakeTrainer{}, grpo()
			g.Validation = &Validation{Every: 2, Patience: c.patience, Scenarios: scenarios(3),
				Passed: func(*trajectory.Trajectory) bool { return true },
				Runner: &fakeRunner{trainer: trainer, outcome: trajectory.OK},
				Scorer: scoreFunc(func(int) float64 { return c.rewards[(trainer.published+1)/2] })}
			r := &fakeRunner{trainer: trainer, outcome: trajectory.OK}
			if err := g.Run(t.Context(), scenarios(5), r, scoreFunc(byRollout), trainer, trainer, log,
				silent); err != nil {
				t.Fatal(err)
			}
			return trainer
		}
		log := newLog(t)
		trainer := run(log)
		if len(trainer.Steps) != c.steps || !log.Finished["grpo"] || log.latest["grpo"] != c.steps {
			t.Errorf("%s: %d steps, the last checkpoint is of %d", name, len(trainer.Steps), log.latest["grpo"])
		}
		said := strings.Join(log.said, "; ")
		if c.best == "" && said != "" || !strings.Contains(said, c.best) {
			t.Errorf("%s: said %q", name, said)
		}
		if again := run(log); len(again.Steps) != c.steps {
			t.Errorf("%s: goes on to %d steps", name, len(again.Steps))
		}
	}
}
