package config

import (
	"fmt"

	"hone/internal/fault"
)

// TakeSteps sets the steps of SFT and of GRPO, as --steps says; 0 leaves what the keys say.
func (c *Config) TakeSteps(n int) error {
	if n < 0 {
		return &fault.Error{Code: fault.CodeUsage, What: fmt.Sprintf("cannot take %d steps", n), Where: "--steps",
			Next: "give 1 or more, or leave it out: sft.epochs and grpo.steps say how many then"}
	}
	if n > 0 {
		c.SFT.Steps, c.GRPO.Steps = n, n
	}
	return nil
}
