package sample

import (
	"math"

	"hone/internal/engine"
	"hone/internal/episode/policy"
)

// draws are what a step gives each slot.
type draws struct {
	ids      []int32
	logprobs []float32
	top      [][]policy.TokenLogprob // nil for slots that did not ask
}

// masks are the constraints of all slots, as the device reads them.
type masks struct {
	set     *policy.IDSet
	words   []int32 // [slots, numWords]
	narrow  []bool  // slots of which words does not allow everything
	stale   bool    // buffer is not what words is
	buffer  engine.Buffer
	perSlot int
}

func newMasks(slots, vocabulary int) *masks {
	m := &masks{set: policy.NewIDSet(vocabulary), perSlot: numWords(vocabulary), narrow: make([]bool, slots),
		stale: true}
	m.words = make([]int32, slots*m.perSlot)
	m.set.Fill()
	for i := range slots {
		m.write(i)
	}
	return m
}

// ask lets a constraint (nil: none) narrow the set of a slot. It returns false where nothing is left.
func (m *masks) ask(slot int, c policy.Constraint, completion []int32) bool {
	if c == nil && !m.narrow[slot] {
		return true
	}
	m.set.Fill()
	if c != nil {
		c.Narrow(completion, m.set)
	}
	m.narrow[slot] = c != nil
	m.write(slot)
	return m.set.Len() > 0
}

func (m *masks) write(slot int) {
	row := m.words[slot*m.perSlot:][:m.perSlot]
	for i := range row {
		if bits := int32(m.set.Bits(i)); row[i] != bits {
			row[i], m.stale = bits, true
		}
	}
}

// upload returns the masks on the device. They stay there while no constraint changes its mind.
func (m *masks) upload(s *Sampler) (engine.Buffer, error) {
	if !m.stale {
		return m.buffer, nil
	}
	b, err := s.upload(m.words, s.slots, m.perSlot)
	if err != nil {
		return nil, err
	}
	m.free()
	m.buffer, m.stale = b, false
	return b, nil
}

func (m *masks) free() {
	if m.buffer != nil {
		engine.Free(m.buffer)
		m.buffer, m.stale = nil, true
	}
}

// needsRevision reports whether a request's tokens are not simply drawn from the policy's distribution.
func needsRevision(r *policy.Request) bool { return r.Constraint != nil || r.Truncates() }

// ready compiles what a request needs beside the usual programs, before it is in the way of others.
func (s *Sampler) ready(r *policy.Request) (err error) {
	if !needsRevision(r) && r.TopLogprobs == 0 {
		return nil
	}
	s.making.Lock()
	defer s.making.Unlock()
	if needsRevision(r) && s.chooser == nil {
		if s.chooser, err = s.decodeProgram(true); err != nil {
			return err
		}
	}
	if r.TopLogprobs > 0 && s.ranker == nil {
		s.ranker, err = s.rankProgram()
	}
	return err
}

// list lists the likeliest tokens for the slots whose requests ask.
func (s *Sampler) list(logits engine.Buffer, temperature []float32, d *draws) (err error) {
	asked := false
	for i := range s.state {
		x := &s.state[i]
		asked = asked || x.decodes() && x.job.request.TopLogprobs > 0
	}
	if !asked {
		return nil
	}
	out, err := s.call(s.ranker, []engine.Buffer{logits}, input{temperature, []int{s.slots}})
	if err != nil {
		return err
	}
	defer engine.Free(out...)
	ids, logprobs, err := s.download(out[0], out[1])
	if err != nil {
		return err
	}
	d.top = make([][]policy.TokenLogprob, s.numSlots())
	for i := range s.state {
		x := &s.state[i]
		if !x.decodes() {
			continue
		}
		for j := range x.job.request.TopLogprobs {
			at := i*policy.MaxTopLogprobs + j
			if math.IsInf(float64(logprobs[at]), -1) {
				break
			}
			d.top[i] = append(d.top[i], policy.TokenLogprob{ID: ids[at], Logprob: logprobs[at]})
		}
	}
	return nil
}
