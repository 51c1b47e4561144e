package job

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"hone/internal/config"
	"hone/internal/episode/reward"
	"hone/internal/episode/reward/formula"
	"hone/internal/episode/userprogram"
	"hone/internal/eval/stats"
	"hone/internal/host"
	"hone/internal/learn/batch"
	"hone/internal/mcp"
	"hone/internal/recipe"
	"hone/internal/toolset"
)

// Stages of the verbs that train, as the ledger and the metrics name them.
const (
	sftStage  = "sft"
	dpoStage  = "dpo"
	grpoStage = "grpo"
)

// OptimizerOf turns a section of the configuration into what learns by it.
func OptimizerOf(c config.Optimizer) recipe.Optimizer {
	return recipe.Optimizer{LearningRate: c.LearningRate, MaxGradNorm: c.MaxGradNorm, Schedule: recipe.Schedule{Decay: c.Schedule, Warmup: c.Warmup},
		Adam: batch.Adam{Beta1: c.Beta1, Beta2: c.Beta2, Epsilon: c.Epsilon, WeightDecay: c.WeightDecay}}
}

// GRPOOf is the stage of GRPO that the configuration describes.
func GRPOOf(c config.Config, maxMismatch float64) recipe.GRPO {
	g := c.GRPO
	length := g.Length
	if length == 0 {
		length = min(c.Rollout.MaxTurns*c.Rollout.MaxTokens, c.Model.Context)
	}
	return recipe.GRPO{Stage: grpoStage, Steps: g.Steps, GroupsPerStep: g.ScenariosPerStep, GroupSize: g.GroupSize,
		Temperature: c.Rollout.Temperature, Seed: c.Seed,
		Advantage: batch.Advantages{By: batch.Advantage(g.Advantage), Negative: &g.NegativeWeight,
			Credit: batch.Credit{Level: batch.CreditLevel(g.Credit.Level), Discount: g.Credit.Discount}},
		Loss:      recipe.Loss{Name: batch.Loss(g.Loss), Length: length, Clip: batch.Clip{Low: g.ClipLow, High: g.ClipHigh, Dual: g.ClipDual}},
		Updates:   recipe.Updates{Optimizer: OptimizerOf(g.Optimizer), Iterations: g.NumIterations, Minibatches: g.Minibatches},
		Additions: additionsOf(g),
		Upkeep:    recipe.Upkeep{CheckpointEvery: g.CheckpointEvery, MaxMismatch: maxMismatch}}
}

// additionsOf are what the configuration adds to the loop of GRPO, in the order in which they act.
func additionsOf(g config.GRPO) (list []recipe.Addition) {
	add := func(on bool, a recipe.Addition) {
		if on {
			list = append(list, a)
		}
	}
	add(g.Pools.SkipSolved > 0 || g.Pools.SkipFailed > 0, &recipe.Pools{SkipSolved: g.Pools.SkipSolved, SkipFailed: g.Pools.SkipFailed})
	add(g.Resample > 0, &recipe.Resample{Most: g.Resample})
	add(g.Imitation.Rows > 0, &recipe.Imitation{Rows: g.Imitation.Rows, Weight: g.Imitation.Weight, Memory: g.Imitation.Memory})
	d := g.Demonstrations
	add(d.Rows > 0, &recipe.Demonstrations{Rows: d.Rows, Weight: d.Weight, Phi: d.Phi})
	add(g.Explorations > 0, &recipe.Explorations{Most: g.Explorations})
	x := batch.Correction{Level: batch.Level(g.Correction.Level), Mode: batch.Mode(g.Correction.Mode), Low: g.Correction.Low, High: g.Correction.High}
	add(x.On(), &recipe.Correction{Correction: x})
	kl := batch.KL{Beta: g.KL.Beta, Estimator: batch.Estimator(g.KL.Estimator), Gradient: batch.Gradient(g.KL.Gradient)}
	add(kl.Beta > 0, &recipe.Divergence{KL: kl})
	add(g.OffPolicy > 0, &recipe.OffPolicy{Bound: g.OffPolicy})
	add(g.TopEntropy > 0 && g.TopEntropy < 1, &recipe.TopEntropy{Share: g.TopEntropy})
	e := g.Entropy
	add(e.Coefficient > 0 || e.Target > 0, &recipe.Entropy{Coefficient: e.Coefficient, Target: e.Target, Delta: e.Delta})
	add(g.Staleness > 0, &recipe.Overlap{Staleness: g.Staleness})
	return list
}

