package batch

import "math"

// GroupNormalized is GRPO's advantage (arXiv 2402.03300): (r - mean) / (std + 1e-4) over the group, with the sample
// standard deviation (ddof 1), as TRL computes it.
func GroupNormalized(rewards []float64) []float64 {
	centred := Centred(rewards)
	sum := 0.0
	for _, c := range centred {
		sum += c * c
	}
	std := 0.0
	if len(rewards) > 1 {
		std = math.Sqrt(sum / float64(len(rewards)-1))
	}
	for i := range centred {
		centred[i] /= std + 1e-4
	}
	return centred
}

// Centred is r - mean over the group (Dr. GRPO, arXiv 2503.20783).
func Centred(rewards []float64) []float64 {
	mean := 0.0
	for _, r := range rewards {
		mean += r / float64(len(rewards))
	}
	out := make([]float64, len(rewards))
	for i, r := range rewards {
		out[i] = r - mean
	}
	return out
}
