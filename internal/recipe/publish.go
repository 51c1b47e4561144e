package recipe

import (
	"fmt"
	"strings"

	"hone/internal/fault"
)

// Publisher hands the policy that is trained to those who sample from it: the only arrow that points back. There may be
// one sampler, or several.
type Publisher interface {
	// Publish makes all samplers hold the policy as it is now.
	Publish() error
	// Policies name the policy that is trained, and the one that each sampler's programs read, by their numbers. Names
	// are the same exactly where the policies are.
	Policies() (trained string, sampled []string, err error)
}

// Publish hands the trained policy to the samplers and compares what both hold then, by its checksum: identity, where
// the mismatch of logprobs could only tell that the policies are alike. A sampler that holds another adapter, and none
// at all, is a *fault.Error, and nothing is sampled.
func Publish(p Publisher, stage string) error {
	if err := p.Publish(); err != nil {
		return err
	}
	trained, sampled, err := p.Policies()
	if err != nil {
		return err
	}
	same := len(sampled) > 0 && trained != ""
	for _, s := range sampled {
		same = same && s == trained
	}
	if same {
		return nil
	}
	return &fault.Error{
		Code:  fault.CodeError,
		What:  "the sampler does not hold the adapter that was trained",
		Where: stage,
		Why: fmt.Sprintf("the trainer's adapter has the checksum %q, and what each sampler's programs read has %q",
			trained, strings.Join(sampled, " ")),
		Next: "this is a fault of hone's, or of the device's memory: go on from the last checkpoint with hone " +
			"runs resume, and report it with the output of hone doctor if it comes again",
	}
}
