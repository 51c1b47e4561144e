package config

import "fmt"

// GRPO is group-relative policy optimisation on fresh trajectories. docs/OBJECTIVES.md has the formulas of what its
// keys name.
type GRPO struct {
	Recipe           string         `yaml:"recipe" enum:"auto,mixture,raft,plain" doc:"settings that stand in the place of the defaults; keys that are set count before them. auto has those that were each measured as better than their opposite, mixture those that won as a whole, raft is mixture without a policy gradient, plain is GRPO with DAPO's loss"`
	Optimizer        Optimizer      `yaml:"optimizer" doc:"Adam; a learning_rate of 0 takes 1.5e-4, or less for models wider than 576, in proportion"`
	Steps            int            `yaml:"steps" min:"1" doc:"steps, each of fresh trajectories, and of num_iterations times minibatches optimiser steps"`
	GroupSize        int            `yaml:"group_size" min:"2" doc:"trajectories of one scenario under one policy version"`
	ScenariosPerStep int            `yaml:"scenarios_per_step" min:"1" doc:"groups of one step"`
	Advantage        string         `yaml:"advantage" enum:"group,centred,leave_one_out,batch,per_term" doc:"how much better than its group an episode did: group divides by the group's standard deviation, centred by nothing (for dr_grpo), batch by that of the whole step; leave_one_out compares with the others alone; per_term normalises each reward term by itself (GDPO)"`
	Credit           Credit         `yaml:"credit" doc:"whose doing a reward is"`
	NegativeWeight   float64        `yaml:"negative_weight" min:"0" max:"100" doc:"what advantages below 0 are multiplied by: at 1 failures are pushed down as hard as successes are raised; at 0 the policy learns from what did better than its group alone, as rejection sampling does, on fresh episodes"`
	Loss             string         `yaml:"loss" enum:"dapo,grpo,bnpo,dr_grpo,gspo,cispo,raft" doc:"of the policy's tokens. dapo counts each token alike, grpo each episode, dr_grpo divides by a constant, bnpo is dapo here; these drop the gradient of a token whose ratio is clipped. gspo has one ratio for each row, for which clip_low 0.0003 and clip_high 0.0004 are usual, and scores a step's episodes once more before it learns. cispo keeps the gradient, weighed by the clipped ratio, for which clip_low 1 and clip_high 4 are usual. raft has no policy gradient: it fine-tunes on the episodes of a step that passed, and on imitation and demonstrations where there are some"`
	Length           int            `yaml:"length" min:"0" doc:"tokens that dr_grpo divides by for each episode; 0 takes rollout.max_tokens"`
	NumIterations    int            `yaml:"num_iterations" min:"1" max:"64" doc:"passes over the trajectories of one step, each at its learning rate; above 1 the ratios depart from 1 and the clip bounds them"`
	Minibatches      int            `yaml:"minibatches" min:"1" max:"1024" doc:"optimiser steps of one pass over a step's trajectories, each on its share of the groups that teach something (PPO's minibatches): more updates for the same rollouts and the same computing"`
	ClipLow          float64        `yaml:"clip_low" min:"0" max:"1" doc:"the ratio is clipped below 1 - clip_low"`
	ClipHigh         float64        `yaml:"clip_high" min:"0" doc:"the ratio is clipped above 1 + clip_high"`
	ClipDual         float64        `yaml:"clip_dual" min:"0" doc:"bound of the ratio where the advantage is negative, above 1 + clip_high, such as 3 (dual clip); 0 has none"`
	KL               KL             `yaml:"kl" doc:"the divergence from the policy that the stage began with, added to the loss"`
	OffPolicy        float64        `yaml:"off_policy" min:"0" doc:"mask rows of episodes worse than their group whose mean log(sampler's / trainer's probability) is above this, such as 0.1 (DeepSeek-V3.2); 0 masks none"`
	Entropy          Entropy        `yaml:"entropy" doc:"a bonus for the entropy of the policy at each sampled token, so that it goes on trying other calls"`
	TopEntropy       float64        `yaml:"top_entropy" min:"0" max:"1" doc:"share of a step's sampled tokens that are learnt from: those at which the policy was least sure, such as 0.2. It costs a forward pass over the episodes; 1 takes all"`
	Correction       Correction     `yaml:"correction" doc:"of the difference between sampler and trainer: TIS, IcePop, MIS"`
	Resample         int            `yaml:"resample" min:"0" max:"64" doc:"dynamic sampling: most scenarios tried, two at once, then four and so on, in the place of one whose group teaches nothing because all its rewards are equal, or fewer than two of its episodes count; 0 replaces none"`
	Imitation        Imitation      `yaml:"imitation" doc:"episodes of earlier steps that passed are learnt from again, those first that are rare for their scenario (self-imitation)"`
	Explorations     int            `yaml:"explorations" min:"0" max:"4096" doc:"scenarios of a step, of those none of whose group passed, that are tried once more by as many episodes as a group has: each takes some turns of the best episode that there was, and is held to a call of a tool that was not called there, or to words. Those that pass are imitated, so grpo.imitation is needed; 0 has none"`
	Demonstrations   Demonstrations `yaml:"demonstrations" doc:"rows of SFT that each step learns from too, so that what they taught is kept (CHORD)"`
	Distillation     Distillation   `yaml:"distillation" doc:"the policy, shown the gold calls, teaches itself on its own episodes, token by token (on-policy self-distillation)"`
	Pools            Pools          `yaml:"pools" doc:"which scenarios come less often, by the share of their last group's episodes that passed"`
	Staleness        int            `yaml:"staleness" min:"0" max:"1" doc:"policies that episodes may be behind the one that learns from them. At 1 the next step's episodes run while this step is computed (one-step-off overlap); the loss's ratio corrects for the difference, or the correction where there is one, which gspo needs. 0 takes turns"`
	KeepTokens       int            `yaml:"keep_tokens" min:"0" doc:"steps between those of which each token that is learnt from is kept for hone view, with its advantage, weight, entropy and both logprobs; such a step takes two forward passes more. 0 keeps none"`
	StragglerWait    float64        `yaml:"straggler_wait" min:"0" max:"1000" doc:"a step in which nine of ten episodes have ended waits for the others this many times as long as those took, and a minute at least; what has not ended then is stopped and left out (masked_ratio). 0 waits for all"`
	Patience         int            `yaml:"patience" min:"0" doc:"evaluations on the validation split (eval.every) in a row without a better one, by success and then by reward, after which training stops; 0 never stops it early"`
	CheckpointEvery  int            `yaml:"checkpoint_every" min:"1" doc:"steps between checkpoints"`
}

