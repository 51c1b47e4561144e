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
	Imitation       Imitation
	Explorations    Explorations // whose successes are imitated
	Demonstrations  Demonstrations
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
	Entropy         Entropy          // a bonus for it
	TopEntropy      float64          // share of a step's tokens that are learnt from, those of the highest entropy; 0 is 1: all
	Correction      batch.Correction // of the sampler's difference
	Temperature     float64          // that the runner samples at
	Staleness       int              // policies that episodes may be behind the trainer's: 0, or 1, by which rollouts and training overlap
	CheckpointEvery int              // steps; 0: at the end only
	MaxMismatch     float64          // bound on the mean mismatch KL of a step, in nats a token (guarded)
	Seed            uint64
	Validation      *Validation // while it trains; nil: none
	Parity          *Parity     // a probe of each policy that is given to the sampler; nil: none
}

// Run trains on scenarios, resuming after the newest checkpoint of the stage, and leaves the final adapter published
// to the sampler.
func (g GRPO) Run(ctx context.Context, scenarios []scenario.Scenario, runner Runner, scorer Scorer, trainer Trainer,
	publisher Publisher, log Log, progress Progress) error {
	if err := g.usable(scenarios); err != nil {
		return err
	}
	r := &running{GRPO: g, scenarios: scenarios, runner: runner, scorer: scorer, trainer: trainer, publisher: publisher, log: log, progress: progress,
		watch: watch{stage: g.Stage, notice: log.Notice, said: map[string]bool{}, guard: guard{bound: g.MaxMismatch}}}
	if err := r.begin(ctx); err != nil {
		return err
	}
	defer func() { r.next.end() }()
	for step := r.start; ; step++ {
		now, err := r.publish(ctx, step) // the sampler gets the adapter of this step
		if err != nil {
			return stopped(err, g.Stage, step, r.trainer, log)
		}
		if step == g.Steps {
			return log.Finish(g.Stage)
		}
		if now == nil {
			now = begin(ctx, false, r.sample(step))
		}
		r.next = nil
		reward, err := r.take(ctx, step, now)
		if err != nil {
			return err
		}
		if checkpointDue(step, g.Steps, g.CheckpointEvery) || g.Validation.due(step+1, g.Steps) { // the best is to be kept
			if err := log.Checkpoint(g.Stage, step+1, r.trainer.Save); err != nil {
				return err
			}
		}
		r.progress(g.Stage, step+1, g.Steps, fmt.Sprintf("reward %.2f", reward))
	}
}

// running is a stage that runs.
type running struct {
	GRPO
	scenarios []scenario.Scenario
	runner    Runner
	scorer    Scorer
	trainer   Trainer
	publisher Publisher
	log       Log
	progress  Progress

	start  int
	pools  *syllabus
	memory *memory  // nil where no success is imitated
	lag    *lagging // nil where rollouts and training take turns
	next   *ahead   // the episodes of the next step, where they have begun
	watch  watch
	clock  clock

	exploring exploring

	probed map[string]float64 // of the policy that was published last
}

// begin puts the trainer where the stage goes on.
func (r *running) begin(ctx context.Context) (err error) {
	switch { // which would else be left out in silence
	case r.Explorations.On() && r.Explorations.Choices == nil:
		return errors.New("a stage that forces turns is not told what to")
	case r.Demonstrations.On() && len(r.Demonstrations.Of) == 0:
		return errors.New("a stage that learns from demonstrations has none")
	case r.Recoveries.On() && r.Recoveries.Of == nil:
		return errors.New("a stage that goes on behind failed calls is not told from where")
	}
	if r.Pools.On() {
		r.pools = r.syllabus(r.scenarios, r.trainer)
		r.trainer = r.pools
	}
	if r.Imitation.On() {
		r.memory = &memory{Trainer: r.trainer, of: r.GRPO}
		r.trainer = r.memory
	}
	if r.lag, err = r.lagging(r.trainer, r.publisher); err != nil {
		return err
	}
	if r.lag != nil {
		r.trainer, r.progress = r.lag, oneAtATime(r.progress)
	}
	r.start, err = resume(r.Stage, r.trainer, r.log)
	if err == nil {
		r.exploring, err = r.Entropy.exploring(r.Stage, r.start, r.log)
	}
	if err == nil && r.start == 0 && r.KL.Beta > 0 {
		err = r.trainer.HoldReference()
	}
	if err == nil && r.start < r.Steps {
		r.next, err = r.lag.resumeAhead(ctx, r.sample(r.start))
	}
	r.clock.began = time.Now()
	return err
}

