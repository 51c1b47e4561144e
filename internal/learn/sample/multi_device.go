package sample

import (
	"context"
	"errors"
	"slices"
	"sync"

	"hone/internal/engine"
	"hone/internal/episode/policy"
	"hone/internal/learn/model"
)

// Samplers implements policy.Sampler on all devices of an engine. Slot i is on device i modulo their number, so few
// episodes are spread too, and an episode keeps its device. As a completion depends on its request alone, tokens do not
// depend on how many devices there are: on CPUs, but for logits that rounding makes equal.
type Samplers struct {
	each []*Sampler
}

// NewSamplers starts a sampler on each device over base weights, which stay the caller's. The options are those of
// each: there are o.Slots on every device. Over sharded weights it is one sampler, which runs on all devices at once.
func NewSamplers(e *engine.Engine, spec model.Spec, base []engine.Buffer, o Options) (*Samplers, error) {
	var s Samplers
	if spec.Shards > 1 {
		x, err := New(e, spec, base, o)
		if err != nil {
			return nil, err
		}
		return &Samplers{each: []*Sampler{x}}, nil
	}
	for i := range e.NumDevices() {
		x, err := New(e.On(i), spec, engine.Parts(base, i), o)
		if err != nil {
			s.Close()
			return nil, err
		}
		s.each = append(s.each, x)
	}
	return &s, nil
}

// at returns the sampler of a slot and its number there.
func (s *Samplers) at(slot int) (*Sampler, int) {
	n := s.NumSlots()
	slot = (slot%n + n) % n
	return s.each[slot%len(s.each)], slot / len(s.each)
}

// Sample implements policy.Sampler.
func (s *Samplers) Sample(ctx context.Context, r policy.Request) (policy.Completion, error) {
	x, slot := s.at(r.Slot)
	r.Slot = slot
	return x.Sample(ctx, r)
}

// NumSlots implements policy.Sampler: it is that of all devices.
func (s *Samplers) NumSlots() int { return len(s.each) * s.each[0].NumSlots() }

// SetAdapter is sample.Sampler's, on all devices: adapter holds the same on each.
func (s *Samplers) SetAdapter(adapter engine.Buffer, version int) error {
	return s.set(adapter, func(x *Sampler, part engine.Buffer) error { return x.SetAdapter(part, version) })
}

// SetAdapterOf is SetAdapter for one of several adapters.
func (s *Samplers) SetAdapterOf(number int, adapter engine.Buffer, version int) error {
	return s.set(adapter, func(x *Sampler, part engine.Buffer) error { return x.SetAdapterOf(number, part, version) })
}

func (s *Samplers) set(adapter engine.Buffer, set func(x *Sampler, part engine.Buffer) error) error {
	errs := make([]error, len(s.each))
	var done sync.WaitGroup
	for i, x := range s.each {
		done.Go(func() {
			part := adapter
			if adapter != nil && len(s.each) > 1 {
				part = engine.Part(adapter, i)
			}
			errs[i] = set(x, part)
		})
	}
	done.Wait()
	return errors.Join(errs...)
}

// Checksums are sample.Sampler's, of each device; of sharded weights, one for all.
func (s *Samplers) Checksums() ([]uint64, error) {
	sums, errs := make([]uint64, len(s.each)), make([]error, len(s.each))
	var done sync.WaitGroup
	for i, x := range s.each {
		done.Go(func() { sums[i], errs[i] = x.Checksum() })
	}
	done.Wait()
	return sums, errors.Join(errs...)
}

// NumAliased is sample.Sampler's, of one device: all are alike.
func (s *Samplers) NumAliased() int64 { return s.each[0].NumAliased() }

// Stats are what the samplers did beside each other.
func (s *Samplers) Stats() (all Stats) {
	for _, x := range s.each {
		all = all.Beside(x.Stats())
	}
	return all
}

// Failed reports whether one of them failed, after which its requests do.
func (s *Samplers) Failed() bool {
	return slices.ContainsFunc(s.each, func(x *Sampler) bool { return x.Failed() })
}

// Close stops all of them.
func (s *Samplers) Close() {
	for _, x := range s.each {
		x.Close()
	}
}
