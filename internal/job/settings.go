package job

import (
	"hone/internal/config"
	"hone/internal/episode/trajectory"
	"hone/internal/eval/stats"
	"hone/internal/learn/batch"
	"hone/internal/mcp"
	"hone/internal/recipe"
)

// KnownFacts is what scenarios do not say: the servers of tools, and what an episode cost.
func KnownFacts(c *mcp.Catalog) stats.Known {
	return stats.Known{Server: ServerOf(c), Cost: (*trajectory.Trajectory).Cost}
}

// ServerOf tells the server of a tool by the name the model calls it by; "" of one that the catalog does not have. It
// is nil without a catalog.
func ServerOf(c *mcp.Catalog) func(tool string) string {
	if c == nil {
		return nil
	}
	servers := map[string]string{}
	for _, s := range c.Servers {
		for _, t := range s.Tools {
			servers[t.ModelName] = s.Name
		}
	}
	return func(tool string) string { return servers[tool] }
}

// Stages of the verbs that train, as the ledger and the metrics name them.
const (
	SFTStage  = "sft"
	DPOStage  = "dpo"
	GRPOStage = "grpo"
)

// OptimizerOf turns a section of the configuration into what learns by it.
func OptimizerOf(c config.Optimizer) recipe.Optimizer {
	return recipe.Optimizer{LearningRate: c.LearningRate, MaxGradNorm: c.MaxGradNorm,
		Schedule: recipe.Schedule{Decay: c.Schedule, Warmup: c.Warmup}, Adam: batch.Adam{Beta1: c.Beta1, Beta2: c.Beta2,
			Epsilon: c.Epsilon, WeightDecay: c.WeightDecay}}
}

// raft is the value of grpo.loss that is no loss of a policy gradient.
const raft = "raft"

// GRPOOf is the stage of GRPO that the configuration describes.
func GRPOOf(c config.Config, maxMismatch float64) recipe.GRPO {
	g := c.GRPO
	length, loss := g.Length, batch.Loss(g.Loss)
	if g.Loss == raft {
		loss = batch.LossLikelihood
	}
	if length == 0 {
		length = c.Rollout.MaxTokens
	}
	return recipe.GRPO{Stage: GRPOStage, Steps: g.Steps, GroupsPerStep: g.ScenariosPerStep, GroupSize: g.GroupSize,
		Temperature: c.Rollout.Temperature, Seed: c.Seed,
		Advantage: batch.Advantages{By: batch.Advantage(g.Advantage), Negative: &g.NegativeWeight,
			Credit: batch.Credit{Level: batch.CreditLevel(g.Credit.Level), Discount: g.Credit.Discount}},
		Loss: recipe.Loss{Name: loss, Length: length,
			Clip: batch.Clip{Low: g.ClipLow, High: g.ClipHigh, Dual: g.ClipDual}},
		Updates: recipe.Updates{Optimizer: OptimizerOf(g.Optimizer), Iterations: g.NumIterations,
			Minibatches: g.Minibatches},
		Additions: additionsOf(g),
		Upkeep: recipe.Upkeep{CheckpointEvery: g.CheckpointEvery, MaxMismatch: maxMismatch,
			StragglerWait: g.StragglerWait}}
}

// additionsOf are what the configuration adds to the loop of GRPO, in the order in which they act.
func additionsOf(g config.GRPO) (list []recipe.Addition) {
	add := func(on bool, a recipe.Addition) {
		if on {
			list = append(list, a)
		}
	}
	add(g.Pools.SkipSolved > 0 || g.Pools.SkipFailed > 0,
		&recipe.Pools{SkipSolved: g.Pools.SkipSolved, SkipFailed: g.Pools.SkipFailed})
	add(g.Resample > 0, &recipe.Resample{Most: g.Resample})
	add(g.Imitation.Rows > 0,
		&recipe.Imitation{Rows: g.Imitation.Rows, Weight: g.Imitation.Weight, Memory: g.Imitation.Memory})
	d := g.Demonstrations
	add(d.Rows > 0, &recipe.Demonstrations{Rows: d.Rows, Weight: d.Weight, Phi: d.Phi})
	add(g.Loss == raft, &recipe.RAFT{})
	add(g.Explorations > 0, &recipe.Explorations{Most: g.Explorations})
	x := batch.Correction{Level: batch.Level(g.Correction.Level), Mode: batch.Mode(g.Correction.Mode),
		Low: g.Correction.Low, High: g.Correction.High}
	add(x.On(), &recipe.Correction{Correction: x})
	kl := batch.KL{Beta: g.KL.Beta, Estimator: batch.Estimator(g.KL.Estimator), Gradient: batch.Gradient(g.KL.Gradient)}
	add(kl.Beta > 0, &recipe.Divergence{KL: kl})
	add(g.Distillation.Weight > 0, &recipe.Distillation{Weight: g.Distillation.Weight, Until: g.Distillation.Until})
	add(g.OffPolicy > 0, &recipe.OffPolicy{Bound: g.OffPolicy})
	add(g.TopEntropy > 0 && g.TopEntropy < 1, &recipe.TopEntropy{Share: g.TopEntropy})
	e := g.Entropy
	add(e.Coefficient > 0 || e.Target > 0,
		&recipe.Entropy{Coefficient: e.Coefficient, Target: e.Target, Delta: e.Delta})
	add(g.Staleness > 0, &recipe.Overlap{Staleness: g.Staleness})
	add(g.KeepTokens > 0, &recipe.TokenRecord{Every: g.KeepTokens}) // last: it keeps what the others left
	return list
}

// SFTOf is the stage of SFT that the configuration describes.
func SFTOf(c config.Config) recipe.SFT {
	return recipe.SFT{Stage: SFTStage, Epochs: c.SFT.Epochs, Steps: c.SFT.Steps, BatchSize: c.SFT.BatchSize,
		Optimizer: OptimizerOf(c.SFT.Optimizer), CheckpointEvery: c.SFT.CheckpointEvery, Seed: c.Seed,
		EvalEvery: c.SFT.EvalEvery, Patience: c.SFT.Patience}
}

// DPOOf is the stage of DPO that the configuration describes.
func DPOOf(c config.Config) recipe.DPO {
	d := c.DPO
	return recipe.DPO{
		SFT: recipe.SFT{Stage: DPOStage, Epochs: d.Epochs, BatchSize: d.BatchSize, Optimizer: OptimizerOf(d.Optimizer),
			CheckpointEvery: d.CheckpointEvery, Seed: c.Seed, EvalEvery: d.EvalEvery, Patience: d.Patience},
		Preference: batch.Preference{Loss: batch.PreferenceLoss(d.Loss), Beta: d.Beta, LabelSmoothing: d.LabelSmoothing,
			Alpha: d.RPOAlpha},
	}
}

// IntervalsOf says how the intervals of a report are computed.
func IntervalsOf(c config.Config) stats.Bootstrap {
	return stats.Bootstrap{Level: c.Eval.Confidence, Seed: c.Seed}
}
