package recipe

import (
	"context"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/learn/batch"
)

// Pipeline is the whole loop on one adapter: base eval, SFT, eval, GRPO, eval. A stage that the log already holds is
// not done again, so a stopped pipeline goes on where it was.
type Pipeline struct {
	SFT  SFT
	GRPO GRPO
}

// Data is what a pipeline learns from and is measured on.
type Data struct {
	Demonstrations []batch.Sequence    // executed traces, for SFT
	Train          []scenario.Scenario // for GRPO
	Test           []scenario.Scenario // seen by no stage but the evaluations
}

// System is one evaluated policy: "base", "sft", "grpo".
type System struct {
	Name         string
	Trajectories []*trajectory.Trajectory
}

// Run runs what is left of the pipeline and returns all evaluations. sampled runs episodes at the training
// temperature, greedy those of the evaluations.
func (p Pipeline) Run(ctx context.Context, d Data, sampled, greedy Runner, scorer Scorer, trainer Trainer, publisher Publisher,
	log Log, progress Progress) ([]System, error) {
	var systems []System
	evaluate := func(name string) error {
		ts, err := Evaluate(ctx, "eval_"+name, 0, d.Test, greedy, scorer, log, progress)
		systems = append(systems, System{name, ts})
		return err
	}
	if err := Publish(publisher, "eval_base"); err != nil {
		return nil, err
	}
	if err := evaluate("base"); err != nil { // the adapter is fresh, so it changes nothing yet
		return nil, err
	}
	if err := p.SFT.Run(ctx, d.Demonstrations, trainer, publisher, log, progress); err != nil {
		return nil, err
	}
	if err := evaluate("sft"); err != nil {
		return nil, err
	}
	if err := p.GRPO.Run(ctx, d.Train, sampled, scorer, trainer, publisher, log, progress); err != nil {
		return nil, err
	}
	if err := evaluate("grpo"); err != nil {
		return nil, err
	}
	return systems, nil
}

// Evaluate runs one episode of each scenario under the published policy, keeps the trajectories as a step of a stage of the
// log, and returns them in the order of scenarios. Those that an earlier attempt kept are not run again. Where none of them says
// anything about the policy, they come with an error that says why, and the stage is not finished.
func Evaluate(ctx context.Context, stage string, step int, scenarios []scenario.Scenario, runner Runner, scorer Scorer, log interface {
	Episodes
	Finish(stage string) error
}, progress Progress) ([]*trajectory.Trajectory, error) {
	rollouts := Rollouts{Stage: stage, Step: step, Again: true, GroupSize: 1, Runner: runner, Scorer: scorer, Log: log, Progress: progress}
	groups, err := rollouts.Groups(ctx, scenarios)
	if err != nil {
		return nil, err
	}
	var ts []*trajectory.Trajectory
	for _, g := range groups {
		ts = append(ts, g.Trajectories...)
	}
	if err := nothingRan(groups); err != nil {
		return ts, err
	}
	if err := log.Finish(stage); err != nil {
		return nil, err
	}
	return ts, nil
}
