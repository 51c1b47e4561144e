package recipe

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/learn/batch"
)

// unstable is a trainer whose gradient has no norm at some of the optimiser steps that are tried.
type unstable struct {
	*fakeTrainer
	at    func(try int) bool
	tries int
}

func (u *unstable) Apply(o batch.Update) (float64, error) {
	u.tries++
	if u.at(u.tries - 1) {
		return 0, fmt.Errorf("the norm of the gradient is NaN: %w", batch.ErrNotFinite)
	}
	return u.fakeTrainer.Apply(o)
}

// A step whose gradient has no norm, of which no row is to blame, is skipped, and said; the third of 32 ends the run at
// its place, and the steps before are kept.
func TestAStepWithoutANormIsSkipped(t *testing.T) {
	for name, c := range map[string]struct {
		at      func(try int) bool
		skipped []int
		taken   int // optimiser steps
		ends    int // at which step; -1: it does not
	}{
		"none":       {func(int) bool { return false }, nil, 7, -1},
		"one":        {func(try int) bool { return try == 2 }, []int{2}, 6, -1},
		"two":        {func(try int) bool { return try == 2 || try == 5 }, []int{2, 5}, 5, -1},
		"each of it": {func(try int) bool { return try >= 1 }, []int{1, 2}, 1, 3},
	} {
		trainer, log := &unstable{fakeTrainer: &fakeTrainer{}, at: c.at}, newLog(t)
		err := grpo().Run(t.Context(), scenarios(5), &fakeRunner{trainer: trainer.fakeTrainer, outcome: trajectory.OK},
			scoreFunc(byRollout), trainer, trainer, log, silent)
		f, is := errors.AsType[*fault.Error](err)
		if is != (c.ends >= 0) || is && f.Where != fmt.Sprintf("grpo step %d", c.ends) ||
			len(trainer.Steps) != c.taken || len(log.said) != len(c.skipped) {
			t.Errorf("%s: %v after %d optimiser steps; said %q", name, err, len(trainer.Steps), log.said)
		}
		for i, step := range c.skipped {
			if i < len(log.said) && !strings.HasPrefix(log.said[i], fmt.Sprintf("step %d is skipped", step)) ||
				log.Metric[fmt.Sprint("grpo", step)][skippedMetric] != 1 {
				t.Errorf("%s: step %d: said %q, metrics %v", name, step, log.said, log.Metric[fmt.Sprint("grpo", step)])
			}
		}
	}
}

// What is beside the groups is left out by its own number, and the episodes of a group by theirs.
func TestMaskTakesOutByNumber(t *testing.T) {
	of := func(outcomes ...trajectory.Outcome) (g trajectory.Group) {
		for _, o := range outcomes {
			g.Trajectories = append(g.Trajectories, &trajectory.Trajectory{Outcome: o})
		}
		return g
	}
	s := &Step{Sampling: Sampling{Groups: []trajectory.Group{of(trajectory.OK, trajectory.OK),
		of(trajectory.OK, trajectory.Limit)}}, More: []batch.Earlier{{Advantage: 1}, {Advantage: 2}}}
	s.mask([]int{1, 2, 4})
	var got []trajectory.Outcome
	for _, g := range s.Groups {
		for _, t := range g.Trajectories {
			got = append(got, t.Outcome)
		}
	}
	want := fmt.Sprint([]trajectory.Outcome{trajectory.OK, trajectory.InfrastructureError,
		trajectory.InfrastructureError, trajectory.Limit})
	if fmt.Sprint(got) != want || len(s.More) != 1 || s.More[0].Advantage != 2 {
		t.Errorf("%v, and beside them %v", got, s.More)
	}
}
