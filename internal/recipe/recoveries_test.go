package recipe

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// recovering goes on from the second episode of each scenario but a.
func recovering() GRPO {
	g := grpo()
	g.GroupsPerStep = 3
	g.Recoveries = Recoveries{Most: 2, Of: func(s *scenario.Scenario, t *trajectory.Trajectory) (scenario.Scenario, bool) {
		return scenario.Scenario{ID: strings.ToUpper(s.ID), Task: fmt.Sprint("after ", t.ID)}, t.Rollout == 1 && s.ID != "a"
	}}
	return g
}

// Groups that go on from failed calls are sampled from the step's policy in a stage of their own, at most so many, and are learnt from in its optimiser
// step; the step's metrics of episodes are of the others. A run that is stopped in them goes on to the same.
func TestRecoveriesAreLearntFrom(t *testing.T) {
	run := func(ctx context.Context, log *memoryLog, before func(step, episode int)) (*watched, int, error) {
		trainer := &watched{fakeTrainer: &fakeTrainer{}}
		r := &fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK, before: before}
		err := recovering().Run(ctx, scenarios(4), r, scoreFunc(byRollout), trainer, trainer, log, silent)
		return trainer, r.episodes, err
	}
	wantLog := newLog(t)
	want, all, err := run(t.Context(), wantLog, nil)
	if err != nil || all != 7*2*(3+2) || len(want.given) != 7 {
		t.Fatalf("%v: %d episodes, %d optimiser steps", err, all, len(want.given))
	}
	for step, b := range want.given {
		m := wantLog.Metric[fmt.Sprint("grpo", step)]
		if len(b.Rows) != 2*(3+2) || m["recoveries"] != 2 || m["recoveries/reward"] != 0.5 || m["outcome/ok"] != 6 {
			t.Errorf("step %d: %d rows, %v", step, len(b.Rows), m)
		}
	}
	kept := 0
	for key := range wantLog.Kept {
		if strings.HasPrefix(key, "grpo_recoveries ") {
			kept++
		}
	}
	if kept != 7*2*2 {
		t.Errorf("%d episodes of recoveries are kept", kept)
	}
	goesOn(t, run, want, wantLog, all)
}

// goesOn stops a run before each of ten episodes of step 3, and asks that it goes on to the same, with no episode run twice.
func goesOn(t *testing.T, run func(ctx context.Context, log *memoryLog, before func(step, episode int)) (*watched, int, error), want *watched, wantLog *memoryLog, all int) {
	t.Helper()
	for n := range 10 {
		log, asked := newLog(t), 0
		ctx, cancel := context.WithCancel(t.Context())
		_, first, err := run(ctx, log, func(step, _ int) {
			if step == 3 {
				if asked == n {
					cancel()
				}
				asked++
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped before episode %d with %v", n, err)
		}
		kept := len(log.Kept)
		again, second, err := run(t.Context(), log, nil)
		if err != nil || kept+second != all || !slices.Equal(again.Steps, want.Steps) || !reflect.DeepEqual(log.Metric, wantLog.Metric) {
			t.Errorf("stopped before episode %d: %v: %d episodes, of which %d are kept, and %d, of %d", n, err, first, kept, second, all)
		}
		cancel()
	}
}
