package recipe

import (
	"context"
	"fmt"
	"math"

	"hone/internal/episode/scenario"
	"hone/internal/episode/trajectory"
	"hone/internal/fault"
	"hone/internal/learn/batch"
)

// GRPO: group-relative policy optimisation (arXiv 2402.03300) with the token-mean, clip-higher loss of DAPO
// (arXiv 2503.14476). Each step samples a group of episodes per scenario from the current policy on live servers,
// scores them, and raises the log-probability of every sampled token in proportion to how much better than its group
// its episode did:
//
//	A_i  = (r_i - mean r) / (std r + 1e-4)                         over the group, one value for all tokens of episode i
//	rho  = exp(trainer logprob - sampler logprob)                  per token
//	loss = - mean over tokens of min(rho A, clip(rho, 1-low, 1+high) A)
//
// What is left out: no value network, no KL to a reference model, one optimiser step per batch of episodes. So rho
// departs from 1 only by the numerical difference of sampler and trainer, which is measured each step (mismatch KL)
// and stops the run above a bound: a policy that is not the one sampled from must not be trained silently.
type GRPO struct {
	Stage           string // name in the run directory: "grpo"
	Steps           int
	GroupsPerStep   int     // scenarios of one step; more of them helps more than larger groups do
	GroupSize       int     // episodes of one scenario
	Rate            float64 // peak learning rate
	MaxGradNorm     float64 // 0: no bound
	Clip            batch.Clip
	CheckpointEvery int     // steps; 0: at the end only
	MaxMismatch     float64 // bound on the mean mismatch KL of a step, in nats a token
	Seed            uint64
}

// Run trains on scenarios, resuming after the newest checkpoint of the stage, and leaves the final adapter published
// to the sampler.
func (g GRPO) Run(ctx context.Context, scenarios []scenario.Scenario, runner Runner, scorer Scorer, trainer Trainer,
	log Log, progress Progress) error {
	if len(scenarios) == 0 || g.GroupsPerStep < 1 || g.GroupSize < 2 {
		return fmt.Errorf("%s: %d scenarios, %d groups of %d a step: an advantage needs a group of at least two", g.Stage,
			len(scenarios), g.GroupsPerStep, g.GroupSize)
	}
	start, err := resume(g.Stage, trainer, log)
	if err != nil {
		return err
	}
	for step := start; step < g.Steps; step++ {
		if err := trainer.Publish(); err != nil {
			return err
		}
		tasks := g.tasks(scenarios, step)
		byID := map[string]*scenario.Scenario{}
		for i := range tasks {
			byID[tasks[i].ID] = &tasks[i]
		}

		var logErr error
		groups := runner.Each(ctx, tasks, g.GroupSize, step, func(t *trajectory.Trajectory) {
			if ctx.Err() != nil {
				return // cut short by the user: the resumed run keeps the whole episode under the same id
			}
			scorer.Score(byID[t.ScenarioID], t)
			if err := log.Trajectory(g.Stage, step, t); err != nil && logErr == nil {
				logErr = err
			}
		})
		if logErr != nil {
			return logErr
		}
		if ctx.Err() != nil {
			return ctx.Err() // half a step's episodes are no step: the resumed run samples it again
		}

		rows, left := batch.FromGroups(groups, batch.GroupNormalized)
		update := batch.Update{Rate: Rate(g.Rate, step, g.Steps), MaxGradNorm: g.MaxGradNorm}
		var stats batch.StepStats
		if rows.NumTrained() > 0 { // a step whose groups are all alike teaches nothing
			if stats, err = trainer.PolicyGradient(ctx, rows, update, g.Clip); err != nil {
				return err
			}
			if !(stats.Mismatch <= g.MaxMismatch) { // a NaN stops the run too
				return g.mismatch(step, stats)
			}
		}

		metrics := metricsOf(groups, left, stats)
		metrics["learning_rate"] = update.Rate
		if err := log.Metrics(g.Stage, step, metrics); err != nil {
			return err
		}
		if checkpointDue(step, g.Steps, g.CheckpointEvery) {
			if err := log.Checkpoint(g.Stage, step+1, trainer.Save); err != nil {
				return err
			}
		}
		progress(g.Stage, step+1, g.Steps, fmt.Sprintf("reward %.2f", metrics["reward"]))
	}
	return trainer.Publish()
}

// tasks returns the scenarios of a step: a walk through a shuffled pass over all of them, then through the next.
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
		Next: "hone runs show names the last good checkpoint"}
}

// metricsOf uses TRL's names where there is one.
func metricsOf(groups []trajectory.Group, left batch.Stats, s batch.StepStats) map[string]float64 {
	m := map[string]float64{"loss": s.Loss, "grad_norm": s.GradNorm,
		"num_tokens": float64(s.NumTokens), "sampling/mismatch_kl": s.Mismatch, "sampling/max_logp_delta": s.MaxDelta,
		"sampling/mean_ratio":  s.MeanRatio,
		"frac_reward_zero_std": float64(left.ZeroSpread) / math.Max(1, float64(left.Groups)),
		"masked":               float64(left.Masked)}
	n, turns, tokens := 0.0, 0.0, 0.0
	var sum, squares float64
	for _, group := range groups {
		for _, t := range group.Trajectories {
			m["outcome/"+string(t.Outcome)]++
			if !t.Outcome.Trainable() {
				continue
			}
			n, turns = n+1, turns+float64(len(t.Turns))
			for _, turn := range t.Turns {
				tokens += float64(len(turn.CompletionIDs))
			}
			sum, squares = sum+t.Reward, squares+t.Reward*t.Reward
			for _, term := range t.Terms {
				m["rewards/"+term.Name+"/mean"] += term.Score
			}
		}
	}
	if n == 0 {
		return m
	}
	for name := range m {
		if len(name) > 8 && name[:8] == "rewards/" {
			m[name] /= n
		}
	}
	m["reward"], m["reward_std"] = sum/n, math.Sqrt(math.Max(0, squares/n-sum/n*sum/n))
	m["turns/mean"], m["completions/mean_length"] = turns/n, tokens/n
	return m
}