// Credit divides what an episode earns among its turns.
type Credit struct {
	Level    string  `yaml:"level" enum:"episode,turn" doc:"episode: all turns share the episode's advantage; turn: each is compared with the same turn of the others of its group, by what was earned from it on"`
	Discount float64 `yaml:"discount" min:"0.01" max:"1" doc:"of level turn: what is earned a turn later counts this much"`
	Progress float64 `yaml:"progress" min:"0" max:"1000" doc:"of level turn: what a turn earns beside by checks that hold from it on and did not before, for all of them: calls that were made, and what was seen of the world after a turn (after_turn)"`
}

func (c Credit) check(advantage string) error {
	switch {
	case c.Level == "turn" && advantage == "per_term":
		return &ValueError{"grpo.credit.level",
			"grpo.advantage: per_term compares terms of whole episodes; take another, or the level episode"}
	case c.Level != "turn" && (c.Progress != 0 || c.Discount != 1):
		return &ValueError{"grpo.credit", "discount and progress are of the level turn; set grpo.credit.level: turn"}
	}
	return nil
}

// KL is the divergence from a reference policy.
type KL struct {
	Beta      float64 `yaml:"beta" min:"0" max:"100" doc:"what it is multiplied by, such as 0.001; 0 has none, and needs no second pass over the episodes"`
	Estimator string  `yaml:"estimator" enum:"k1,k2,k3" doc:"how it is estimated from the sampled tokens"`
	Gradient  string  `yaml:"gradient" enum:"own,k2,ratio" doc:"own is the estimator's; k2 is that of k2, which is the divergence's on the average; ratio is that of the estimator times the ratio to the old policy (DeepSeek-V3.2)"`
}

// Entropy is the bonus for it.
type Entropy struct {
	Coefficient float64 `yaml:"coefficient" min:"0" max:"1" doc:"what the mean entropy, in nats a token, is multiplied by and taken from the loss, such as 0.01; 0 has none"`
	Target      float64 `yaml:"target" min:"0" doc:"entropy in nats a token at or below which there is a bonus, such as what the first steps have; its coefficient begins at coefficient and adapts. 0: it is coefficient in all steps"`
	Delta       float64 `yaml:"delta" min:"0" max:"1" doc:"with a target: by this the coefficient grows in each step whose entropy is at the target or below, up to 1, and falls in each other step"`
}

// Correction weighs tokens by how much likelier they are to the trainer than they were to the sampler.
type Correction struct {
	Level string  `yaml:"level" enum:"none,token,sequence,geometric" doc:"the ratio of each token, or of all tokens of a row: their product or geometric mean. It costs a second pass over the episodes; the clip then bounds what the updates move alone"`
	Mode  string  `yaml:"mode" enum:"truncate,mask" doc:"a ratio beyond a bound is cut to it, or weighs nothing"`
	Low   float64 `yaml:"low" min:"0" doc:"lower bound of the ratio"`
	High  float64 `yaml:"high" min:"0" doc:"upper bound of the ratio"`
}

// Imitation is of earlier successes.
type Imitation struct {
	Rows   int     `yaml:"rows" min:"0" max:"65536" doc:"earlier successes that a step learns from, at most, each of another scenario, such as 16; 0 has none"`
	Weight float64 `yaml:"weight" min:"0.001" max:"100" doc:"what their advantages are multiplied by: how much better they did than their scenario's newest group"`
	Memory int     `yaml:"memory" min:"1" max:"1048576" doc:"successes that are held at most, one a scenario; checkpoints have their tokens"`
}

