package recipe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"hone/internal/episode/rollout"
	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/learn/batch"
)

// judging is a scorer that does something before it scores by rollout.
type judging func(ctx context.Context, s *scenario.Scenario) error

func (j judging) Score(ctx context.Context, s *scenario.Scenario, g trajectory.Group) ([]trajectory.Score, error) {
	if err := j(ctx, s); err != nil {
		return nil, err
	}
	return scoreFunc(byRollout).Score(ctx, s, g)
}

// gated is a runner whose episodes wait before they end.
type gated struct {
	*fakeRunner
	wait func(id string)
}

func (g gated) Run(ctx context.Context, requests <-chan rollout.Request) <-chan *trajectory.Trajectory {
	ended := make(chan *trajectory.Trajectory)
	go func() {
		defer close(ended)
		for t := range g.fakeRunner.Run(ctx, requests) {
			g.wait(t.ID)
			ended <- t
		}
	}()
	return ended
}

// A group is scored while episodes of others run, and they end while it is scored. A scoring that came after all
// episodes, or held them up, would block for ever, which synctest tells.
func TestScoringOverlapsEpisodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, ended := make(chan struct{}), make(chan struct{})
		runner := gated{&fakeRunner{trainer: &fakeTrainer{}, outcome: trajectory.OK}, func(id string) {
			if id == "b/0/1" {
				<-begun
			}
		}}
		scorer := judging(func(_ context.Context, s *scenario.Scenario) error {
			if s.ID == "a" {
				close(begun)
				<-ended
			}
			return nil
		})
		r := Rollouts{
			Stage:     "grpo",
			GroupSize: 2,
			Runner:    runner,
			Scorer:    scorer,
			Log:       newLog(t),
			Progress: func(_ string, done, total int, _ string) {
				if done == total {
					close(ended)
				}
			},
		}
		groups, err := r.Groups(t.Context(), scenarios(2))
		if err != nil || len(groups) != 2 || groups[0].Trajectories[1].Reward != 1 ||
			groups[1].Trajectories[1].Reward != 1 {
			t.Errorf("%v: %+v", err, groups)
		}
	})
}

// Wherever a run is stopped between the end of an episode and its score, the next attempt scores it and runs it not
// again, to the same steps, rewards and metrics.
func TestStoppedScoringGoesOn(t *testing.T) {
	run := func(log *memoryLog, stop int32) (trainer *fakeTrainer, episodes int, err error) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var n atomic.Int32
		trainer = &fakeTrainer{}
		r := &fakeRunner{trainer: trainer, outcome: trajectory.OK}
		err = grpo().Run(ctx, scenarios(5), r, judging(func(ctx context.Context, _ *scenario.Scenario) error {
			if n.Add(1) == stop {
				cancel()
			}
			return ctx.Err()
		}), trainer, trainer, log, silent)
		return trainer, r.episodes, err
	}
	wantLog := newLog(t)
	want, all, err := run(wantLog, 0)
	if err != nil || all != 28 || len(wantLog.Earned) != 28 {
		t.Fatalf("%v: %d episodes, %d scores", err, all, len(wantLog.Earned))
	}
	for stop := range int32(14) {
		log := newLog(t)
		_, before, err := run(log, stop+1)
		if !errors.Is(err, context.Canceled) || len(log.Earned) >= len(log.Kept) {
			t.Fatalf("stopped at %d: %v, %d scores of %d episodes", stop, err, len(log.Earned), len(log.Kept))
		}
		kept := len(log.Kept)
		got, after, err := run(log, 0)
		if err != nil || kept+after != all || before < kept {
			t.Errorf("stopped at %d: %v, %d episodes kept, %d run again, want %d in all", stop, err, kept, after, all)
		}
		if !slices.Equal(got.Steps, want.Steps) || !reflect.DeepEqual(log.Metric, wantLog.Metric) ||
			!reflect.DeepEqual(log.Kept, wantLog.Kept) || !reflect.DeepEqual(log.Earned, wantLog.Earned) {
			t.Errorf("stopped at %d: the run differs", stop)
		}
	}
}

