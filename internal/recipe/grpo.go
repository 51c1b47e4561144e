package recipe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hone/internal/episode/scenario"
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
// group's statistics too. Neither is replaced by others.
//
// What is left out: no value network, no KL to a reference model, no dynamic sampling or overlong shaping of DAPO. With one
// step of Adam per batch of episodes, rho departs from 1 only by the numerical difference of sampler and trainer,
// and the clip, which bounds what a second step on the same batch could do, does not bite. The difference is measured
// each step (mismatch KL) between gradient and update, and a step above a bound is not taken and ends the run: a policy
// that is not the one sampled from must not be trained silently.
//
// Iterations are optimiser steps on one batch (TRL's num_iterations, the mu of the paper). The sampler logprob in rho stays that of the policy
// which sampled, so from the second on rho says how far the policy has moved, and the clip bounds it. The mismatch is that of the first. All of
// them are taken at one learning rate, or none: where one cannot be, the trainer is put back to where the step began.
type GRPO struct {
	Stage           string // name in the run directory: "grpo"
	Steps           int
	GroupsPerStep   int // scenarios of one step
	GroupSize       int // episodes of one scenario
	Optimizer       Optimizer
	Loss            batch.Loss // of the policy's tokens
	Iterations      int        // optimiser steps on the episodes of one step; 0 is 1
	Clip            batch.Clip
	Temperature     float64 // that the runner samples at
	CheckpointEvery int     // steps; 0: at the end only
	MaxMismatch     float64 // bound on the mean mismatch KL of a step, in nats a token
	Seed            uint64
	Validation      *Validation // while it trains; nil: none
}

