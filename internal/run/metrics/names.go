package metrics

import (
	"slices"
	"strings"
)

// Named is a metric of metrics.jsonl.
type Named struct {
	Name   string // capital letters stand for any name
	Stages string // that have it
	Means  string
	TRL    string // "": hone's own. "=": TRL 1.16 has it and measures the same. Else what TRL measures under the name
}

const same = "="

// Names are the metrics of all stages, in the order of a reader's interest.
func Names() []Named { return slices.Concat(learning(), episodes(), around()) }

// learning are those of what is learnt, and from what.
func learning() []Named {
	return []Named{
		{"loss", "all", "of the step's batch", same},
		{"grad_norm", "all", "norm of the gradient before it is bounded", same},
		{"learning_rate", "all", "of the step", same},
		{"step_time", "all", "seconds of the step", same},
		{"num_tokens", "all", "tokens that the trainer has computed up to the step, a prefix that rows share once",
			"tokens of all rows, a shared prefix in each"},
		{"step_tokens", "all", "those of the step", ""},
		{"step_tokens_apart", "sft, dpo",
			"those that the step would have had without packing; where rows were packed", ""},
		{"padding", "all", "share of the computed positions that hold no token", ""},

		{"reward", "grpo, validation", "mean of the episodes", same},
		{"reward_std", "grpo", "standard deviation of all rewards of the step", same},
		{"reward_spread", "grpo", "mean over groups of the standard deviation within: what GRPO learns from", ""},
		{
			"frac_reward_zero_std",
			"grpo", "share of the groups whose rewards are all equal, of those in which something is compared",
			"share of the completions in such groups",
		},
		{"frac_groups_empty", "grpo",
			"share of the groups with fewer than two episodes that say something of the policy", ""},
		{"rewards/TERM/mean", "grpo",
			"mean score of a reward term before its weight, of the episodes that have it", same},
		{"rewards/TERM/std", "grpo", "standard deviation of the same", same},
		{"success", "grpo, validation", "share of the episodes that passed all checks", ""},
		{
			"entropy", "grpo",
			"nats a token, estimated by the tokens that were sampled; with grpo.entropy over the whole vocabulary",
			"over the whole vocabulary always",
		},
		{
			"entropy_chosen", "grpo", "of the tokens that are learnt from, by which grpo.entropy adapts; " +
				"with grpo.entropy and grpo.top_entropy only", "",
		},
		{"entropy_coef", "grpo", "coefficient of the bonus for entropy behind the step; with grpo.entropy only", same},
		{"kl", "grpo", "divergence from the reference, nats a token; with a reference only", same},
		{
			"clip_ratio/region_mean", "grpo",
			"share of the trained tokens whose ratio is outside of the clip, at the last of several optimiser steps",
			"mean over the optimiser steps",
		},
	}
}

// episodes are those of what the episodes of a step were like.
func episodes() []Named {
	return []Named{
		{"completions/mean_length", "grpo", "sampled tokens of an episode",
			"tokens of an episode, with the tool results in it"},
		{"completions/min_length", "grpo", "fewest of an episode", "the same difference"},
		{"completions/max_length", "grpo", "most of an episode", "the same difference"},
		{"completions/mean_terminated_length", "grpo", "mean of the episodes that no limit cut", "the same difference"},
		{"completions/min_terminated_length", "grpo", "fewest of them", "the same difference"},
		{"completions/max_terminated_length", "grpo", "most of them", "the same difference"},
		{"completions/clipped_ratio", "grpo", "share of the episodes that a limit cut",
			"share that does not end with the end-of-turn token"},
		{"tools/call_frequency", "grpo", "calls of an episode", same},
		{"tools/failure_frequency", "grpo", "share of the calls that failed", same},
		{"turns/mean", "grpo", "completions of an episode", ""},
		{"rewrites/mean", "grpo", "of them, those that begin a training row anew", ""},
		{"user/turns", "grpo", "messages of a simulated user, of the episodes with one", ""},
		{"user/tokens", "grpo", "tokens of the model that played it", ""},
		{"outcome/NAME", "grpo", "episodes that ended so", ""},
		{"masked_ratio", "grpo, validation",
			"share of the episodes that say nothing of the policy, as where a server was down", ""},
		{"groups_replaced", "grpo", "groups in whose place another scenario's came", ""},
		{"explorations", "grpo",
			"second groups, each of a scenario whose first group failed whole; with grpo.explorations only", ""},
		{"explorations/forced", "grpo",
			"their episodes in which a turn was forced; others ended before that turn, or had no such tool at it", ""},
		{"explorations/lost", "grpo",
			"their episodes that say nothing of the policy, as where a tool's schema cannot be held to", ""},
		{"explorations/passed", "grpo", "their episodes that passed", ""},
		{"demonstrations", "grpo", "demonstrations that the step learnt from; with grpo.demonstrations only", ""},
		{"demonstrations/logprob", "grpo",
			"mean logprob of their trained tokens under the policy before the step, in nats", ""},
		{"imitation/episodes", "grpo",
			"successes of earlier steps that the step learnt from; with grpo.imitation only", ""},
		{"imitation/logprob", "grpo", "mean logprob of their tokens under the policy before the step, in nats", ""},
		{"imitation/memory", "grpo", "successes that were held", ""},
		{"raft/episodes", "grpo", "episodes that the step learnt from; with grpo.loss: raft only", ""},
		{"distillation/weight", "grpo",
			"what an advantage had of the teacher's opinion; with grpo.distillation only", ""},
		{"distillation/rows", "grpo", "rows of the step's episodes that had a teacher", ""},
		{"distillation/left_out", "grpo",
			"rows without a teacher, too long with the gold calls for the room of an episode", ""},
		{"distillation/gap", "grpo", "mean of log p_teacher - log p_sampler over their sampled tokens, in nats", ""},
		{"gradient_share/NAME", "grpo",
			"share of the sum of |weight x advantage| over the step's tokens, by source: " +
				"episodes, imitation, demonstrations, distillation", ""},
		{"staleness", "grpo",
			"1 where the episodes of the step are of the policy before; with grpo.staleness only", ""},
		{"pools/solved", "grpo", "scenarios whose last group passed whole", ""},
		{"pools/failed", "grpo", "scenarios whose last group failed whole", ""},
	}
}

