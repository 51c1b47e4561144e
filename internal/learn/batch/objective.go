package batch

import "errors"

// Objective names the loss of a step and gives its numbers; package learn/objective has the losses of a token, and
// Loss.Reduction says how these become the step's. The zero value is the mean negative log-likelihood.
type Objective struct {
	Loss Loss
	Clip Clip // of losses that have one
	KL   KL   // to a reference policy, added to the loss of each token
	// bound above which a row that moved away from its sampler is masked (objective.offPolicy); 0: none is
	OffPolicy float64
	// that the rows were sampled at; the trainer's logits are divided by it too. 0 is 1: demonstrations were not
	// sampled
	Temperature float64
	Bonus       Bonus // for entropy, taken from the loss of each token
}

// Loss is the name of a loss.
type Loss string

// The losses there are.
const (
	LossLikelihood Loss = "" // negative log-likelihood of demonstrations
	LossDAPO       Loss = "dapo"
	LossGRPO       Loss = "grpo"
	LossBNPO       Loss = "bnpo"
	LossDrGRPO     Loss = "dr_grpo"
	LossGSPO       Loss = "gspo"
	LossCISPO      Loss = "cispo"
	// LossPreference is that of pairs, whose slopes are a column. It is none of Losses, since its rows are not of
	// episodes.
	LossPreference Loss = "dpo"
)

// Losses lists those of demonstrations and episodes.
func Losses() []Loss {
	return []Loss{LossLikelihood, LossDAPO, LossGRPO, LossBNPO, LossDrGRPO, LossGSPO, LossCISPO}
}

// Clip bounds the ratio of the trainer's probability to the old one to [1-Low, 1+High].
type Clip struct {
	Low, High float64
	Dual      float64 // bounds the ratio where the advantage is negative too, above 1+High; 0: nothing does
}

// Cuts reports whether a ratio lies outside of the bounds.
func (c Clip) Cuts(ratio float64) bool { return ratio < 1-c.Low || ratio > 1+c.High }

// KL is the divergence from a reference policy, estimated from the sampled tokens; objective.divergence has the
// formulas.
type KL struct {
	Beta      float64 // what it is multiplied by; 0: there is none, and no reference is needed
	Estimator Estimator
	Gradient  Gradient
}

// Bonus is a reward for entropy; objective.bonus has the formula.
type Bonus struct {
	On          bool    // the entropy of each token is computed, over the whole vocabulary
	Coefficient float64 // what it is multiplied by
}

// Estimator is a function of a token's two logprobs whose mean over samples is, or is near, the divergence.
type Estimator string

// The estimators there are.
const (
	K1 Estimator = "k1"
	K2 Estimator = "k2"
	K3 Estimator = "k3"
)

// Gradient says what the gradient of a divergence is that of: the estimator's mean may be the divergence while its
// gradient is not.
type Gradient string

// The gradients there are.
const (
	GradientOwn   Gradient = "own"   // the estimator's own
	GradientK2    Gradient = "k2"    // that of k2, whatever the value is
	GradientRatio Gradient = "ratio" // that of the estimator times the ratio to the old policy
)

// ErrNotFinite is in the error of an optimiser step that was not taken because a number is not finite.
var ErrNotFinite = errors.New("a number of the model or of a row went out of bounds")

// StepStats describe one optimiser step.
type StepStats struct {
	Loss      float64 // weighted sum over trained tokens by the batch's normaliser
	GradNorm  float64 // before clipping; 0 until the gradient is applied
	NumTokens int     // computed, the prefix counted once
	NumPadded int     // positions computed that hold no token
	// of a step whose rows are packed: tokens that would be computed if each row were behind the prefix by itself; else
	// 0
	NumApart   int
	NumTrained int
	NumSampled int // trained tokens of which a sampler has a logprob, and not the trainer itself

	MeanRatio float64 // mean exp(trainer - sampler logprob) of these tokens; 0 in supervised steps
	Mismatch  float64 // mean of r - 1 - log r with that ratio: KL(sampler || trainer) by the k3 estimator, in nats
	MaxDelta  float64 // largest |trainer - sampler logprob|
	// share of trained tokens whose ratio to the old policy, by token or by row as the loss has it, lies outside of the
	// clip
	Clipped float64
	// mean of the estimated divergence from the reference, in nats, over the NumReferred tokens that have one
	KL          float64
	NumReferred int
	// mean over the NumSampled tokens of the policy's entropy over the vocabulary, in nats; 0 without a Bonus
	Entropy float64
	// EntropyChosen is the same over those NumChosen tokens that the bonus is of.
	EntropyChosen float64
	NumChosen     int
}
