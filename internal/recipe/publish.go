package recipe

import (
	"fmt"
	"slices"

	"hone/internal/fault"
)

// Publish hands the trainer's adapter to the sampler and compares what both hold then, by its checksum on each device: identity, where the
// mismatch of logprobs could only tell that the policies are alike. A sampler that holds another adapter is a *fault.Error, and nothing is sampled from it.
func Publish(trainer Trainer, stage string) error {
	if err := trainer.Publish(); err != nil {
		return err
	}
	trained, sampled, err := trainer.Checksums()
	if err != nil {
		return err
	}
	if len(trained) > 0 && slices.Equal(trained, sampled) {
		return nil
	}
	return &fault.Error{Code: fault.CodeError, What: "the sampler does not hold the adapter that was trained", Where: stage,
		Why: fmt.Sprintf("by device, the trainer's adapter has the checksums %x, and what the sampler's programs read has %x", trained, sampled),
		Next: "this is a fault of hone's, or of the device's memory: go on from the last checkpoint with hone runs resume, " +
			"and report it with the output of hone doctor if it comes again"}
}
