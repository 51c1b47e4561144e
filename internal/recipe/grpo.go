package recipe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/learn/batch"
)

// GRPO: group-relative policy optimisation (arXiv 2402.03300) with the token-mean, clip-higher loss of DAPO
// (arXiv 2503.14476), or another of package objective. Each step samples a group of episodes per scenario from the current policy on live servers,
// scores them, and raises the log-probability of every sampled token in proportion to how much better than its group
// its episode did:
//
//	A_i  = (r_i - mean r) / (std r + 1e-4)                         over the group, one value for all tokens of episode i
//	rho  = exp(trainer logprob - sampler logprob)                  per sampled token
//	loss = - mean over tokens of min(rho A, clip(rho, 1-low, 1+high) A)
//
// Sampled tokens are those the policy wrote: prompts and tool results are read, never trained on. The mean runs over
// the sampled tokens of the whole step, those of groups in which all rewards are equal too: their A is 0, so they are not
// computed, but they count, as in TRL and DAPO. Else a step with one group left would move as far as a full one. No part
// of the mean are episodes whose outcome is not the policy's doing (a dead server is not a reward of 0), which leave their
// group's statistics too. Neither is replaced by others, unless Resample says so (DAPO's dynamic sampling).
//
// What is left out: no value network. Options of DAPO and others (a divergence from a reference, corrections, dynamic sampling, masks) are off
// in the zero value; package batch and docs/OBJECTIVES.md have their formulas. With one step of Adam per batch of episodes, rho departs from 1 only by the numerical difference of sampler and trainer,
// and the clip, which bounds what a second step on the same batch could do, does not bite. The difference is measured
// each step (mismatch KL) between gradient and update, and a step above a bound is not taken and ends the run: a policy
// that is not the one sampled from must not be trained silently.
//
// Iterations are passes over one batch (TRL's num_iterations, the mu of the paper), and Minibatches are the optimiser steps of a pass, each on its
// share of the groups (PPO's minibatches). The sampler logprob in rho stays that of the policy which sampled, so from the second optimiser step on
// rho says how far the policy has moved, and the clip bounds it. The mismatch is that of the first. All of
// them are taken at one learning rate, or none: where one cannot be, the trainer is put back to where the step began.
type GRPO struct {
	Stage           string // name in the run directory: "grpo"
	Steps           int
	GroupsPerStep   int // scenarios of one step
	GroupSize       int // episodes of one scenario
	Resample        int // scenarios tried in the place of one whose group teaches nothing, at most; those that rest are not
	Pools           Pools
	Recoveries      Recoveries
	Optimizer       Optimizer
	Advantage       batch.Advantage
	Credit          batch.Credit
	Negative        *float64   // what advantages below 0 are multiplied by; nil is 1
	Loss            batch.Loss // of the policy's tokens
	Length          int        // tokens that a loss with a constant normaliser divides by for each episode
	MaskTruncated   bool       // episodes that a limit cut have no loss
	Iterations      int        // passes over the episodes of one step; 0 is 1
	Minibatches     int        // optimiser steps of a pass, each on its share of the groups; 0 is 1
	Clip            batch.Clip
	KL              batch.KL         // from the policy that the stage began with
	OffPolicy       float64          // bound of batch.Objective's
	Correction      batch.Correction // of the sampler's difference
	Temperature     float64          // that the runner samples at
	CheckpointEvery int              // steps; 0: at the end only
	MaxMismatch     float64          // bound on the mean mismatch KL of a step, in nats a token
	Seed            uint64
	Validation      *Validation // while it trains; nil: none
}

