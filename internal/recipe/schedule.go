package recipe

import (
	"math"

	"hone/internal/learn/batch"
)

// Optimizer is how a stage takes its steps.
type Optimizer struct {
	LearningRate float64 // at its peak
	Schedule     Schedule
	MaxGradNorm  float64 // 0: no bound
	Adam         batch.Adam
}

// Update is that of step (from 0) of total.
func (o Optimizer) Update(step, total int) batch.Update {
	return batch.Update{Rate: o.Schedule.Rate(o.LearningRate, step, total), MaxGradNorm: o.MaxGradNorm, Adam: o.Adam}
}

// Schedule is how the learning rate goes over the steps of a stage. The zero value falls linearly from the first step
// on.
type Schedule struct {
	Decay  string  // after the warm-up: Linear (also where it is empty), Cosine, Constant
	Warmup float64 // share of the steps over which the rate rises to its peak, rounded down; above 0 at least one step
}

// What a rate does after its warm-up: it falls to 0 in a straight line, or as half a cosine; or it stays.
const (
	Linear   = "linear"
	Cosine   = "cosine"
	Constant = "constant"
)

// Rate is the learning rate of step (from 0) of total. The numbers after the warm-up are those of transformers'
// get_linear_schedule_with_warmup and its like. The warm-up is one step ahead of theirs, whose first step has a rate of
// 0 and so is lost.
func (s Schedule) Rate(peak float64, step, total int) float64 {
	warmup := int(s.Warmup * float64(total))
	if s.Warmup > 0 {
		warmup = max(warmup, 1)
	}
	if step < warmup {
		return peak * float64(step+1) / float64(warmup)
	}
	rest := float64(max(total-warmup, 1))
	switch s.Decay {
	case Constant:
		return peak
	case Cosine:
		return peak * math.Max(0, 0.5*(1+math.Cos(math.Pi*float64(step-warmup)/rest)))
	default:
		return peak * float64(total-step) / rest
	}
}
