package recipe

import (
	"time"

	"hone/internal/learn/batch"
)

// clock measures what steps take. Of all metrics its own alone differ where a run is repeated or resumed:
//
//	step_time           seconds of the step: episodes, gradient, update
//	time/compile        of them, those in which the trainer's programs were compiled, or read from the disk
//	time/compile_share  share of compiling in all steps of this process
//	time/programs       the trainer's programs that this process has made
type clock struct {
	began                     time.Time
	steps, compiling, numMade float64
}

// step adds a step that ends now to a step's metrics, and begins the next.
func (c *clock) step(m map[string]float64, trainer Trainer) {
	now := time.Now()
	took := now.Sub(c.began).Seconds()
	c.began = now
	made, compiling := trainer.CompileStats()
	c.steps, c.compiling, c.numMade = c.steps+took, c.compiling+compiling, c.numMade+float64(made)
	m["step_time"], m["time/compile"], m["time/programs"] = took, compiling, c.numMade
	m["time/compile_share"] = 0
	if c.steps > 0 {
		m["time/compile_share"] = c.compiling / c.steps
	}
}

// restart begins the next step now: what passed since the last one ended is no step's, and what was compiled then not
// either. Its programs count.
func (c *clock) restart(trainer Trainer) {
	made, _ := trainer.CompileStats()
	c.began, c.numMade = time.Now(), c.numMade+float64(made)
}

// padding is the share of computed positions that hold no token.
func padding(s batch.StepStats) float64 {
	if s.NumTokens+s.NumPadded == 0 {
		return 0
	}
	return float64(s.NumPadded) / float64(s.NumTokens+s.NumPadded)
}