// Run trains on scenarios, resuming after the newest checkpoint of the stage, and leaves the final adapter published
// to the sampler.
func (g GRPO) Run(ctx context.Context, scenarios []scenario.Scenario, runner Runner, scorer Scorer, trainer Trainer,
	publisher Publisher, log Log, progress Progress) error {
	if err := g.usable(scenarios); err != nil {
		return err
	}
	var pools *syllabus
	if g.Pools.On() {
		pools = g.syllabus(scenarios, trainer)
		trainer = pools
	}
	start, err := resume(g.Stage, trainer, log)
	if err == nil && start == 0 && g.KL.Beta > 0 {
		err = trainer.HoldReference()
	}
	if err != nil {
		return err
	}
	watch := watch{stage: g.Stage, notice: log.Notice, said: map[string]bool{}, guard: guard{bound: g.MaxMismatch}}
	clock := clock{began: time.Now()}
	for step := start; ; step++ {
		if err := Publish(publisher, fmt.Sprintf("%s step %d", g.Stage, step)); err != nil { // the sampler gets the adapter of this step
			return stopped(err, g.Stage, step, trainer, log)
		}
		if g.Validation.due(step, g.Steps) {
			if err := g.Validation.run(ctx, step, step == start, scorer, log, progress); err != nil {
				return stopped(err, g.Stage, step, trainer, log)
			}
			if err := watch.parting(g.Validation, step, log); err != nil {
				return stopped(err, g.Stage, step, trainer, log)
			}
			clock.began = time.Now()
		}
		if step == g.Steps {
			return log.Finish(g.Stage)
		}
		groups, sampled, recovered, err := g.sample(ctx, scenarios, step, step == start, pools, runner, scorer, log, progress)
		if err != nil {
			return stopped(err, g.Stage, step, trainer, log)
		}
		rows, leftOut := g.rows(slices.Concat(groups, recovered)) // one row an episode, with its A
		if len(sampled)+len(recovered) > len(groups) {
			_, leftOut = g.rows(sampled) // metrics are of all episodes: what is kept of them is no fair sample
		}
		update := g.Optimizer.Update(step, g.Steps)
		refused := watch.look(step, sampled, g.measured(sampled, leftOut, batch.StepStats{}))
		var stats batch.StepStats
		var compared map[string]float64
		if refused == nil {
			if stats, compared, refused, err = g.update(ctx, rows, update, step, &watch.guard, trainer, log); err != nil {
				return err
			}
		}

		metrics := g.measured(sampled, leftOut, stats)
		g.more(metrics, compared, stats, update, len(sampled)-len(groups), recovered)
		if pools != nil && refused == nil {
			pools.took(sampled, metrics)
		}
		clock.step(metrics, stats)
		err = log.Metrics(g.Stage, step, metrics)
		if refused != nil {
			return stopped(errors.Join(refused, err), g.Stage, step, trainer, log)
		}
		if err != nil {
			return stopped(err, g.Stage, step+1, trainer, log) // the step is taken, whatever is known of it
		}
		if checkpointDue(step, g.Steps, g.CheckpointEvery) || g.Validation.due(step+1, g.Steps) { // the best is to be kept
			if err := log.Checkpoint(g.Stage, step+1, trainer.Save); err != nil {
				return err
			}
		}
		progress(g.Stage, step+1, g.Steps, fmt.Sprintf("reward %.2f", metrics["reward"]))
	}
}

// usable refuses what nothing can be learnt from.
func (g GRPO) usable(scenarios []scenario.Scenario) error {
	if len(scenarios) == 0 || g.GroupsPerStep < 1 || g.GroupSize < 2 {
		return &fault.Error{Code: fault.CodeUsage, What: "there is nothing to train on", Where: g.Stage,
			Why:  fmt.Sprintf("%s, %d groups of %d a step: an advantage compares at least two episodes", fault.Count(len(scenarios), "scenario"), g.GroupsPerStep, g.GroupSize),
			Next: "give at least one scenario, one group a step, and two episodes a group"}
	}
	return nil
}

// more adds metrics of what is switched on.
func (g GRPO) more(metrics, compared map[string]float64, s batch.StepStats, u batch.Update, numReplaced int, recovered []trajectory.Group) {
	maps.Copy(metrics, compared)
	metrics["learning_rate"] = u.Rate
	if g.Iterations > 1 || g.Minibatches > 1 {
		metrics["clip_ratio/region_mean"] = s.Clipped
	}
	if g.KL.Beta > 0 {
		metrics["kl"] = s.KL
	}
	if g.Resample > 0 {
		metrics["groups_replaced"] = float64(numReplaced)
	}
	if g.Recoveries.On() {
		m := metricsOf(recovered, batch.Stats{Groups: len(recovered)}, batch.StepStats{})
		metrics["recoveries"], metrics["recoveries/reward"] = float64(len(recovered)), m["reward"]
	}
}

// sample runs the episodes of a step: the groups that are learnt from, all that were sampled for them, and those that go on from failed calls.
func (g GRPO) sample(ctx context.Context, scenarios []scenario.Scenario, step int, again bool, pools *syllabus, runner Runner, scorer Scorer,
	log Log, progress Progress) (groups, sampled, recovered []trajectory.Group, err error) {
	picked := g.tasks(scenarios, step)
	if pools != nil {
		picked = pools.next()
	}
	rollouts := Rollouts{Stage: g.Stage, Step: step, Again: again, GroupSize: g.GroupSize, Runner: runner, Scorer: scorer,
		Log: log, Progress: g.episodes(step, progress), Others: g.others(scenarios, picked, step, pools), Keep: g.teaches}
	groups, replaced, err := rollouts.sample(ctx, picked)
	if err != nil {
		return nil, nil, nil, err
	}
	sampled = slices.Concat(groups, replaced)
	recovered, err = g.Recoveries.sample(ctx, rollouts, sampled, scenarios)
	return groups, sampled, recovered, err
}

// measured is metricsOf, and the share of the episodes that passed, of those that say something of the policy, where it is known which do.
func (g GRPO) measured(groups []trajectory.Group, out batch.Stats, s batch.StepStats) map[string]float64 {
	metrics := metricsOf(groups, out, s)
	if g.Pools.Passed == nil {
		return metrics
	}
	passed, n := 0.0, 0.0
	for _, group := range groups {
		p, of := g.Pools.passed(group)
		passed, n = passed+p, n+of
	}
	if n > 0 {
		metrics["success"] = passed / n
	}
	return metrics
}

// episodes is the progress within a step.
func (g GRPO) episodes(step int, progress Progress) Progress {
	return func(_ string, done, total int, _ string) {
		progress(g.Stage+"/episodes", done, total, fmt.Sprintf("of step %d", step))
	}
}
