package sample

import (
	"fmt"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
	"hone/internal/learn/model"
)

// Adapters are arrays beside the base's weights (model.Adapters), which a program writes anew, in place, when one is
// set. So the base is as it was, and what a step reads of an adapter is what was written.

// hold makes what the programs take of the base's weights: joined where the sampler's are, with adapters that change
// nothing.
func (s *Sampler) hold() (err error) {
	s.weights, s.owned = make([]engine.Buffer, len(s.params)), make([]bool, len(s.params))
	copy(s.weights, s.base)
	written := map[int]bool{}
	for _, i := range s.adapters.Arrays() {
		written[i] = true
	}
	if joins := s.spec.Joined && (!s.baseSpec.Joined || len(written) > 0); joins {
		if err := s.joinWeights(); err != nil {
			return err
		}
	}
	for i := len(s.spec.Weights()); i < len(s.params); i++ {
		b, err := s.engine.Zeros(s.params[i].Shape, 1)
		if err != nil {
			return err
		}
		s.weights[i], s.owned[i] = b[0], true
	}
	return nil
}

// joinWeights makes the weights that are joined, with rows of zeros for the adapters below them.
func (s *Sampler) joinWeights() (err error) {
	if s.join == nil {
		if s.join, err = s.engine.Compile("join", s.baseSpec.WeightParams(), func(in []*Node) []*Node {
			weights := in
			if !s.baseSpec.Joined {
				weights = s.baseSpec.Join(in)
			}
			for i, w := range weights {
				if rows := s.params[i].Shape.Dimensions[0] - w.Shape().Dimensions[0]; rows > 0 {
					below := s.params[i].Shape.Clone()
					below.Dimensions[0] = rows
					weights[i] = Concatenate([]*Node{w, Zeros(w.Graph(), below)}, 0)
				}
			}
			return s.spec.JointWeights(weights)
		}, s.spec.JointWeightNames()...); err != nil {
			return err
		}
	}
	made, err := s.join.Run(s.base...)
	if err != nil {
		return err
	}
	for i, b := range s.spec.WithJointWeights(s.baseSpec, s.base, made) {
		s.weights[i] = b
	}
	for i, w := range s.spec.Weights() {
		s.owned[i] = w.IsMade()
	}
	return nil
}

// SetAdapter makes the sampler use base + adapter (nil: base alone) as policy version from the next request on. It
// waits for requests in flight, so that no completion mixes two versions. Where it fails, so does what is asked for
// later.
func (s *Sampler) SetAdapter(adapter engine.Buffer, version int) error {
	return s.SetAdapterOf(0, adapter, version)
}

// SetAdapterOf is SetAdapter for one of several adapters. It waits for no request: those of the others go on, and one
// of this adapter that is under way is an error.
func (s *Sampler) SetAdapterOf(number int, adapter engine.Buffer, version int) error {
	if number < 0 || number >= len(s.versions) {
		return fmt.Errorf("adapter %d of a sampler that holds %d", number, s.adapters.Count)
	}
	writer, err := s.writer() // compiled here, where nobody's tokens wait for it
	if err != nil {
		return err
	}
	if s.adapters.Count <= 1 {
		return s.between(func() error { return s.setAdapter(writer, number, adapter, version) })
	}
	return s.runOn(s.swap, func() error {
		if s.inUse(number) {
			return fmt.Errorf("adapter %d is set while a request of it is under way", number)
		}
		return s.setAdapter(writer, number, adapter, version)
	})
}

// inUse reports whether a request of an adapter is under way, or waits.
func (s *Sampler) inUse(number int) bool {
	for i := range s.state {
		x := &s.state[i]
		if x.job != nil && x.job.request.Adapter == number ||
			slices.ContainsFunc(x.queue, func(j *job) bool { return j.request.Adapter == number }) {
			return true
		}
	}
	return false
}

// between runs f between requests.
func (s *Sampler) between(f func() error) error { return s.runOn(s.control, f) }

func (s *Sampler) runOn(control chan func(), f func() error) error {
	done := make(chan error, 1)
	select {
	case control <- func() { done <- f() }:
		return <-done
	case <-s.quit:
		return errClosed
	}
}

