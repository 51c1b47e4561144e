package sample

import (
	"time"

	"hone/internal/learn/engine"
	"hone/internal/policy"
)

// left is how many tokens a slot that decodes may still draw.
func (s *Sampler) left(x *slot) int {
	return min(x.job.request.MaxTokens-len(x.job.completion.IDs), s.context-len(x.cached))
}

// On a GPU an execution of decoding is of as many steps as take about paceSeconds: requests that come wait for its end.
const (
	fewestSteps, mostSteps = 8, 32
	paceSeconds            = 0.15
)

// pace is how many steps an execution has at most.
func (s *Sampler) pace() int {
	if !s.paced {
		return s.steps
	}
	if s.took == 0 { // not known yet
		return min(s.steps, fewestSteps)
	}
	return min(max(fewestSteps, int(paceSeconds*float64(s.ran)/s.took.Seconds())), s.steps)
}

// numSteps is how many steps to run before the host looks: one where it must see each token, else no more than some slot
// needs, or than a slot needs that another request waits for.
func (s *Sampler) numSteps() int {
	most, soonest := 1, s.pace()
	for i := range s.state {
		x := &s.state[i]
		if !x.decodes() {
			continue
		}
		if r := &x.job.request; r.Constraint != nil || r.TopLogprobs > 0 {
			return 1
		}
		most = max(most, s.left(x))
		if len(x.queue) > 0 {
			soonest = min(soonest, s.left(x))
		}
	}
	return min(most, soonest)
}

// step draws up to n tokens in each slot that decodes, beginning with the one after its pending token.
func (s *Sampler) step(n int) error {
	ints, floats := make([]int32, numInts*s.numSlots()), make([]float32, (rowUniform+s.steps)*s.numSlots())
	busy, choosing, goesOn := false, false, false
	for i := range s.state {
		x := &s.state[i]
		if x.decodes() && !s.masks.ask(i, x.job.request.Constraint, x.job.completion.IDs) {
			s.finish(i, "", &policy.ConstraintError{NumSampled: len(x.job.completion.IDs)})
		}
		s.tell(i, n, ints, floats)
		busy = busy || x.decodes()
		goesOn = goesOn || x.decodes() && len(x.job.completion.IDs) > 0
		choosing = choosing || x.decodes() && chosen(&x.job.request)
	}
	if !busy {
		return nil
	}
	if goesOn {
		s.stats.LongestStall = max(s.stats.LongestStall, time.Since(s.drew).Seconds())
	}
	s.justFed = false
	begin := time.Now()
	out, err := s.runDecode(choosing, ints, floats)
	if err != nil {
		return err
	}
	s.caches = out[3:]
	defer engine.Free(out[:3]...)
	var d draws
	if d.ids, d.logprobs, err = s.download(out[0], out[1]); err != nil {
		return err
	}
	s.drew = time.Now()
	s.took, s.ran = s.drew.Sub(begin), 0
	temperature := make([]float32, s.numSlots())
	for i := range temperature {
		temperature[i] = floats[s.at(rowUniform+s.steps, rowTemperature, i)]
	}
	if err := s.list(out[2], temperature, &d); err != nil {
		return err
	}
	for j := range n {
		before := s.stats.Decoded
		for i := range s.state {
			if s.state[i].decodes() {
				s.take(i, j, &d)
				s.stats.Decoded++
			}
		}
		if s.stats.Decoded > before {
			s.ran++
			s.stats.DecodeSteps++
		}
	}
	return nil
}

// tell writes what decoding n tokens needs to know of a slot.
func (s *Sampler) tell(i, n int, ints []int32, floats []float32) {
	x := &s.state[i]
	set := func(row, value int) { ints[s.at(numInts, row, i)] = int32(value) }
	setFloat := func(row int, value float32) { floats[s.at(rowUniform+s.steps, row, i)] = value }
	set(rowLength, len(x.cached))
	if x.shared {
		set(rowShared, 1)
	}
	set(rowTopK, s.spec.VocabSize)
	setFloat(rowTopP, 1)
	for k := range numStops {
		set(rowStop+k, -1)
	}
	if !x.decodes() {
		return
	}
	r := &x.job.request
	set(rowID, int(x.pending[0]))
	set(rowLeft, min(n, s.left(x)))
	if chosen(r) {
		set(rowChosen, 1)
	}
	if r.Truncates() && r.TopK > 0 {
		set(rowTopK, min(r.TopK, s.spec.VocabSize))
	}
	if r.Truncates() && r.TopP > 0 {
		setFloat(rowTopP, float32(r.TopP))
	}
	if r.Truncates() {
		setFloat(rowMinP, float32(r.MinP))
	}
	for k, id := range r.StopIDs[:min(len(r.StopIDs), numStops)] {
		set(rowStop+k, int(id))
	}
	setFloat(rowTemperature, float32(r.Temperature))
	for j := range n {
		setFloat(rowUniform+j, uniform(r.Key, len(x.job.completion.IDs)+j))
	}
}

// runDecode runs a decode program, with masks where a request asks for more than a draw.
func (s *Sampler) runDecode(choosing bool, ints []int32, floats []float32) ([]engine.Buffer, error) {
	program, in := s.decode, s.held()
	if choosing {
		if s.chooser == nil {
			var err error
			if s.chooser, err = s.decodeProgram(true); err != nil {
				return nil, err
			}
		}
		allowed, err := s.masks.upload(s)
		if err != nil {
			return nil, err
		}
		program, in = s.chooser, append(in, allowed)
	}
	return s.call(program, in, input{ints, []int{numInts, s.slots}}, input{floats, []int{rowUniform + s.steps, s.slots}})
}

// take adds token j of an execution to a slot's completion and ends it where it is due.
func (s *Sampler) take(i, j int, d *draws) {
	x, at := &s.state[i], s.at(s.steps, j, i)
	id := d.ids[at]
	x.cached = append(x.cached, x.pending[0])
	x.pending = []int32{id}
	c, r := &x.job.completion, x.job.request
	c.IDs, c.SamplerLogprobs = append(c.IDs, id), append(c.SamplerLogprobs, d.logprobs[at])
	if r.TopLogprobs > 0 {
		c.TopLogprobs = append(c.TopLogprobs, d.top[i])
	}
	for _, stop := range r.StopIDs {
		if id == stop {
			s.finish(i, policy.FinishStop, nil)
			return
		}
	}
	if x.job.stops != nil {
		if before, stop, found := x.job.stops.next(id); found {
			c.Text, c.StopText = before, stop
			s.finish(i, policy.FinishStop, nil)
			return
		}
	}
	if s.left(x) == 0 {
		s.finish(i, policy.FinishLength, nil)
	}
}

// uniform is draw i of a request's stream, in [0, 1): two rounds of splitmix64 over the key and the counter.
func uniform(k policy.Key, i int) float32 {
	x := mix(mix(k.Seed^0x9E3779B97F4A7C15) + k.Stream)
	return float32(mix(x+uint64(i)*0xD1342543DE82EF95)>>40) / (1 << 24)
}

func mix(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}