// publish gives the sampler the adapter of a step, once the step's episodes are there where they had begun before, probes it, and measures it where
// that is due.
func (r *running) publish(ctx context.Context, step int) (now *ahead, err error) {
	if now = r.next; now != nil {
		if _, err := now.wait(); err != nil {
			return nil, err
		}
	}
	if err := Publish(r.publisher, fmt.Sprintf("%s step %d", r.Stage, step)); err != nil {
		return nil, err
	}
	if err := r.lag.published(); err != nil {
		return now, err
	}
	if r.probed, err = r.Parity.look(ctx, fmt.Sprintf("%s step %d", r.Stage, step), r.Temperature, r.MaxMismatch, r.trainer); err != nil || !r.Validation.due(step, r.Steps) {
		return now, err
	}
	began := time.Now()
	news, err := r.Validation.run(ctx, step, step == r.start, r.scorer, r.log, r.progress)
	if err == nil && news {
		err = r.watch.compare(r.Validation, step, r.log)
	}
	if err != nil {
		return nil, err
	}
	r.clock.began = r.clock.began.Add(time.Since(began)) // the probe is the step's, measuring is not
	return now, err
}

// take takes a step and returns the mean reward of its episodes. Where rollouts and training overlap, the episodes of the next one begin before it.
func (r *running) take(ctx context.Context, step int, episodes *ahead) (reward float64, err error) {
	now, err := episodes.wait()
	if err != nil {
		return 0, stopped(err, r.Stage, step, r.trainer, r.log)
	}
	earlier, told, err := r.imitated(ctx, step)
	if err != nil {
		return 0, stopped(err, r.Stage, step, r.trainer, r.log)
	}
	shown, more, err := r.demonstrated(ctx, step)
	if err != nil {
		return 0, stopped(err, r.Stage, step, r.trainer, r.log)
	}
	earlier = append(earlier, shown...)
	learnt := slices.Concat(now.groups, now.recovered)
	rows, leftOut := r.rows(learnt, earlier...) // one row an episode, with its A
	if len(now.sampled)+len(now.recovered) > len(now.groups) {
		_, leftOut = r.rows(now.sampled) // metrics are of all episodes: what is kept of them is no fair sample
	}
	update := r.Optimizer.Update(step, r.Steps)
	refused := r.watch.look(step, now.sampled, r.measured(now.sampled, leftOut, batch.StepStats{}))
	var stats batch.StepStats
	var compared map[string]float64
	if refused == nil {
		if r.lag != nil && step+1 < r.Steps {
			r.next = begin(ctx, true, r.sample(step+1))
		}
		if stats, compared, refused, err = r.update(ctx, rows, learnt, update, step, episodes.stale); err != nil {
			return 0, err
		}
	}

	metrics := r.measured(now.sampled, leftOut, stats)
	maps.Copy(metrics, r.probed)
	maps.Copy(metrics, told)
	maps.Copy(metrics, more)
	r.more(metrics, compared, stats, update, now)
	if refused == nil {
		r.exploring.took(metrics)
		r.lag.took(step+1 == r.Steps)
		if r.pools != nil {
			r.pools.took(now.sampled, metrics)
		}
		if r.memory != nil {
			r.memory.took(now.sampled, now.explored)
		}
	}
	r.lag.measure(metrics, episodes.stale)
	r.clock.step(metrics, r.trainer)
	err = r.log.Metrics(r.Stage, step, metrics)
	if refused != nil {
		return 0, stopped(errors.Join(refused, err), r.Stage, step, r.trainer, r.log)
	}
	if err != nil {
		return 0, stopped(err, r.Stage, step+1, r.trainer, r.log) // the step is taken, whatever is known of it
	}
	return metrics["reward"], nil
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
func (g GRPO) more(metrics, compared map[string]float64, s batch.StepStats, u batch.Update, now sampling) {
	maps.Copy(metrics, compared)
	metrics["learning_rate"] = u.Rate
	if g.Iterations > 1 || g.Minibatches > 1 {
		metrics["clip_ratio/region_mean"] = s.Clipped
	}
	if g.KL.Beta > 0 {
		metrics["kl"] = s.KL
	}
	if g.Entropy.On() && s.NumTrained > 0 {
		metrics[entropyMetric] = s.Entropy
		if g.chooses() {
			metrics[chosenMetric] = s.EntropyChosen
		}
	}
	if g.Resample > 0 {
		metrics["groups_replaced"] = float64(len(now.sampled) - len(now.groups))
	}
	if g.Recoveries.On() {
		m := metricsOf(now.recovered, batch.Stats{Groups: len(now.recovered)}, batch.StepStats{})
		metrics["recoveries"], metrics["recoveries/reward"] = float64(len(now.recovered)), m["reward"]
	}
	if g.Explorations.On() {
		metrics["explorations"] = float64(len(now.explored))
		metrics["explorations/passed"], metrics["explorations/forced"], metrics["explorations/lost"] = 0, 0, 0
		for _, group := range now.explored {
			passed, _ := g.Pools.passed(group)
			metrics["explorations/passed"] += passed
			for _, t := range group.Trajectories {
				if slices.ContainsFunc(t.Turns, func(turn trajectory.Turn) bool { return turn.Forced }) {
					metrics["explorations/forced"]++
				}
				if !t.Outcome.Trainable() {
					metrics["explorations/lost"]++
				}
			}
		}
	}
}

// sampling is what the episodes of a step came to.
type sampling struct {
	groups    []trajectory.Group // that are learnt from
	sampled   []trajectory.Group // all that were sampled for them
	recovered []trajectory.Group // that go on from failed calls
	explored  []trajectory.Group // in which a turn is forced, where it comes to that
}

// sample runs the episodes of a step.
func (r *running) sample(step int) func(ctx context.Context) (sampling, error) {
	return func(ctx context.Context) (s sampling, err error) {
		picked := r.tasks(r.scenarios, step)
		if r.pools != nil {
			picked = r.pools.next()
		}
		rollouts := Rollouts{Stage: r.Stage, Step: step, Again: step <= r.start+r.Staleness, GroupSize: r.GroupSize, Runner: r.runner, Scorer: r.scorer,
			Log: r.log, Progress: r.episodes(step, r.progress), Others: r.others(r.scenarios, picked, step, r.pools), Keep: r.teaches}
		groups, replaced, err := rollouts.sample(ctx, picked)
		if err != nil {
			return s, err
		}
		s.groups, s.sampled = groups, slices.Concat(groups, replaced)
		if s.recovered, err = r.Recoveries.sample(ctx, rollouts, s.sampled, r.scenarios); err != nil {
			return s, err
		}
		s.explored, err = r.explored(ctx, rollouts, s.sampled, r.scenarios)
		return s, err
	}
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

// episodes is the progress within a step, which is said as the progress of the stage is: the first is step 1.
func (g GRPO) episodes(step int, progress Progress) Progress {
	return func(_ string, done, total int, _ string) {
		progress(g.Stage+"/episodes", done, total, fmt.Sprintf("of step %d", step+1))
	}
}
