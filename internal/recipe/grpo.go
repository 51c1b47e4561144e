package recipe

import (
	"context"

	"hone/internal/episode/scenario"
	"hone/internal/learn/batch"
)

// GRPO: group-relative policy optimisation (arXiv 2402.03300) with the token-mean, clip-higher loss of DAPO
// (arXiv 2503.14476), or another of package objective. Each step samples a group of episodes per scenario from the
// current policy on live servers, scores them, and raises the log-probability of every sampled token in proportion to
// how much better than its group its episode did:
//
//	A_i  = (r_i - mean r) / (std r + 1e-4)                         over the group, one value for all tokens of episode i
//	rho  = exp(trainer logprob - sampler logprob)                  per sampled token
//	loss = - mean over tokens of min(rho A, clip(rho, 1-low, 1+high) A)
//
// Sampled tokens are those the policy wrote: prompts and tool results are read, never trained on. The mean runs over
// the sampled tokens of the whole step, those of groups in which all rewards are equal too: their A is 0, so they are
// not computed, but they count, as in TRL and DAPO. Else a step with one group left would move as far as a full one.
// No part of the mean are episodes whose outcome is not the policy's doing (a dead server is not a reward of 0), which
// leave their group's statistics too.
//
// There is no value network. All else that a step may have is an Addition, in a file of its own, and there is none in
// the zero value. With one step of Adam per batch of episodes, rho departs from 1 only by the numerical difference of
// sampler and trainer, and the clip does not bite. The difference is measured each step (mismatch KL) between gradient
// and update, and a step above a bound is not taken and ends the run: a policy that is not the one sampled from must
// not be trained silently.
type GRPO struct {
	Stage         string // name in the run directory: "grpo"
	Steps         int
	GroupsPerStep int     // scenarios of one step
	GroupSize     int     // episodes of one scenario
	Temperature   float64 // that the runner samples at
	Seed          uint64
	Advantage     batch.Advantages
	Loss          Loss
	Updates                  // optimiser steps on the episodes of a step
	Additions     []Addition // in the order in which they act
	Passed        Passed     // which episodes passed; nil: those with a reward above 0
	Upkeep                   // what is kept, compared and measured between steps
}

// Run trains on scenarios, resuming after the newest checkpoint of the stage, and leaves the final adapter published
// to the sampler.
func (g GRPO) Run(ctx context.Context, scenarios []scenario.Scenario, runner Runner, scorer Scorer, trainer Trainer,
	publisher Publisher, log Log, progress Progress) error {
	s := &stage{GRPO: g, scenarios: scenarios, runner: runner, scorer: scorer, trainer: trainer, publisher: publisher,
		log: log, progress: progress}
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.end()
	for k := s.start; ; k++ {
		if err := s.publish(ctx, k); err != nil { // the samplers hold the policy that took k steps
			return s.stop(err, k)
		}
		if over, err := s.over(k); err != nil {
			return s.stop(err, k)
		} else if over {
			return log.Finish(g.Stage)
		}
		step, err := s.sample(ctx, k) // groups of episodes, and what each of them earned
		if err != nil {
			return s.stop(err, k)
		}
		step.Objective = g.Loss.objective(g.Temperature) // - min(rho A, clip(rho, 1-low, 1+high) A)
		if err := s.add(ctx, step); err != nil {         // rows and terms of the loss that additions have
			return s.stop(err, k)
		}
		step.Rows = g.rows(step)
		if err := s.update(ctx, step); err != nil { // the gradient of the mean, and Adam along it
			return s.stop(err, k)
		}
		if err := s.record(step); err != nil {
			return s.stop(err, step.whole())
		}
		if err := s.checkpoint(k + 1); err != nil {
			return err
		}
		s.tell(step)
	}
}

// rows are those that a step learns from.
func (g GRPO) rows(step *Step) batch.Batch {
	compared := batch.Compare(step.Groups)
	advantages := g.Advantage.Of(compared.Groups)          // A_i = (r_i - mean r) / (std r + 1e-4)
	return compared.Rows(advantages, step.options(g.Loss)) // one an episode, with its A_i at each token
}
