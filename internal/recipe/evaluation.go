package recipe

import (
	"context"
	"errors"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
)

// Evaluation measures a policy: it runs each scenario so many times, and learns nothing.
type Evaluation struct {
	Stage    string
	Step     int
	Repeats  int // episodes of each scenario, each from a random stream of its own, the same for every policy; 0: 1
	Runner   Runner
	Scorer   Scorer
	Log      EvaluationLog
	Progress Progress
	// Lost is told of each episode that says nothing about the policy, as it is kept. Its error gives the policy up: no
	// further episode is run. nil: none is given up.
	Lost func(*trajectory.Trajectory) error
}

// EvaluationLog keeps the episodes of an evaluation.
type EvaluationLog interface {
	Episodes
	Finish(stage string) error
}

// ErrGivenUp is in the error of an evaluation that Lost ended.
var ErrGivenUp = errors.New("too many episodes failed for reasons that are not the policy's")

// Run runs the episodes under the policy that is published, keeps them as a step of a stage of the log, and returns
// them by scenario and repeat. Those that an earlier attempt kept are not run again. Where none of them says anything
// about the policy, or Lost gave it up, those there are come with an error that says why, and the stage is not
// finished.
func (e Evaluation) Run(ctx context.Context, scenarios []scenario.Scenario) ([]*trajectory.Trajectory, error) {
	ts, err := e.Part(ctx, scenarios)
	if err == nil {
		err = NothingRan(ts)
	}
	if err != nil {
		return ts, err
	}
	if err := e.Log.Finish(e.Stage); err != nil {
		return nil, err
	}
	return ts, nil
}

// Part is Run of some scenarios of the stage, which it does not finish. That none of its episodes says anything about
// the policy is no error: others of the stage may, see NothingRan.
func (e Evaluation) Part(ctx context.Context, scenarios []scenario.Scenario) ([]*trajectory.Trajectory, error) {
	rollouts := Rollouts{Stage: e.Stage, Step: e.Step, Again: true, GroupSize: max(1, e.Repeats), Runner: e.Runner,
		Scorer: e.Scorer, Log: e.Log, Progress: e.Progress, Lost: e.Lost}
	groups, err := rollouts.Groups(ctx, scenarios)
	if err != nil && !errors.Is(err, ErrGivenUp) {
		return nil, err
	}
	var ts []*trajectory.Trajectory
	for _, g := range groups {
		for _, t := range g.Trajectories {
			if t != nil { // it was run
				ts = append(ts, t)
			}
		}
	}
	return ts, err
}