// WeightsOf turns a section of the configuration into what episodes are scored by.
func WeightsOf(c config.Rewards) *reward.Weights {
	return &reward.Weights{Checks: c.Checks, Call: c.Call, Tool: c.Tool, End: c.End, Extra: c.Extra, Repeat: c.Repeat,
		Invalid: c.Invalid, Parse: c.Parse}
}

// ByTurn is a scorer that says too what each turn earned, where the configuration gives credit to turns.
func ByTurn(c config.Config, s reward.Scorer) reward.Scorer {
	if c.GRPO.Credit.Level == string(batch.CreditTurn) {
		s.Turns = &reward.Turns{Progress: c.GRPO.Credit.Progress}
	}
	return s
}

// ScorerOf is what episodes are scored by, with the tools of a catalog, which may be nil.
func ScorerOf(h *host.Host, c config.Rewards, catalog *mcp.Catalog) (reward.Scorer, error) {
	s := reward.Scorer{Weights: WeightsOf(c), Rating: c.Rating, Effort: reward.Effort{Arguments: c.Arguments, Recovery: c.Recovery, Repair: c.Repair,
		Economy: reward.Economy(c.Economy), Length: reward.Length(c.Length)}}
	if catalog != nil {
		s.Defaults = catalog.Defaults()
	}
	if o := c.Overlong; o.Weight != 0 {
		s.Overlong = &reward.Overlong{Weight: o.Weight, Limit: o.Limit, Buffer: o.Buffer}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Expressions)) {
		f, err := formula.Compile(c.Expressions[name].Formula)
		if err != nil {
			return s, err
		}
		s.Expressions = append(s.Expressions, reward.Expression{Name: name, Formula: f, Weight: c.Expressions[name].Weight})
	}
	if len(c.Program.Command) == 0 {
		return s, nil
	}
	p := userprogram.Program{Command: slices.Clone(c.Program.Command), Environ: toolset.ProgramEnviron(h), Timeout: c.Program.Timeout}
	if strings.ContainsRune(p.Command[0], filepath.Separator) {
		file, err := filepath.Abs(p.Command[0])
		if err != nil {
			return s, err
		}
		p.Command[0] = file
	}
	var err error
	if s.Program, err = reward.NewProgram(p, c.Program.Weight); err == nil && c.Program.Worker {
		s.Program.Worker = userprogram.NewWorker(p)
	}
	return s, err
}

// SFTOf is the stage of SFT that the configuration describes.
func SFTOf(c config.Config) recipe.SFT {
	return recipe.SFT{Stage: sftStage, Epochs: c.SFT.Epochs, Steps: c.SFT.Steps, BatchSize: c.SFT.BatchSize, Optimizer: OptimizerOf(c.SFT.Optimizer),
		CheckpointEvery: c.SFT.CheckpointEvery, Seed: c.Seed, EvalEvery: c.SFT.EvalEvery, Patience: c.SFT.Patience}
}

// DPOOf is the stage of DPO that the configuration describes.
func DPOOf(c config.Config) recipe.DPO {
	d := c.DPO
	return recipe.DPO{SFT: recipe.SFT{Stage: dpoStage, Epochs: d.Epochs, BatchSize: d.BatchSize, Optimizer: OptimizerOf(d.Optimizer), CheckpointEvery: d.CheckpointEvery, Seed: c.Seed,
		EvalEvery: d.EvalEvery, Patience: d.Patience},
		Preference: batch.Preference{Loss: batch.PreferenceLoss(d.Loss), Beta: d.Beta, LabelSmoothing: d.LabelSmoothing, Alpha: d.RPOAlpha}}
}

// IntervalsOf says how the intervals of a report are computed.
func IntervalsOf(c config.Config) stats.Bootstrap {
	return stats.Bootstrap{Level: c.Eval.Confidence, Seed: c.Seed}
}
