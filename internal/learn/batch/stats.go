package batch

// Objective is the loss of a step, a mean over its tokens. The zero value is the negative log-likelihood of the trained
// tokens, whose logits are divided by nothing: demonstrations were not sampled at a temperature.
type Objective struct {
	Policy *PolicyGradient // in place of the likelihood, where it is not nil
}

// PolicyGradient is the clipped policy-gradient loss of DAPO (arXiv 2503.14476, eq. 8).
type PolicyGradient struct {
	Clip        Clip
	Temperature float64 // that SamplerLogprobs were sampled at; the trainer's logits are divided by it too
}

// Clip bounds the ratio of trainer to sampler probability to [1-Low, 1+High].
type Clip struct{ Low, High float64 }

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
}
