package batch

// Objective names the loss of a step, a mean over its tokens, and gives its numbers; package learn/objective has the formulas. The zero
// value is the negative log-likelihood.
type Objective struct {
	Loss        Loss
	Clip        Clip    // of losses that have one
	Temperature float64 // that the rows were sampled at; the trainer's logits are divided by it too. 0 is 1: demonstrations were not sampled
}

// Loss is the name of a loss.
type Loss string

// The losses there are.
const (
	LossLikelihood Loss = "" // negative log-likelihood of demonstrations
	LossDAPO       Loss = "dapo"
	LossCISPO      Loss = "cispo"
)

// Losses lists them.
func Losses() []Loss { return []Loss{LossLikelihood, LossDAPO, LossCISPO} }

// Clip bounds the ratio of the trainer's probability to the old one to [1-Low, 1+High].
type Clip struct{ Low, High float64 }

// Cuts reports whether a ratio lies outside of the bounds.
func (c Clip) Cuts(ratio float64) bool { return ratio < 1-c.Low || ratio > 1+c.High }

// StepStats describe one optimiser step.
type StepStats struct {
	Loss       float64 // sum over trained tokens by the batch's normaliser
	GradNorm   float64 // before clipping; 0 until the gradient is applied
	NumTokens  int     // computed, the prefix counted once
	NumPadded  int     // positions computed that hold no token
	NumTrained int
	// NumPrograms were made since the last gradient, in so many seconds: compiled, or read from the disk.
	NumPrograms    int
	CompileSeconds float64

	MeanRatio float64 // mean exp(trainer - sampler logprob) of trained tokens; 0 in supervised steps
	Mismatch  float64 // mean of r - 1 - log r with that ratio: KL(sampler || trainer) by the k3 estimator, in nats
	MaxDelta  float64 // largest |trainer - sampler logprob|
	Clipped   float64 // share of trained tokens whose ratio exp(trainer - old logprob) lies outside of the clip
}