// Demonstrations are learnt from beside a step's episodes.
type Demonstrations struct {
	File   string  `yaml:"file" doc:"conversations as hone sft takes them, or a folder of them; hone demo takes those of its SFT"`
	Rows   int     `yaml:"rows" min:"-1" max:"65536" doc:"rows of a step, in random orders, pass after pass, such as 16; 0 has none, -1 a quarter of a step's episodes where there is a file, or the adapter that training begins with is that of an hone sft, whose conversations are then taken"`
	Weight float64 `yaml:"weight" min:"0.001" max:"100" doc:"advantage of their tokens; that of an episode that did better than its group is about 0.5"`
	Phi    bool    `yaml:"phi" doc:"weigh each token by p (1 - p) too, p being the policy's probability of it: tokens that it is unsure of are learnt, and not those that it knows or would never say"`
}

// Distillation is the policy's, of itself with the gold calls in its prompt.
type Distillation struct {
	Weight float64 `yaml:"weight" min:"0" max:"100" doc:"what a token's advantage has of log p_teacher - log p in the first step, such as 0.1; 0 has none. It costs a forward pass over the episodes"`
	Until  float64 `yaml:"until" min:"0.01" max:"1" doc:"share of grpo.steps over which the weight falls to 0"`
}

// Pools skip scenarios that are currently always or never solved.
type Pools struct {
	SkipSolved float64 `yaml:"skip_solved" min:"0" max:"1" doc:"chance that a pass over the scenarios leaves out one whose last group passed in all of its episodes"`
	SkipFailed float64 `yaml:"skip_failed" min:"0" max:"1" doc:"the same of one whose last group passed in none"`
}

// check refuses bounds that contradict each other, and one that would act nowhere.
func (g *GRPO) check() error {
	switch {
	case g.ClipDual != 0 && g.Loss == "cispo":
		return &ValueError{"grpo.clip_dual", "the loss cispo has no such bound; set it to 0"}
	case g.ClipDual != 0 && g.ClipDual <= 1+g.ClipHigh:
		return &ValueError{"grpo.clip_dual",
			fmt.Sprintf("%g is not above 1 + grpo.clip_high, which is %g", g.ClipDual, 1+g.ClipHigh)}
	case g.Correction.Low > g.Correction.High:
		return &ValueError{"grpo.correction.low",
			fmt.Sprintf("%g is above grpo.correction.high, which is %g", g.Correction.Low, g.Correction.High)}
	case g.TopEntropy == 0:
		return &ValueError{"grpo.top_entropy", "no token would be learnt from; 1 takes all"}
	case g.Entropy.Target > 0 && g.Entropy.Delta == 0:
		return &ValueError{
			"grpo.entropy.delta",
			"with a target the coefficient is to change; set it above 0, such as 0.005, " +
				"or leave grpo.entropy.target out",
		}
	case g.Explorations > 0 && g.Imitation.Rows == 0:
		return &ValueError{"grpo.explorations", "nothing would learn from them: set grpo.imitation.rows, such as 16"}
	case g.Demonstrations.File != "" && g.Demonstrations.Rows == 0:
		return &ValueError{"grpo.demonstrations.rows",
			"nothing would be learnt from the file: set how many rows of it a step has, such as 16"}
	case g.Correction.High == 0:
		return &ValueError{"grpo.correction.high", "no token would have a weight"}
	}
	if key := g.idle(); g.Loss == "raft" && key != "" {
		return &ValueError{key, "grpo.loss: raft has no policy gradient, in which this would act; leave it out"}
	}
	if g.Staleness > 0 && (g.Pools.SkipSolved > 0 || g.Pools.SkipFailed > 0) {
		return &ValueError{
			"grpo.staleness",
			"which scenarios rest is known after a step, when the next one's episodes have begun: " +
				"leave grpo.pools out, or set it to 0",
		}
	}
	if g.Staleness > 0 && g.Loss == "gspo" && g.Correction.Level == "none" {
		return &ValueError{
			"grpo.staleness", "the loss gspo has its ratio to the trainer's own policy, so nothing would correct for " +
				"the step that the sampler is behind: set grpo.correction.level, such as sequence, " +
				"or another grpo.loss",
		}
	}
	return g.Credit.check(g.Advantage)
}

// idle is the first key that is set of those that change a policy gradient alone, "" for none.
func (g *GRPO) idle() string {
	for _, x := range []struct {
		on  bool
		key string
	}{
		{g.KL.Beta > 0, "grpo.kl.beta"}, {g.Entropy.Coefficient > 0 || g.Entropy.Target > 0, "grpo.entropy"},
		{g.TopEntropy < 1, "grpo.top_entropy"}, {g.Correction.Level != "none", "grpo.correction.level"},
		{g.OffPolicy > 0, "grpo.off_policy"}, {g.Distillation.Weight > 0, "grpo.distillation.weight"},
		{g.ClipDual > 0, "grpo.clip_dual"}, {g.Credit.Level != "episode", "grpo.credit.level"},
	} {
		if x.on {
			return x.key
		}
	}
	return ""
}
