package recipe

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
)

// rescored is a group whose episodes earned one thing, and now earn another.
func rescored(stage string, was, now []float64, outcomes ...trajectory.Outcome) Rescored {
	r := Rescored{Stage: stage, Group: trajectory.Group{ScenarioID: "a"}}
	for i := range was {
		t := &trajectory.Trajectory{Outcome: trajectory.OK}
		if i < len(outcomes) {
			t.Outcome = outcomes[i]
		}
		r.Group.Trajectories = append(r.Group.Trajectories, t)
		r.Was, r.Now = append(r.Was, trajectory.Score{Reward: was[i]}), append(r.Now, trajectory.Score{Reward: now[i]})
	}
	return r
}

func TestReordered(t *testing.T) {
	const lost = trajectory.EnvironmentError
	for name, c := range map[string]struct {
		r    Rescored
		want bool
	}{
		"as before":            {rescored("", []float64{0, 1, 2}, []float64{0, 1, 2}), false},
		"scaled":               {rescored("", []float64{0, 1, 2}, []float64{1, 3, 5}), false},
		"rounded otherwise":    {rescored("", []float64{0.3, 0.3}, []float64{0.3, 0.1 + 0.2}), false},
		"two exchanged":        {rescored("", []float64{0, 1, 2}, []float64{0, 2, 1}), true},
		"told apart":           {rescored("", []float64{1, 1}, []float64{1, 2}), true},
		"told apart no longer": {rescored("", []float64{1, 2}, []float64{1, 1}), true},
		"a lost episode":       {rescored("", []float64{0, 1, 2}, []float64{9, 1, 2}, lost), false},
	} {
		if got := c.r.ChangesOrder(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Means are over episodes that were scored then and now.
func TestChangesAreByStage(t *testing.T) {
	failed := rescored("grpo", []float64{1, 1}, []float64{0, 0})
	for i := range failed.Now {
		failed.Now[i].Outcome = trajectory.JudgeError
	}
	groups := []Rescored{
		rescored("grpo", []float64{1, 2}, []float64{2, 1}), rescored("validation", []float64{1}, []float64{1}),
		rescored("grpo", []float64{0, 3, 7}, []float64{0, 6, 9}, trajectory.OK, trajectory.OK,
			trajectory.EnvironmentError), failed,
	}
	want := []Change{
		{Stage: "grpo", Episodes: 4, Was: 6.0 / 4, Now: 9.0 / 4, Changed: 3, Groups: 3, Reordered: 1, Unscored: 2},
		{Stage: "validation", Episodes: 1, Was: 1, Now: 1, Groups: 1},
	}
	if got := Changes(groups); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A term that fails masks its group here too, or stops.
func TestRescoreFollowsTheRuleOfFailures(t *testing.T) {
	list := scenarios(2)
	known := map[string]*scenario.Scenario{"a": &list[0], "b": &list[1]}
	groups := func() (all []Rescored) {
		for _, s := range list {
			all = append(all, Rescored{
				Stage: "grpo",
				Group: trajectory.Group{ScenarioID: s.ID,
					Trajectories: []*trajectory.Trajectory{{ScenarioID: s.ID, Outcome: trajectory.OK}}},
				Was: make([]trajectory.Score, 1),
			})
		}
		return all
	}
	spent := &fault.Error{Code: fault.CodeBudget, What: "spent"}
	for _, failure := range []error{errors.New("no judge"), spent} {
		all := groups()
		scorer := judging(func(_ context.Context, s *scenario.Scenario) error {
			if s.ID == "b" {
				return failure
			}
			return nil
		})
		err := Rescore(t.Context(), all, known, func(string) Scorer { return scorer })
		if errors.Is(err, spent) != (failure == error(spent)) ||
			err == nil && (all[0].Now[0].Outcome != "" || all[1].Now[0].Outcome != trajectory.JudgeError) {
			t.Errorf("%v: %v, %+v", failure, err, all)
		}
	}
}
