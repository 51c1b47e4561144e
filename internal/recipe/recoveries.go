package recipe

import (
	"context"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// Recoveries are groups that go on from where an episode of the step had a call that failed (Fission-GRPO, arXiv 2601.15625): they are sampled from the same
// policy, compared with each other alone, and learnt from in the same optimiser step. The zero value has none.
type Recoveries struct {
	Most int // groups of a step, of different scenarios; the first that there are by the order of the step's groups
	// Of is the task to go on from the first failed call of an episode, and whether there is one. It depends on its arguments alone, so that a run which
	// is stopped goes on to the same.
	Of func(s *scenario.Scenario, t *trajectory.Trajectory) (scenario.Scenario, bool)
}

// On reports whether there are any.
func (r Recoveries) On() bool { return r.Most > 0 }

// RecoveryStage is the stage that keeps the episodes of another's recoveries.
func RecoveryStage(stage string) string { return stage + "_recoveries" }

// tasks are the scenarios to go on with: of each group the first episode that has one.
func (r Recoveries) tasks(groups []trajectory.Group, scenarios []scenario.Scenario) (list []scenario.Scenario) {
	byID := map[string]*scenario.Scenario{}
	for i := range scenarios {
		byID[scenarios[i].ID] = &scenarios[i]
	}
	for _, g := range groups {
		for _, t := range g.Trajectories {
			if len(list) == r.Most {
				return list
			}
			if s, ok := r.Of(byID[g.ScenarioID], t); ok {
				list = append(list, s)
				break
			}
		}
	}
	return list
}

// sample runs the recoveries of a step's groups, as the rollouts that these came from were run.
func (r Recoveries) sample(ctx context.Context, of Rollouts, groups []trajectory.Group, scenarios []scenario.Scenario) ([]trajectory.Group, error) {
	if !r.On() {
		return nil, nil
	}
	list := r.tasks(groups, scenarios)
	if len(list) == 0 {
		return nil, nil
	}
	of.Stage, of.Others, of.Keep = RecoveryStage(of.Stage), nil, nil
	return of.Groups(ctx, list)
}
