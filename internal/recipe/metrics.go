package recipe

import (
	"maps"
	"math"

	"hone/internal/episode/trajectory"
	"hone/internal/learn/batch"
)

// metricsOf describes one step of GRPO, under TRL's names where it measures the same (docs/METRICS.md), with those of
// trlMetrics:
//
//	reward, reward_std          mean reward of the episodes, and the standard deviation of all of them (ddof 1)
//	reward_spread               mean over groups of the standard deviation within (ddof 1): what GRPO learns from
//	frac_groups_empty           share of groups with fewer than two episodes whose outcome was the policy's doing: nothing is compared
//	frac_reward_zero_std        share of the others that teach nothing because all their rewards are equal
//	rewards/TERM/mean           mean score of a reward term, before its weight, over the episodes that have it
//	judge/tokens, judge/cost    what a judge read and wrote for the step's episodes, and US dollars where its price is known: totals,
//	                            what a cache answered among them
//	judge/fallback_ratio        share of the judged episodes that another judge scored, since the first failed
//	completions/mean_length     sampled tokens of an episode
//	entropy                     mean over sampled tokens of minus their logprob at the sampling temperature, in nats: an estimate of the
//	                            policy's entropy by what it sampled, where TRL computes it over the whole vocabulary
//	success                     share of the episodes that passed
//	turns/mean                  completions of an episode
//	user/turns, user/tokens     messages of a simulated user, and tokens of the model that played it: means over the episodes with one
//	rewrites/mean                 of them, those that begin a training row anew: the chat template rewrites what came before
//	completions/clipped_ratio   share of episodes that a limit cut: of tokens, context, turns, calls or working time
//	outcome/NAME                episodes that ended so; those that are not the policy's doing count nowhere else
//	masked_ratio                share of all episodes that are those
//	step_tokens                 tokens the trainer computed, a shared prefix once
//	padding                     share of the positions it computed that hold no token
//	clip_ratio/region_mean      share of trained tokens whose ratio lies outside of the clip, at the last of several optimiser steps on a batch
//	groups_replaced             groups in whose place another scenario's came, by dynamic sampling; they are in all means here
//	pools/solved, pools/failed  scenarios whose last group passed in all of its episodes, or in none
//	staleness                   policies that the step's episodes are behind the trainer's, where rollouts and training overlap
//	kl                          mean divergence from the reference policy in nats a token, where there is one
//	sampling/importance_sampling_ratio/min, mean, max  weights by which the sampler's difference is corrected, where it is
//	sampling/importance_sampling_masked  share of trained tokens whose weight is 0
//	sampling/episodes_apart     episodes that were left out of the step, since sampler and trainer were too far apart there (guarded)
//	sampling/probe_kl, sampling/probe_max_logp_delta  the same of a probe of the step's policy (Parity), before its episodes
//	sampling/...                sampler against trainer: mean KL in nats a token, largest difference of a logprob, mean ratio
func metricsOf(groups []trajectory.Group, out batch.Stats, s batch.StepStats) map[string]float64 {
	m := map[string]float64{"loss": s.Loss, "grad_norm": s.GradNorm, "step_tokens": float64(s.NumTokens),
		"sampling/mismatch_kl": s.Mismatch, "sampling/sampling_logp_difference/max": s.MaxDelta,
		"sampling/mean_ratio": s.MeanRatio, "frac_groups_empty": float64(out.Empty) / math.Max(1, float64(out.Groups)),
		"padding": padding(s)}
	var n float64
	scored := map[string]float64{} // episodes that have a term, or a user
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
			m["rewrites/mean"] += float64(t.NumRewrites())
			if raise[t.StopReason] != "" {
				m["completions/clipped_ratio"]++
			}
			for _, turn := range t.Turns {
				m["completions/mean_length"] += float64(len(turn.CompletionIDs))
				for _, logprob := range turn.SamplerLogprobs {
					m["entropy"] -= float64(logprob)
					scored["entropy"]++
				}
			}
			if u := t.User; u != nil {
				m["user/turns"] += float64(u.Turns)
				m["user/tokens"] += float64(u.PromptTokens + u.CompletionTokens)
				scored["user/turns"]++
				scored["user/tokens"]++
			}
			for _, term := range t.Terms {
				m["rewards/"+term.Name+"/mean"] += term.Score
				scored["rewards/"+term.Name+"/mean"]++
				if j := term.Judgement; j != nil {
					m["judge/tokens"] += float64(j.PromptTokens + j.CompletionTokens)
					if j.Cost != nil {
						m["judge/cost"] += *j.Cost
					}
					if scored["judge/fallback_ratio"]++; j.Fallback {
						m["judge/fallback_ratio"]++
					}
				}
			}
		}
		m["reward_spread"] += batch.Deviation(rewards)
	}
	maps.Copy(m, trlMetrics(groups))
	m["masked_ratio"] = float64(out.Masked) / math.Max(1, n+float64(out.Masked))
	if n == 0 {
		return m
	}
	for _, name := range []string{
		"reward", "completions/clipped_ratio", "turns/mean", "rewrites/mean", "completions/mean_length",
	} {
		m[name] /= n
	}
	for name, episodes := range scored {
		m[name] /= episodes
	}
	numGroups := math.Max(1, float64(out.Groups-out.Empty))
	m["reward_spread"] /= numGroups
	m["frac_reward_zero_std"] = float64(out.ZeroSpread) / numGroups
	return m
}
