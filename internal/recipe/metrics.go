package recipe

import (
	"math"
	"strings"

	"hone/internal/episode/trajectory"
	"hone/internal/learn/batch"
)

// metricsOf describes one step of GRPO, under TRL's names where it measures the same:
//
//	reward, reward_std          mean reward; mean over groups of the standard deviation within (ddof 1)
//	frac_reward_zero_std        groups that teach nothing because all their rewards are equal
//	frac_groups_empty           groups of the step in which no episode's outcome was the policy's doing
//	rewards/TERM/mean           mean score of a reward term, before its weight
//	completions/mean_length     sampled tokens of an episode
//	turns/mean                  completions of an episode
//	outcome/NAME                episodes that ended so; those that are not the policy's doing count nowhere else
//	step_tokens                 tokens the trainer computed, a shared prefix once
//	sampling/...                sampler against trainer: mean KL in nats a token, largest difference of a logprob, mean ratio
func metricsOf(groups []trajectory.Group, out batch.Stats, s batch.StepStats) map[string]float64 {
	m := map[string]float64{"loss": s.Loss, "grad_norm": s.GradNorm, "step_tokens": float64(s.NumTokens),
		"sampling/mismatch_kl": s.Mismatch, "sampling/max_logp_delta": s.MaxDelta, "sampling/mean_ratio": s.MeanRatio,
		"frac_groups_empty": float64(out.Empty) / math.Max(1, float64(out.Groups))}
	var n, numGroups, flat float64
	for _, g := range groups {
		var rewards []float64
		for _, t := range g.Trajectories {
			m["outcome/"+string(t.Outcome)]++
			if !t.Outcome.Trainable() {
				continue
			}
			n++
			rewards = append(rewards, t.Reward)
			m["reward"] += t.Reward
			m["turns/mean"] += float64(len(t.Turns))
			for _, turn := range t.Turns {
				m["completions/mean_length"] += float64(len(turn.CompletionIDs))
			}
			for _, term := range t.Terms {
				m["rewards/"+term.Name+"/mean"] += term.Score
			}
		}
		if len(rewards) == 0 {
			continue
		}
		numGroups++
		std := deviation(rewards)
		m["reward_std"] += std
		if std == 0 {
			flat++
		}
	}
	if n == 0 {
		return m
	}
	for name := range m {
		if name == "reward" || strings.HasSuffix(name, "/mean") || strings.HasSuffix(name, "/mean_length") {
			m[name] /= n
		}
	}
	m["reward_std"] /= numGroups
	m["frac_reward_zero_std"] = flat / numGroups
	return m
}

// deviation is the sample standard deviation, 0 of a single number.
func deviation(x []float64) float64 {
	sum := 0.0
	for _, c := range batch.Centred(x) {
		sum += c * c
	}
	return math.Sqrt(sum / math.Max(1, float64(len(x)-1)))
}
