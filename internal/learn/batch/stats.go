package batch

// Clip bounds the ratio of trainer to sampler probability to [1-Low, 1+High].
type Clip struct{ Low, High float64 }

// StepStats describe one optimiser step.
type StepStats struct {
	Loss       float64 // mean over trained tokens
	GradNorm   float64 // before clipping
	NumTokens  int     // computed, the prefix counted once
	NumTrained int
	MeanRatio  float64 // mean exp(trainer - sampler logprob) of trained tokens; 0 in supervised steps
	Mismatch   float64 // mean of r - 1 - log r with that ratio: KL(sampler || trainer) by the k3 estimator, in nats
	MaxDelta   float64 // largest |trainer - sampler logprob|
}