// A term that fails masks its group, which is counted and not trained on; the others are.
func TestAFailedTermMasksItsGroup(t *testing.T) {
	trainer, log := &watched{fakeTrainer: &fakeTrainer{}}, newLog(t)
	g := grpo()
	g.GroupsPerStep, g.Steps = 5, 1
	runner := gated{&fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK}, func(string) {}}
	err := g.Run(t.Context(), scenarios(5), runner, judging(func(_ context.Context, s *scenario.Scenario) error {
		if s.ID == "c" {
			return errors.New("the judge says nothing")
		}
		return nil
	}), trainer, trainer, log, silent)
	m := log.Metric["grpo0"]
	if err != nil || m["outcome/judge_error"] != 2 || m["outcome/ok"] != 8 || math.Abs(m["masked_ratio"]-0.2) > 1e-12 ||
		m["frac_groups_empty"] != 0.2 || m["reward"] != 0.5 {
		t.Errorf("%v: %v", err, m)
	}
	if len(trainer.given) != 1 || len(trainer.given[0].Rows) != 8 {
		t.Fatalf("trained on %+v", trainer.given)
	}
	if got := log.Earned["grpo c/0/1"]; got.Outcome != trajectory.JudgeError || got.Error != "the judge says nothing" ||
		got.Terms != nil {
		t.Errorf("kept %+v", got)
	}
	if raw := log.Kept["grpo 0 c/0/1"]; raw.Outcome != trajectory.OK {
		t.Errorf("the episode as it ended is kept as %s", raw.Outcome)
	}
}

