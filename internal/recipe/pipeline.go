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
func (p Pipeline) Run(
	ctx context.Context, d Data, sampled, greedy Runner, scorer Scorer, trainer Trainer, publisher Publisher, log Log,
	progress Progress,
) ([]System, error) {
	var systems []System
	evaluate := func(name string) error {
		ts, err := Evaluation{Stage: "eval_" + name, Runner: greedy, Scorer: scorer, Log: log,
			Progress: progress}.Run(ctx, d.Test)
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
