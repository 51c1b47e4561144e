package sample

import "hone/internal/engine"

// Arrays is a sampler that takes an adapter as an array of its engine: Sampler and Samplers.
type Arrays interface {
	// SetAdapter makes it sample from base + adapter, [A] on each device (nil: base alone), which is copied.
	SetAdapter(adapter engine.Buffer, version int) error
	Checksums() ([]uint64, error)
}

// InProcess is a sampler on the source's own engine.
func InProcess(s Arrays) Taker { return inProcess{s} }

type inProcess struct{ Arrays }

// Take implements Taker.
func (x inProcess) Take(s Source) error {
	if s == nil {
		return x.SetAdapter(nil, 0)
	}
	return x.SetAdapter(s.Adapter(), s.PolicyVersion())
}
