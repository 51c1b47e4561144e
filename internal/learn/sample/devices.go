package sample

import "hone/internal/engine"

// A sampler whose weights are sharded runs on all devices of its engine at once, as each needs what the others hold.
// Each device has slots of its own, s.slots of them: slot i is on device i / s.slots. What programs are told and what
// they answer is laid out device by device. Elsewhere there is one device.

// numSlots is how many slots there are on all devices.
func (s *Sampler) numSlots() int { return s.devices * s.slots }

// at is where a slot's number stands in a row of matrices [rows, slots], one for each device.
func (s *Sampler) at(rows, row, slot int) int {
	return (slot/s.slots*rows+row)*s.slots + slot%s.slots
}

// upload copies to each device its share of an array, dims of it.
func (s *Sampler) upload(flat any, dims ...int) (engine.Buffer, error) {
	var each []any
	switch x := flat.(type) {
	case []int32:
		each = shares(x, s.devices)
	case []float32:
		each = shares(x, s.devices)
	}
	return s.engine.UploadEach(each, dims...)
}

func shares[T any](flat []T, n int) []any {
	each, size := make([]any, n), len(flat)/n
	for i := range each {
		each[i] = flat[i*size : (i+1)*size]
	}
	return each
}

// download copies what was drawn on all devices to the host.
func (s *Sampler) download(ids, logprobs engine.Buffer) (allIDs []int32, allLogprobs []float32, err error) {
	for i := range s.devices {
		n, err := engine.Ints(engine.Part(ids, i))
		if err != nil {
			return nil, nil, err
		}
		x, err := engine.Floats(engine.Part(logprobs, i))
		if err != nil {
			return nil, nil, err
		}
		allIDs, allLogprobs = append(allIDs, n...), append(allLogprobs, x...)
	}
	return allIDs, allLogprobs, nil
}
