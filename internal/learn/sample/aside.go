package sample

import (
	"slices"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"hone/internal/engine"
	"hone/internal/learn/model"
)

// Conversations that take turns in a slot have seats there. On a CPU, what the slot holds of one is set aside while
// another's is in it, and comes back as it was, to the bit: a prompt that is computed again takes long there, and what
// was drawn would round otherwise than it did. So the tokens of a seat do not depend on what is said at the others. A
// GPU computes again what the next prompt has beyond the slot's text.

// aside is the text of a seat whose slot another has.
type aside struct {
	cached  []int32
	shared  bool
	adapter int
	owner   int
	kv      []engine.Buffer // of each layer [K, 1, T, D], K then V
}

// sitDown makes a slot hold the text of a seat.
func (s *Sampler) sitDown(i, seat int) error {
	x := &s.state[i]
	if seat == x.seat {
		return nil
	}
	if len(x.cached) > 0 {
		kv, err := s.setAside(i)
		if err != nil {
			return err
		}
		x.aside[x.seat] = aside{x.cached, x.shared, x.adapter, x.owner, kv}
	}
	a := x.aside[seat]
	x.seat, x.cached, x.shared, x.adapter, x.owner = seat, a.cached, a.shared, a.adapter, a.owner
	if a.kv == nil {
		return nil
	}
	delete(x.aside, seat)
	defer engine.Free(a.kv...)
	return s.recall(i, a.kv)
}

// leaveSeats forgets what was set aside.
func (s *Sampler) leaveSeats() {
	for i := range s.state {
		for _, a := range s.state[i].aside {
			engine.Free(a.kv...)
		}
		clear(s.state[i].aside)
	}
}

// asideParams declares what is set aside of a slot.
func (s *Sampler) asideParams() (params []engine.Param) {
	for _, name := range engine.NumberNames("aside", 2*s.spec.NumLayers) {
		params = append(params, engine.Param{Name: name,
			Shape: s.spec.Shape(s.spec.NumKVHeads, 1, s.context, s.spec.HeadDim)})
	}
	return params
}

// whole is all of a slot's columns.
func (s *Sampler) whole(slot *Node) window {
	return window{slot: slot, column: ZerosLike(slot), skips: !s.engine.PureGo()}
}

// setAside copies a slot. Its program: caches, slot[1] -> 2*L of [K, 1, T, D].
func (s *Sampler) setAside(i int) (kv []engine.Buffer, err error) {
	if s.asides == nil {
		params, l := slices.Clone(s.cacheParams()[s.numPrefix():]), 2*s.spec.NumLayers
		for k := range params {
			params[k].Donated = false
		}
		params = append(params, engine.Param{Name: "slot", Shape: engine.I32(1)})
		if s.asides, err = s.engine.Compile("aside", params, func(in []*Node) (out []*Node) {
			for _, x := range in[:l] {
				d := x.Shape().Dimensions
				out = append(out, Gather(s.whole(in[l]).rows(x, []int{d[0], 1, d[2], d[3]})))
			}
			return out
		}, engine.NumberNames("aside", l)...); err != nil {
			return nil, err
		}
	}
	return s.call(s.asides, slices.Clone(s.caches), input{[]int32{int32(i)}, []int{1}})
}

// recall copies into a slot what was set aside of one. Its program: caches, 2*L of [K, 1, T, D], slot[1] -> caches.
func (s *Sampler) recall(i int, kv []engine.Buffer) (err error) {
	if s.recalls == nil {
		l := 2 * s.spec.NumLayers
		params := append(slices.Clone(s.cacheParams()[s.numPrefix():]), s.asideParams()...)
		params = append(params, engine.Param{Name: "slot", Shape: engine.I32(1)})
		if s.recalls, err = s.engine.Compile("recall", params, func(in []*Node) (caches []*Node) {
			for k, x := range in[:l] {
				caches = append(caches, s.whole(in[2*l]).replace(x, in[l+k]))
			}
			return caches
		}, engine.NumberNames("cache", l)...); err != nil {
			return err
		}
	}
	out, err := s.call(s.recalls, slices.Concat(s.caches, kv), input{[]int32{int32(i)}, []int{1}})
	if err == nil {
		s.caches = out
	}
	return err
}

// rehearseSeats sets a slot aside and takes it back.
func (s *Sampler) rehearseSeats() error {
	if s.seats == 1 {
		return nil
	}
	kv, err := s.setAside(0)
	if err != nil {
		return err
	}
	defer engine.Free(kv...)
	return s.recall(0, kv)
}

// Aside is the shape of all that samplers of the options set aside at most on a CPU, of each slot and layer.
func (o Options) Aside(s model.Spec) shapes.Shape {
	return s.Shape(2*s.NumLayers*s.NumKVHeads, o.Slots*(max(1, o.Seats)-1), (o.Context+chunkCPU-1)/chunkCPU*chunkCPU,
		s.HeadDim)
}