func (s *Sampler) setAdapter(writer *engine.Program, number int, adapter engine.Buffer, version int) error {
	s.versions[number] = version
	err := s.write(writer, number, adapter)
	if err == nil && s.adapters.Count > 1 {
		s.forget(number)
	} else if err == nil {
		err = s.prepare()
	}
	if err != nil {
		s.fail(err) // the old adapter may be gone, and the caches are its
	}
	return err
}

// forget empties the slots that hold what an adapter computed.
func (s *Sampler) forget(number int) {
	for i := range s.state {
		if x := &s.state[i]; x.job == nil && x.adapter == number {
			x.cached = nil
		}
	}
}

// writer is the program that writes an adapter into its place, or of several the one of a number; nil where there is
// none.
func (s *Sampler) writer() (*engine.Program, error) {
	s.making.Lock()
	defer s.making.Unlock()
	if s.adapters.Count == 0 || s.writes != nil {
		return s.writes, nil
	}
	places := s.adapters.Arrays()
	var params []engine.Param
	for _, i := range places {
		p := s.params[i]
		p.Donated = true
		params = append(params, p)
	}
	names := engine.NamesOf(params)
	params = append(params, engine.Param{Name: "adapter", Shape: engine.F32(s.adapters.Size())})
	if s.adapters.Count > 1 {
		params = append(params, engine.Param{Name: "number", Shape: engine.I32(1)})
	}
	program, err := s.engine.Compile("write", params, func(in []*Node) []*Node {
		var number *Node
		if s.adapters.Count > 1 {
			number = in[len(places)+1]
		}
		return s.adapters.Write(in[:len(places)], number, in[len(places)])
	}, names...)
	s.writes = program
	return program, err
}

// write writes an adapter into the arrays that the programs take.
func (s *Sampler) write(writer *engine.Program, number int, adapter engine.Buffer) error {
	if s.adapters.Count == 0 {
		if adapter != nil {
			return fmt.Errorf("an adapter for a sampler of the base model alone")
		}
		return nil
	}
	if adapter == nil {
		none, err := s.engine.Zeros(engine.F32(s.adapters.Size()), 1)
		if err != nil {
			return err
		}
		defer engine.Free(none...)
		adapter = none[0]
	}
	in := append(s.arrays(), adapter)
	if s.adapters.Count > 1 {
		b, err := s.engine.Upload([]int32{int32(number)}, 1)
		if err != nil {
			return err
		}
		defer engine.Free(b)
		in = append(in, b)
	}
	out, err := writer.Run(in...)
	if err != nil {
		return err
	}
	for j, i := range s.adapters.Arrays() {
		s.weights[i] = out[j]
	}
	return nil
}

// arrays are those that adapters are written into, and that every program reads.
func (s *Sampler) arrays() (arrays []engine.Buffer) {
	for _, i := range s.adapters.Arrays() {
		arrays = append(arrays, s.weights[i])
	}
	return arrays
}

// Checksum is that of the adapter (model.Adapters) in the arrays that the sampler's programs read, as they are between
// requests.
func (s *Sampler) Checksum() (sum uint64, err error) {
	err = s.between(func() (err error) {
		sum, err = s.checksum()
		return err
	})
	return sum, err
}

func (s *Sampler) checksum() (sum uint64, err error) {
	if s.adapters.Count == 0 {
		return 0, nil
	}
	if s.checksums == nil {
		var params []engine.Param
		for _, i := range s.adapters.Arrays() {
			params = append(params, s.params[i])
		}
		if s.checksums, err = s.engine.Compile("checksum", params, func(in []*Node) []*Node {
			return []*Node{s.adapters.Checksum(in, 0)}
		}, "checksum"); err != nil {
			return 0, err
		}
	}
	out, err := s.checksums.Run(s.arrays()...)
	if err != nil {
		return 0, err
	}
	defer engine.Free(out...)
	return model.ReadChecksum(out[0])
}

// ExtraBytes returns how large the weights are that the sampler holds beside the base's: joined ones, and adapters.
func (s *Sampler) ExtraBytes() (n int64) {
	for i, b := range s.weights {
		if s.owned[i] {
			shape, _ := b.Shape() // a buffer that is held has one
			n += int64(shape.ByteSize())
		}
	}
	return n
}