// Episodes whose outcome is not the policy's keep it in a masked group.
func TestAMaskedGroupKeepsItsLostEpisodes(t *testing.T) {
	g := trajectory.Group{Trajectories: []*trajectory.Trajectory{
		{Outcome: trajectory.OK},
		{Outcome: trajectory.EnvironmentError, Error: "gone"},
		{Outcome: trajectory.Limit},
	}}
	g.Take(maskedScores(g, errors.New("no judge")))
	var got []string
	for _, x := range g.Trajectories {
		got = append(got, string(x.Outcome)+": "+x.Error)
	}
	if want := []string{"judge_error: no judge", "environment_error: gone",
		"judge_error: no judge"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// What a masked group lacks is its score alone: a run that resumes within the step runs none of its episodes again.
func TestMaskedGroupsAreScoredAgain(t *testing.T) {
	log, down := newLog(t), true
	r := &fakeRunner{trainer: &fakeTrainer{}, outcome: trajectory.OK}
	scorer := judging(func(context.Context, *scenario.Scenario) error {
		if down {
			return &fault.Error{Code: fault.CodeUnavailable, What: "the judge is gone"}
		}
		return nil
	})
	_, err := Evaluation{Stage: "eval", Runner: r, Scorer: scorer, Log: log, Progress: silent}.Run(t.Context(),
		scenarios(3))
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.What != "no episode could be scored" ||
		!strings.Contains(f.Why, "the judge is gone") || r.episodes != 3 {
		t.Fatalf("%v after %d episodes", err, r.episodes)
	}
	down = false
	ts, err := Evaluation{Stage: "eval", Runner: r, Scorer: scorer, Log: log, Progress: silent}.Run(t.Context(),
		scenarios(3))
	if err != nil || r.episodes != 3 || len(ts) != 3 || ts[2].Outcome != trajectory.OK || len(ts[2].Terms) != 1 {
		t.Errorf("%v: %d episodes in all, %+v", err, r.episodes, ts)
	}
}

// What the next group would meet too stops the run at once, with the steps before it and the episodes at hand kept.
func TestAFailedTermStopsTheRun(t *testing.T) {
	for code, stopped := range map[fault.Code]bool{
		fault.CodeBudget: true, fault.CodeUsage: true, fault.CodeExhausted: true, fault.CodeStopped: true,
		fault.CodeError: false, fault.CodeUnavailable: false, fault.CodeFailures: false,
	} {
		trainer, log := &fakeTrainer{}, newLog(t)
		r := &fakeRunner{trainer: trainer, outcome: trajectory.OK}
		var n atomic.Int32
		err := grpo().Run(t.Context(), scenarios(5), r, judging(func(context.Context, *scenario.Scenario) error {
			if n.Add(1) == 3 { // in the second step
				return fmt.Errorf("the term: %w", &fault.Error{Code: code, What: "spent"})
			}
			return nil
		}), trainer, trainer, log, silent)
		if (err != nil) != stopped || err != nil && fault.CodeOf(err) != code {
			t.Errorf("code %d: %v", code, err)
		}
		if stopped && (log.latest["grpo"] != 1 || len(trainer.Steps) != 1 || len(log.Metric) != 1) {
			t.Errorf("code %d: of %d steps %d are kept, %d measured",
				code, len(trainer.Steps), log.latest["grpo"], len(log.Metric))
		}
	}
}

// full is a log that has no room for some of what it is to keep.
type full struct {
	*memoryLog
	of string
}

var errFull = errors.New("no space left")

func (f full) Trajectory(stage string, step int, t *trajectory.Trajectory) error {
	if f.of == "trajectories" {
		return errFull
	}
	return f.memoryLog.Trajectory(stage, step, t)
}

func (f full) Metrics(stage string, step int, m map[string]float64) error {
	if f.of == fmt.Sprintf("%s metrics %d", stage, step) {
		return errFull
	}
	return f.memoryLog.Metrics(stage, step, m)
}

func (f full) Finish(stage string) error {
	if f.of == "stages" {
		return errFull
	}
	return f.memoryLog.Finish(stage)
}

func (f full) Scores(stage string, g trajectory.Group, scores []trajectory.Score) error {
	if f.of == "scores" {
		return errFull
	}
	return f.memoryLog.Scores(stage, g, scores)
}

// A log that cannot keep what was made ends the stage; a scorer that forgets an episode too.
func TestWhatCannotBeKeptEndsTheStage(t *testing.T) {
	for _, of := range []string{"trajectories", "scores"} {
		log := full{newLog(t), of}
		r := &fakeRunner{trainer: &fakeTrainer{}, outcome: trajectory.OK}
		if _, err := (Evaluation{Stage: "eval", Runner: r, Scorer: scoreFunc(byRollout), Log: log,
			Progress: silent}).Run(t.Context(), scenarios(3)); !errors.Is(err, errFull) || log.Finished["eval"] {
			t.Errorf("no room for %s: %v", of, err)
		}
	}
	r := &fakeRunner{trainer: &fakeTrainer{}, outcome: trajectory.OK}
	if _, err := (Evaluation{Stage: "eval",
		Runner: r, Scorer: forgetful{}, Log: newLog(t), Progress: silent}).Run(t.Context(), scenarios(3)); err == nil ||
		!strings.Contains(err.Error(), "0 scores to 1 episodes") {
		t.Errorf("a scorer without scores: %v", err)
	}
}

// An evaluation whose end cannot be kept has no result: who reads only that would take it for one that ended.
func TestAnEvaluationWhoseEndIsNotKeptHasNoResult(t *testing.T) {
	r := &fakeRunner{trainer: &fakeTrainer{}, outcome: trajectory.OK}
	if ts, err := (Evaluation{Stage: "eval", Runner: r, Scorer: scoreFunc(byRollout), Log: full{newLog(t), "stages"},
		Progress: silent}).Run(t.Context(), scenarios(3)); !errors.Is(err, errFull) || ts != nil {
		t.Errorf("%v, with %d episodes", err, len(ts))
	}
}

// A step that was taken is kept although its metrics are not, and the run goes on after it.
func TestAStepWithoutMetricsIsKept(t *testing.T) {
	for stage, train := range map[string]func(*fakeTrainer, Log) error{
		"grpo": func(f *fakeTrainer, log Log) error {
			return grpo().Run(t.Context(), scenarios(5), &fakeRunner{trainer: f, outcome: trajectory.OK},
				scoreFunc(byRollout), f, f, log, silent)
		},
		"sft": func(f *fakeTrainer, log Log) error {
			rows := []batch.Sequence{{IDs: []int32{1, 2}, Trained: []bool{false, true}}}
			return SFT{Stage: "sft", Steps: 5, BatchSize: 1}.Run(t.Context(), rows, f, nil, log, silent)
		},
	} {
		whole, f, log, again := &fakeTrainer{}, &fakeTrainer{}, newLog(t), &fakeTrainer{}
		if err := train(whole, newLog(t)); err != nil {
			t.Fatal(err)
		}
		err := train(f, full{log, stage + " metrics 2"})
		if !errors.Is(err, errFull) || len(f.Steps) != 3 || log.latest[stage] != 3 {
			t.Errorf("%s: %v; of %d steps %d are kept", stage, err, len(f.Steps), log.latest[stage])
		}
		if err := train(again, log); err != nil || !slices.Equal(again.Steps, whole.Steps) {
			t.Errorf("%s: %v, resumed to %d steps that differ", stage, err, len(again.Steps))
		}
	}
}

// Once the run is stopped nothing more is scored, though whole groups still come: a judge costs.
func TestNothingIsScoredAfterAStop(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	log, asked := newLog(t), new(atomic.Int32)
	r := deaf{before: cancel}
	_, err := Rollouts{
		Stage:     "grpo",
		GroupSize: 2,
		Runner:    r,
		Log:       log,
		Progress:  silent,
		Scorer: judging(func(context.Context, *scenario.Scenario) error {
			asked.Add(1)
			return nil
		}),
	}.Groups(ctx, scenarios(3))
	if !errors.Is(err, context.Canceled) || asked.Load() != 0 || len(log.Kept) != 6 {
		t.Errorf("%v: %d groups scored, %d episodes kept", err, asked.Load(), len(log.Kept))
	}
}

// deaf is a runner whose episodes end by themselves after a stop.
type deaf struct{ before func() }

func (d deaf) Run(_ context.Context, requests <-chan rollout.Request) <-chan *trajectory.Trajectory {
	d.before()
	return (&fakeRunner{trainer: &fakeTrainer{}, outcome: trajectory.OK}).Run(context.Background(), requests)
}

type forgetful struct{}

func (forgetful) Score(context.Context, *scenario.Scenario, trajectory.Group) ([]trajectory.Score, error) {
	return nil, nil
}

// Kept episodes leave their places free: the others get the slots, and with them the tokens, that they would have had.
func TestPlacesDoNotDependOnWhatWasKept(t *testing.T) {
	log := newLog(t)
	list := scenarios(2)
	for _, at := range []place{{"a", 1}, {"b", 0}} {
		s := list[at.scenarioID[0]-'a']
		if err := log.Trajectory("grpo", 4, &trajectory.Trajectory{ID: fmt.Sprintf("%s/4/%d", s.ID, at.number),
			ScenarioID: s.ID, Scenario: s.Hash(), Rollout: at.number, Outcome: trajectory.OK}); err != nil {
			t.Fatal(err)
		}
	}
	r := Rollouts{Stage: "grpo", Step: 4, Again: true, GroupSize: 3, Log: log}
	kept, err := r.keptEpisodes(list)
	if err != nil {
		t.Fatal(err)
	}
	got := map[int]string{}
	p, err := r.plan(t.Context(), list)
	if err != nil || len(kept) != 2 {
		t.Fatal(err, kept)
	}
	for q := range p.requests {
		got[q.Place] = fmt.Sprintf("%s%d%d", q.Scenario.ID, q.Step, q.Rollout)
	}
	if want := map[int]string{0: "a40", 2: "a42", 4: "b41", 5: "b42"}; !maps.Equal(got, want) {
		t.Errorf("asked for %v, want %v", got, want)
	}
	r.GroupSize = 1 // a rollout that the step has no more
	if kept, err := r.keptEpisodes(list); err != nil || len(kept) != 1 {
		t.Errorf("%v: kept %v", err, kept)
	}
}

// A group of which one score was lost is scored again, whole; its episodes are not run again.
func TestAGroupIsScoredWhole(t *testing.T) {
	log, n := newLog(t), new(atomic.Int32)
	r := &fakeRunner{trainer: &fakeTrainer{}, outcome: trajectory.OK}
	of := Rollouts{
		Stage:     "grpo",
		Again:     true,
		GroupSize: 2,
		Runner:    r,
		Log:       log,
		Progress:  silent,
		Scorer: judging(func(context.Context, *scenario.Scenario) error {
			n.Add(1)
			return nil
		}),
	}
	for _, want := range []int32{2, 3, 3} {
		groups, err := of.Groups(t.Context(), scenarios(2))
		if err != nil || r.episodes != 4 || n.Load() != want || groups[0].Trajectories[1].Reward != 1 {
			t.Errorf("%v: %d episodes, %d groups scored, want 4, %d; %+v", err, r.episodes, n.Load(), want, groups)
		}
		if want == 2 {
			delete(log.Earned, "grpo a/0/1")
		}
	}
}
