package modelfile

import (
	"fmt"
	"math"
)

// Rope is how positions rotate queries and keys (arXiv 2104.09864). The zero value but for Theta is the plain kind.
type Rope struct {
	Theta float64
	Dims  int // leading elements of a head that are rotated; 0: all
	// Kind is transformers' rope_type: "" and "default" are plain, "linear" (arXiv 2306.15595), "llama3"
	// (arXiv 2407.21783), "yarn" (arXiv 2309.00071), "longrope" (arXiv 2402.13753).
	Kind                    string
	Factor                  float64   // linear, llama3, yarn
	LowFactor, HighFactor   float64   // llama3
	BetaFast, BetaSlow      float64   // yarn
	OriginalContext         int       // llama3, yarn, longrope: tokens of the pre-training
	ShortFactor, LongFactor []float64 // longrope
	// Long takes LongFactor: right for sequences of more than OriginalContext tokens, and for no others.
	Long bool
	// Magnitude is a factor of cosines and sines; 0: 1.
	Magnitude float64
}

func (r Rope) dims(headDim int) int {
	if r.Dims == 0 {
		return headDim
	}
	return r.Dims
}

func (r Rope) validate(headDim int) error {
	half := r.dims(headDim) / 2
	switch {
	case !(r.Theta > 1) || math.IsInf(r.Theta, 0):
		return fmt.Errorf("a rope theta of %v", r.Theta)
	case r.Dims < 0 || r.Dims > headDim || r.Dims%2 != 0:
		return fmt.Errorf("%d rotated elements of heads of %d", r.Dims, headDim)
	}
	switch r.Kind {
	case "", "default":
		return nil
	case "linear":
		if !(r.Factor > 0) {
			return fmt.Errorf("rope scaling by a factor of %v", r.Factor)
		}
	case "llama3":
		if !(r.Factor > 0) || !(r.LowFactor > 0) || !(r.HighFactor > r.LowFactor) || r.OriginalContext < 1 {
			return fmt.Errorf("llama3 rope scaling needs factor, low_freq_factor, a greater high_freq_factor, " +
				"and original_max_position_embeddings")
		}
	case "yarn":
		if !(r.Factor > 0) || r.OriginalContext < 1 {
			return fmt.Errorf("yarn rope scaling needs factor and original_max_position_embeddings")
		}
	case "longrope":
		if len(r.ShortFactor) != half || len(r.LongFactor) != half || r.OriginalContext < 1 {
			return fmt.Errorf("longrope scaling needs %d short and %d long factors, "+
				"and original_max_position_embeddings", half, half)
		}
	default:
		return fmt.Errorf("rope scaling of type %q is not supported", r.Kind)
	}
	return nil
}

// Frequencies returns the angle per position of each pair of rotated elements, in float32 as transformers has them.
func (r Rope) Frequencies(headDim int) []float32 {
	dims := r.dims(headDim)
	out := make([]float32, dims/2)
	for i := range out {
		power := math.Pow(r.Theta, float64(float32(2*i)/float32(dims)))
		out[i] = 1 / float32(power)
		switch r.Kind {
		case "linear":
			out[i] /= float32(r.Factor)
		case "llama3":
			out[i] = r.llama3(out[i])
		case "yarn":
			out[i] = r.yarn(i, dims, float32(power))
		case "longrope":
			factor := r.ShortFactor[i]
			if r.Long {
				factor = r.LongFactor[i]
			}
			out[i] = 1 / (float32(factor) * float32(power))
		}
	}
	return out
}

// llama3 slows what turns less than LowFactor times in the original context by Factor, keeps what turns more than
// HighFactor times, and goes linearly from one to the other.
func (r Rope) llama3(f float32) float32 {
	turns := float64(r.OriginalContext) * float64(f) / (2 * math.Pi)
	switch {
	case turns < r.LowFactor:
		return f / float32(r.Factor)
	case turns > r.HighFactor:
		return f
	}
	smooth := float32((turns - r.LowFactor) / (r.HighFactor - r.LowFactor))
	return (1-smooth)*f/float32(r.Factor) + smooth*f
}

// yarn is the same idea, linear in the pair's index instead of its turns.
func (r Rope) yarn(i, dims int, power float32) float32 {
	at := func(turns float64) float64 {
		return float64(dims) * math.Log(float64(r.OriginalContext)/(turns*2*math.Pi)) / (2 * math.Log(r.Theta))
	}
	low := max(math.Floor(at(r.BetaFast)), 0)
	high := min(math.Ceil(at(r.BetaSlow)), float64(dims-1))
	if low == high {
		high += 0.001
	}
	ramp := float32(min(max((float64(i)-low)/(high-low), 0), 1))
	return ramp/(float32(r.Factor)*power) + (1-ramp)/power
}
