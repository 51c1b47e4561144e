package sample

import (
	"slices"
	"time"

	"hone/internal/engine"
	"hone/internal/episode/policy"
)

// remaining is how many tokens a slot that decodes may still draw.
func (s *Sampler) remaining(x *slot) int {
	return min(x.job.request.MaxTokens-len(x.job.completion.IDs), s.context-len(x.cached))
}

// numSteps is how many steps to tell the device of: one where the host must see each token, else no more than some slot
// needs, or than a slot needs that another request waits for.
func (s *Sampler) numSteps() int {
	most, soonest := 1, s.steps
	for i := range s.state {
		x := &s.state[i]
		if !x.decodes() {
			continue
		}
		if r := &x.job.request; r.Constraint != nil || r.TopLogprobs > 0 {
			return 1
		}
		most = max(most, s.remaining(x))
		if len(x.queue) > 0 {
			soonest = min(soonest, s.remaining(x))
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
		choosing = choosing || x.decodes() && needsRevision(&x.job.request)
	}
	if !busy {
		return nil
	}
	if goesOn {
		s.stats.LongestStall = max(s.stats.LongestStall, time.Since(s.drew).Seconds())
	}
	s.justFed = false
	err := s.takeSteps(n, choosing, ints, floats)
	s.drew = time.Now()
	return err
}

// A GPU is told of mostSteps steps at once, and is given stepsAhead beyond the one whose tokens the host waits for, so
// that it need not wait for the host.
const mostSteps, stepsAhead = 64, 2

// takeSteps takes up to n steps, until no slot decodes or somebody waits for the end. Those that were set off by then
// are taken too, or computed for nobody.
func (s *Sampler) takeSteps(n int, choosing bool, ints []int32, floats []float32) error {
	program, allowed, err := s.decoder(choosing)
	if err != nil {
		return err
	}
	numbers, err := s.upload(floats, rowUniform+s.steps, s.slots)
	if err != nil {
		return err
	}
	defer engine.Free(numbers)
	state, err := s.upload(ints, numInts, s.slots)
	if err != nil {
		return err
	}
	defer func() { engine.Free(state) }()
	var drawn [][]engine.Buffer // by steps set off: ids, logprobs, logits
	defer func() { engine.Free(slices.Concat(drawn...)...) }()
	for j := 0; j < n; j++ {
		if !slices.ContainsFunc(s.state, func(x slot) bool { return x.decodes() }) {
			break
		}
		for len(drawn) < min(n, j+1+s.ahead) {
			out, err := program.Start(slices.Concat(s.slotBuffers(), allowed, []engine.Buffer{numbers, state})...)
			if err != nil {
				return err
			}
			drawn = append(drawn, out[:3])
			s.caches, state = out[3:len(out)-1], out[len(out)-1]
			if n > 1 {
				engine.Free(out[2]) // nobody asks for it
			}
		}
		if err := s.takeStep(drawn[j], n == 1, floats); err != nil {
			return err
		}
		engine.Free(drawn[j]...)
		if s.takeRequests(n) {
			n = len(drawn)
		}
	}
	return nil
}

// takeRequests takes in the requests that have come, and reports whether somebody waits for the end of n steps: a
// request that a slot is free for, the sender of one that is no longer wanted, or one that has just come, which is not
// to wait longer than others wait for it.
func (s *Sampler) takeRequests(n int) bool {
	come := false
	for more := true; more; {
		select {
		case j := <-s.submit:
			s.enqueue(j)
			come = true
		case <-s.quit:
			return true
		default:
			more = false
		}
	}
	return come && n > maxWait || slices.ContainsFunc(s.state, func(x slot) bool {
		return x.job == nil && len(x.queue) > 0 || x.job != nil && x.job.ctx.Err() != nil
	})
}

// takeStep adds what a step drew to the completions, with the likeliest tokens of those that ask for them if all are
// seen.
func (s *Sampler) takeStep(drawn []engine.Buffer, seen bool, floats []float32) (err error) {
	var d draws
	if d.ids, d.logprobs, err = s.download(drawn[0], drawn[1]); err != nil {
		return err
	}
	if seen {
		temperature := make([]float32, s.numSlots())
		for i := range temperature {
			temperature[i] = floats[s.at(rowUniform+s.steps, rowTemperature, i)]
		}
		if err := s.list(drawn[2], temperature, &d); err != nil {
			return err
		}
	}
	for i := range s.state {
		if s.state[i].decodes() {
			s.take(i, &d)
			s.stats.Decoded++
		}
	}
	s.stats.DecodeSteps++
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
	set(rowAdapter, x.adapter)
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
	set(rowLeft, min(n, s.remaining(x)))
	if needsRevision(r) {
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

// decoder is the decode program, and its masks where a request asks for more than a draw.
func (s *Sampler) decoder(choosing bool) (program *engine.Program, allowed []engine.Buffer, err error) {
	if !choosing {
		return s.decode, nil, nil
	}
	masks, err := s.masks.upload(s)
	return s.chooser, []engine.Buffer{masks}, err
}

// take adds what was drawn to a slot's completion and ends it where it is due.
func (s *Sampler) take(i int, d *draws) {
	x, id := &s.state[i], d.ids[i]
	x.cached = append(x.cached, x.pending[0])
	x.pending = []int32{id}
	c, r := &x.job.completion, x.job.request
	c.IDs, c.SamplerLogprobs = append(c.IDs, id), append(c.SamplerLogprobs, d.logprobs[i])
	if r.TopLogprobs > 0 {
		c.TopLogprobs = append(c.TopLogprobs, d.top[i])
	}
	if r.Each != nil {
		token := policy.Token{ID: id, Logprob: d.logprobs[i], PolicyVersion: c.PolicyVersion}
		if r.TopLogprobs > 0 {
			token.Top = d.top[i]
		}
		r.Each(token)
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
	if s.remaining(x) == 0 {
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
