package recipe

import (
	"context"
	"fmt"

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

// EvalLog is a Log that also keeps evaluations whole.
type EvalLog interface {
	Log
	// Evaluated returns the trajectories of a finished evaluation; ok is false where it is not finished.
	Evaluated(stage string) (ts []*trajectory.Trajectory, ok bool, err error)
	// FinishEvaluation marks a stage finished.
	FinishEvaluation(stage string) error
}

// System is one evaluated policy: "base", "sft", "grpo".
type System struct {
	Name         string
	Trajectories []*trajectory.Trajectory
}

// Run runs what is left of the pipeline and returns all evaluations. sampled runs episodes at the training
// temperature, greedy those of the evaluations.
func (p Pipeline) Run(ctx context.Context, d Data, sampled, greedy Runner, scorer Scorer, trainer Trainer, log EvalLog,
	progress Progress) ([]System, error) {
	var systems []System
	evaluate := func(name string) error {
		ts, err := Evaluate(ctx, "eval_"+name, d.Test, greedy, scorer, log, progress)
		systems = append(systems, System{name, ts})
		return err
	}
	if err := evaluate("base"); err != nil { // the adapter is fresh, so it changes nothing yet
		return nil, err
	}
	if err := p.SFT.Run(ctx, d.Demonstrations, trainer, log, progress); err != nil {
		return nil, err
	}
	if err := evaluate("sft"); err != nil {
		return nil, err
	}
	if err := p.GRPO.Run(ctx, d.Train, sampled, scorer, trainer, log, progress); err != nil {
		return nil, err
	}
	if err := evaluate("grpo"); err != nil {
		return nil, err
	}
	return systems, nil
}

// Evaluate runs one episode of each scenario under the published policy, keeps the trajectories as a stage of the log,
// and returns them; a finished stage is read back instead.
func Evaluate(ctx context.Context, stage string, scenarios []scenario.Scenario, runner Runner, scorer Scorer, log EvalLog,
	progress Progress) ([]*trajectory.Trajectory, error) {
	return sampleAll(ctx, stage, scenarios, 1, runner, scorer, log, progress)
}

// sampleAll is Evaluate with groupSize episodes of each scenario.
func sampleAll(ctx context.Context, stage string, scenarios []scenario.Scenario, groupSize int, runner Runner, scorer Scorer,
	log EvalLog, progress Progress) ([]*trajectory.Trajectory, error) {
	if ts, ok, err := log.Evaluated(stage); err != nil || ok {
		return ts, err
	}
	byID := map[string]*scenario.Scenario{}
	for i := range scenarios {
		byID[scenarios[i].ID] = &scenarios[i]
	}
	var logErr error
	done := 0
	groups := runner.Each(ctx, scenarios, groupSize, 0, func(t *trajectory.Trajectory) {
		if ctx.Err() != nil {
			return // an episode cut short by the user is not a result
		}
		scorer.Score(byID[t.ScenarioID], t)
		if err := log.Trajectory(stage, 0, t); err != nil && logErr == nil {
			logErr = err
		}
		done++
		progress(stage, done, len(scenarios)*groupSize, "")
	})
	if logErr != nil {
		return nil, logErr
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var ts []*trajectory.Trajectory
	for _, g := range groups {
		ts = append(ts, g.Trajectories...)
	}
	if len(ts) != len(scenarios)*groupSize {
		return nil, fmt.Errorf("%s: %d groups of %d gave %d trajectories", stage, len(scenarios), groupSize, len(ts))
	}
	return ts, log.FinishEvaluation(stage)
}
