package inputs

import (
	"fmt"
	"math"

	"hone/internal/fault"
	"hone/internal/host"
)

// tokenBytes is what a token of a training row takes of this machine's memory: its id, and whether it is trained.
const tokenBytes = 4 + 1

// checkEvery is the number of examples between memory estimates.
const checkEvery = 64

// Rendering counts what rows take of this machine's memory while they are rendered. All are held until training ends.
type Rendering struct {
	One    string // what an example is called
	All    int    // examples
	Free   int64  // bytes, before the first
	Tokens int    // so far
}

// FreeMemory is what a process can still get, in bytes; without bound where the system does not say.
func FreeMemory() int64 {
	if free, err := host.AvailableMemory(); err == nil {
		return free
	}
	return math.MaxInt64
}

// Refuse is an error where, after so many examples, all are foreseen to take more memory than there is: it is told before the rest is
// rendered, and before the system would end the process.
func (r *Rendering) Refuse(done int, path string) error {
	if done == 0 || done%checkEvery != 0 {
		return nil
	}
	tokens := float64(r.Tokens) / float64(done) * float64(r.All)
	if tokens*tokenBytes <= float64(r.Free) {
		return nil
	}
	gib := func(bytes float64) string { return fmt.Sprintf("%.1f GiB", bytes/(1<<30)) }
	return &fault.Error{Code: fault.CodeExhausted, What: "this machine's memory does not hold the " + r.One + "s", Where: path,
		Why:  fmt.Sprintf("by the first %d, %s have about %.3g tokens in all, which take %s; %s are free", done, fault.Count(r.All, r.One), tokens, gib(tokens*tokenBytes), gib(float64(r.Free))),
		Next: "give fewer (hone curate rules --per-tool N keeps the best traces), or lower model.context: longer ones are left out"}
}