// around are those of what learning needs and costs, and of what is only looked at.
func around() []Named {
	return []Named{
		{"sampling/sampling_logp_difference/max", "grpo",
			"largest difference of a token's logprob between sampler and trainer", same},
		{"sampling/mismatch_kl", "grpo", "mean divergence of sampler and trainer, nats a token", ""},
		{"sampling/mean_ratio", "grpo", "mean ratio of their probabilities", ""},
		{
			"sampling/episodes_apart", "grpo", "episodes that were left out of the step, " +
				"as sampler and trainer differ there by more than in the others", "",
		},
		{"sampling/step_skipped", "grpo",
			"1 of a step that learnt nothing: a number was not finite, and no row was to blame", ""},
		{"sampling/probe_kl", "grpo", "the same of a probe of the step's policy, before its episodes", ""},
		{"sampling/probe_max_logp_delta", "grpo", "largest difference of a token's logprob on the probe", ""},
		{"sampling/importance_sampling_ratio/min", "grpo",
			"least weight by which the difference is corrected, where it is", same},
		{"sampling/importance_sampling_ratio/mean", "grpo", "mean weight", same},
		{"sampling/importance_sampling_ratio/max", "grpo", "greatest weight", same},
		{"sampling/importance_sampling_masked", "grpo", "share of the trained tokens whose weight is 0", ""},

		{"rewards/chosen", "dpo", "mean implicit reward of the preferred sides", same},
		{"rewards/rejected", "dpo", "of the others", same},
		{"rewards/margins", "dpo", "mean difference of the two", same},
		{"rewards/accuracies", "dpo", "share of the pairs in which the preferred side has more", same},
		{"logps/chosen", "dpo", "mean logprob of the preferred sides", same},
		{"logps/rejected", "dpo", "of the others", same},

		{
			"left_out", "sft, dpo", "rows, or pairs, that the step was learnt without, as a number of theirs is not " +
				"finite; where there were some", "",
		},
		{
			"step_skipped", "sft, dpo",
			"1 of a step that learnt nothing: a number was not finite, and no row or pair was to blame, or none " +
				"was left", "",
		},
		{
			"eval_left_out", "validation of sft, of dpo", "rows, or pairs, that are held out and of which a number " +
				"is not finite, so that nothing measured is of them; where there were some", "",
		},
		{
			"eval_loss", "validation of sft, of dpo", "mean loss of a token of the rows that are held out; " +
				"of dpo that of the pairs, as if all were one step's", same,
		},
		{"eval_rewards/chosen", "validation of dpo", "rewards/chosen of the pairs that are held out",
			"mean of the means of its batches"},
		{"eval_rewards/rejected", "validation of dpo", "rewards/rejected of them", "mean of the means of its batches"},
		{"eval_rewards/margins", "validation of dpo", "rewards/margins of them", "mean of the means of its batches"},
		{"eval_rewards/accuracies", "validation of dpo", "rewards/accuracies of them",
			"mean of the means of its batches"},
		{"eval_logps/chosen", "validation of dpo", "logps/chosen of them", "mean of the means of its batches"},
		{"eval_logps/rejected", "validation of dpo", "logps/rejected of them", "mean of the means of its batches"},
		{"copies/rows", "sidecar", "episodes whose draft needs a change", ""},
		{"copies/equal", "sidecar", "share of them that say the draft again", ""},
		{"copies/near", "sidecar", "share with more than 90% of its tokens", ""},
		{"copies/fixed", "sidecar", "share that is right", ""},

		{"judge/tokens", "grpo", "tokens that a judge read and wrote for the step", ""},
		{"judge/cost", "grpo", "US dollars of them, where the price is known; what a cache answered is among them", ""},
		{"judge/cost_total", "grpo", "the same, up to the step", ""},
		{"judge/fallback_ratio", "grpo", "share of the judged episodes that another judge scored", ""},

		{
			"time/PART", "all", "seconds since the row before in which PART went on: rollout, score, train, publish, " +
				"eval, checkpoint, other", "",
		},
		{"time/elapsed", "all", "seconds that all attempts of the run have worked", ""},
		{"time/gpu_hours", "all, on GPUs", "the same in hours, times the GPUs", ""},
		{"time/to_target", "of metrics.target", "time/elapsed of the first row whose success reached the target", ""},
		{"time/compile", "all",
			"seconds of the step in which the trainer's programs were compiled, or read from the disk", ""},
		{"time/compile_share", "all", "share of that in all steps of this process", ""},
		{"time/programs", "all", "the trainer's programs that this process has made", ""},
	}
}

// Means says what a metric is, "" where it is none of Names.
func Means(name string) string {
	for _, n := range Names() {
		before, after, any := n.Name, "", false
		for _, holder := range []string{"TERM", "NAME", "PART"} {
			if b, a, ok := strings.Cut(n.Name, holder); ok {
				before, after, any = b, a, true
			}
		}
		if name == before && !any || any && len(name) > len(before)+len(after) && strings.HasPrefix(name, before) &&
			strings.HasSuffix(name, after) {
			return n.Means
		}
	}
	return ""
}