// Run trains on scenarios, resuming after the newest checkpoint of the stage, and leaves the final adapter published
// to the sampler.
func (g GRPO) Run(ctx context.Context, scenarios []scenario.Scenario, runner Runner, scorer Scorer, trainer Trainer,
	publisher Publisher, log Log, progress Progress) error {
	if len(scenarios) == 0 || g.GroupsPerStep < 1 || g.GroupSize < 2 {
		return &fault.Error{Code: fault.CodeUsage, What: "there is nothing to train on", Where: g.Stage,
			Why:  fmt.Sprintf("%s, %d groups of %d a step: an advantage compares at least two episodes", fault.Count(len(scenarios), "scenario"), g.GroupsPerStep, g.GroupSize),
			Next: "give at least one scenario, one group a step, and two episodes a group"}
	}
	start, err := resume(g.Stage, trainer, log)
	if err != nil {
		return err
	}
	watch := watch{stage: g.Stage, notice: log.Notice, said: map[string]bool{}}
	clock := clock{began: time.Now()}
	for step := start; ; step++ {
		if err := Publish(publisher, fmt.Sprintf("%s step %d", g.Stage, step)); err != nil { // the sampler gets the adapter of this step
			return stopped(err, g.Stage, step, trainer, log)
		}
		if g.Validation.due(step, g.Steps) {
			if err := g.Validation.run(ctx, step, step == start, scorer, log, progress); err != nil {
				return stopped(err, g.Stage, step, trainer, log)
			}
			clock.began = time.Now()
		}
		if step == g.Steps {
			return log.Finish(g.Stage)
		}
		rollouts := Rollouts{Stage: g.Stage, Step: step, Again: step == start, GroupSize: g.GroupSize, Runner: runner, Scorer: scorer,
			Log: log, Progress: g.episodes(step, progress)}
		groups, err := rollouts.sample(ctx, g.tasks(scenarios, step))
		if err != nil {
			return stopped(err, g.Stage, step, trainer, log)
		}

		rows, leftOut := batch.FromGroups(groups, batch.GroupNormalized) // one row an episode, with its A
		update := g.Optimizer.Update(step, g.Steps)
		refused := watch.look(step, groups, metricsOf(groups, leftOut, batch.StepStats{}))
		var stats batch.StepStats
		if refused == nil {
			if stats, refused, err = g.update(ctx, rows, update, step, trainer, log); err != nil {
				return err
			}
		}

		metrics := metricsOf(groups, leftOut, stats)
		metrics["learning_rate"] = update.Rate
		if g.Iterations > 1 {
			metrics["clip_ratio/region_mean"] = stats.Clipped
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

// episodes is the progress within a step.
func (g GRPO) episodes(step int, progress Progress) Progress {
	return func(_ string, done, total int, _ string) {
		progress(g.Stage+"/episodes", done, total, fmt.Sprintf("of step %d", step))
	}
}

// update takes the optimiser steps on a batch, unless the rows teach nothing or refused says why the first must not be taken. Where it
// fails, the steps before this one are kept, unless the trainer cannot be put back to where they left it.
func (g GRPO) update(ctx context.Context, rows batch.Batch, u batch.Update, step int, trainer Trainer, log Log) (s batch.StepStats, refused, err error) {
	if rows.NumTrained() == 0 { // the groups are all alike
		return s, nil, nil
	}
	n := max(1, g.Iterations)
	restore := func() error { return nil }
	if n > 1 {
		if restore, err = trainer.Snapshot(); err != nil {
			return s, nil, stopped(err, g.Stage, step, trainer, log)
		}
	}
	var each []batch.StepStats
	for i := range n {
		x, err := trainer.Gradient(ctx, rows, batch.Objective{Loss: g.Loss, Clip: g.Clip, Temperature: g.Temperature})
		if err == nil && i == 0 && !(x.Mismatch <= g.MaxMismatch) { // a NaN is refused too
			return x, g.mismatch(step, x), nil
		}
		if err == nil {
			x.GradNorm, err = trainer.Apply(u)
		}
		if err != nil {
			if failed := restore(); failed != nil {
				return x, nil, errors.Join(err, failed)
			}
			return x, nil, stopped(err, g.Stage, step, trainer, log)
		}
		each = append(each, x)
	}
	return ofIterations(each), nil, nil
}

// ofIterations are the statistics of optimiser steps on one batch: what was computed is added up, loss and gradient's norm are means, how far
// trainer and sampler are apart is the first's, as the policy has not moved yet, and the share of clipped ratios is the last's.
func ofIterations(each []batch.StepStats) batch.StepStats {
	s, n := each[0], float64(len(each))
	for _, x := range each[1:] {
		s.Loss, s.GradNorm = s.Loss+x.Loss, s.GradNorm+x.GradNorm
		s.NumTokens, s.NumPadded = s.NumTokens+x.NumTokens, s.NumPadded+x.NumPadded
		s.NumPrograms, s.CompileSeconds = s.NumPrograms+x.NumPrograms, s.CompileSeconds+x.CompileSeconds
	}
	s.Loss, s.GradNorm, s.Clipped = s.Loss/n, s.GradNorm/n, each[len(each)-1].Clipped
	return s
}

// tasks returns the scenarios of a step, all different. They are walked through in shuffled passes of as many whole steps
// as they fill; what is over sits the pass out, others each time.
func (g GRPO) tasks(scenarios []scenario.Scenario, step int) []scenario.Scenario {
	n := min(g.GroupsPerStep, len(scenarios))
	perPass := len(scenarios) / n
	order := shuffled(len(scenarios), g.Seed, step/perPass)
	picked := make([]scenario.Scenario, n)
	for i := range picked {
		picked[i] = scenarios[order[step%perPass*n+i]]
	}
	return picked
}

func (g GRPO) mismatch(step int, s batch.StepStats) error {
	return &fault.Error{Code: fault.CodeError, What: "the trainer does not see the policy that was sampled from",
		Where: fmt.Sprintf("%s step %d", g.Stage, step),
		Why: fmt.Sprintf("the mean mismatch KL is %.2g nats a token, the bound is %.2g; the largest difference of a logprob is %.2g",
			s.Mismatch, g.MaxMismatch, s.MaxDelta),
		Next: "the steps before are kept, and hone runs show names their checkpoint; engine.dtype: f32 has sampler and trainer round alike"}
}
