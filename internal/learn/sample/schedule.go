package sample

import (
	"context"
	"errors"
	"time"

	"hone/internal/learn/engine"
	"hone/internal/policy"
)

var errClosed = errors.New("the sampler is closed")

// job is one request on its way.
type job struct {
	ctx        context.Context
	request    policy.Request
	stops      *stops // nil where no stop text is asked for
	completion policy.Completion
	err        error
	done       chan struct{}
}

// slot is one row of the caches.
type slot struct {
	cached  []int32 // private tokens whose keys and values the cache holds
	shared  bool    // they follow the prefix
	pending []int32 // tokens still to be fed; the last one's successor is drawn
	job     *job
	queue   []*job
}

// decodes reports whether the slot's prompt is fed but for its last token, so that the next step draws from it.
func (x *slot) decodes() bool { return x.job != nil && len(x.pending) == 1 }

// run is the sampler's only goroutine: it admits requests, feeds prompts in chunks, and decodes all slots at once.
func (s *Sampler) run() {
	defer s.stopped.Done()
	for {
		if !s.admit() {
			s.failAll(errClosed)
			return
		}
		start := time.Now()
		err := s.failed
		if err == nil {
			err = s.advance()
		}
		s.stats.BusySeconds += time.Since(start).Seconds()
		if err != nil {
			// A failed execution may have consumed the donated caches, so nothing after it can be trusted.
			s.failed = err
			s.failAll(err)
		}
	}
}

// admit takes in what is waiting, blocking while there is nothing to do. It returns false once the sampler is closed.
func (s *Sampler) admit() bool {
	for {
		busy := false
		for i := range s.state {
			s.next(i)
			busy = busy || s.state[i].job != nil
		}
		var control chan func()
		if !busy {
			control = s.control // adapters are swapped only between requests
		}
		if busy {
			select {
			case j := <-s.submit:
				s.enqueue(j)
				continue
			case <-s.quit:
				return false
			default:
				return true
			}
		}
		select {
		case j := <-s.submit:
			s.enqueue(j)
		case f := <-control:
			f()
		case <-s.quit:
			return false
		}
	}
}

func (s *Sampler) enqueue(j *job) {
	i := ((j.request.Slot % s.slots) + s.slots) % s.slots
	s.state[i].queue = append(s.state[i].queue, j)
}

// next starts the slot's next request where it has none, keeping of its cache what the new prompt begins with.
func (s *Sampler) next(i int) {
	x := &s.state[i]
	for x.job == nil && len(x.queue) > 0 {
		j := x.queue[0]
		x.queue = x.queue[1:]
		prompt := j.request.Prompt
		shared := len(prompt) > len(s.prefix) && common(prompt, s.prefix) == len(s.prefix)
		private := prompt
		if shared {
			private = prompt[len(s.prefix):]
		}
		if len(private) >= s.context {
			j.err = &policy.ContextError{NumPrompt: len(prompt), MaxContext: s.context}
			close(j.done)
			continue
		}
		kept := 0
		if shared == x.shared {
			kept = min(common(private, x.cached), len(private)-1)
		}
		x.cached, x.shared, x.pending, x.job = x.cached[:kept:kept], shared, private[kept:], j
		j.completion.PolicyVersion = s.version
	}
}

func common(a, b []int32) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func (s *Sampler) failAll(err error) {
	for i := range s.state {
		x := &s.state[i]
		if x.job != nil {
			s.finish(i, "", err)
		}
		for _, j := range x.queue {
			j.err = err
			close(j.done)
		}
		x.queue = nil
	}
}

func (s *Sampler) finish(i int, reason policy.FinishReason, err error) {
	x := &s.state[i]
	x.job.completion.FinishReason, x.job.err = reason, err
	x.cached = x.cached[:min(len(x.cached), s.context-1)] // idle slots are decoded too, into the column after their text
	close(x.job.done)
	x.job, x.pending = nil, nil
}

// maxWait is how many times decoding is preferred to a prompt before a chunk of it is fed. Tool results come one by one,
// and a prefill costs the same for one row as for all.
const maxWait = 8

// advance does one piece of work: a chunk of as many prompts as there are rows, if enough wait, or else one decoding step.
// What is computed in a slot does not depend on when.
func (s *Sampler) advance() error {
	decoding, prompts := 0, 0
	for i := range s.state {
		x := &s.state[i]
		if x.job != nil && x.job.ctx.Err() != nil {
			s.finish(i, "", x.job.ctx.Err())
		}
		if x.decodes() {
			decoding++
		} else if x.job != nil {
			prompts++
		}
	}
	if prompts == 0 {
		return s.step()
	}
	chosen, filled := s.choose()
	if s.waited++; decoding > 0 && 2*filled < min(s.rows, decoding) && s.waited <= maxWait {
		return s.step()
	}
	s.waited = 0
	return s.feed(chosen)
}

// choose picks for each row the slot whose chunk it computes next: of those that are always in that row and have prompt
// to feed, the next after the one it fed last; -1 where there is none.
func (s *Sampler) choose() (chosen []int, filled int) {
	chosen = make([]int, s.rows)
	for row := range chosen {
		chosen[row] = -1
		for k := 1; k <= s.slots/s.rows && chosen[row] < 0; k++ {
			i := row + (s.fed[row]+k)%(s.slots/s.rows)*s.rows
			if x := &s.state[i]; x.job != nil && !x.decodes() {
				chosen[row] = i
				filled++
			}
		}
	}
	return chosen, filled
}

// feed runs one chunk of the chosen slots' prompts; a prompt's last token is left for decoding.
func (s *Sampler) feed(chosen []int) error {
	r, c := s.rows, s.chunk
	ids, slot, start, shared, write := make([]int32, r*c), make([]int32, r), make([]int32, r), make([]int32, r), make([]int32, r)
	for row, i := range chosen {
		if i < 0 {
			slot[row] = int32(row) // any slot of this row: no two rows may name one
			continue
		}
		x := &s.state[i]
		s.fed[row] = i / r
		if x.shared {
			shared[row] = 1
		}
		at := len(x.cached) / c * c
		n := min(at+c-len(x.cached), len(x.pending)-1)
		slot[row], start[row], write[row] = int32(i), int32(at), 1
		// Tokens of the chunk that are cached already are computed again, beside the new ones.
		copy(ids[row*c:], x.cached[at:])
		copy(ids[row*c+len(x.cached)-at:], x.pending[:n])
		x.cached = append(x.cached, x.pending[:n]...)
		x.pending = x.pending[n:]
		s.stats.Prefilled += n
	}
	s.stats.PrefillSteps++
	out, err := s.execute(s.prefill, input{ids, []int{r, c}}, input{slot, []int{r}}, input{start, []int{r}},
		input{shared, []int{r}}, input{write, []int{r}})
	if err != nil {
		return err
	}
	s.caches = out
	return nil
}

// step feeds each busy slot its one pending token and takes in what was drawn.
func (s *Sampler) step() error {
	n := s.slots
	ids, length, shared := make([]int32, n), make([]int32, n), make([]int32, n)
	temperature, uniforms := make([]float32, n), make([]float32, n)
	busy := false
	for i := range s.state {
		x := &s.state[i]
		if x.decodes() && !s.masks.ask(i, x.job.request.Constraint, x.job.completion.IDs) {
			s.finish(i, "", &policy.ConstraintError{NumSampled: len(x.job.completion.IDs)})
		}
		length[i] = int32(len(x.cached))
		if x.shared {
			shared[i] = 1
		}
		if !x.decodes() {
			continue
		}
		busy = true
		r := x.job.request
		ids[i], temperature[i] = x.pending[0], float32(r.Temperature)
		uniforms[i] = uniform(r.Key, len(x.job.completion.IDs))
	}
	if !busy {
		return nil
	}
	out, err := s.execute(s.decode, input{ids, []int{n}}, input{length, []int{n}}, input{shared, []int{n}},
		input{temperature, []int{n}}, input{uniforms, []int{n}})
	if err != nil {
		return err
	}
	s.caches = out[3:]
	defer engine.Free(out[:3]...)
	var d draws
	if d.ids, d.logprobs, err = download(out[0], out[1]); err != nil {
		return err
	}
	if err := s.revise(out[2], temperature, uniforms, &d); err != nil {
		return err
	}
	s.stats.DecodeSteps++
	for i := range s.state {
		if s.state[i].decodes() {
			s.take(i, &d)
			s.stats.Decoded++
		}
	}
	return nil
}

// take adds the token a slot drew to its completion and ends it where it is due.
func (s *Sampler) take(i int, d *draws) {
	x, id := &s.state[i], d.ids[i]
	x.cached = append(x.cached, x.pending[0])
	x.pending = []int32{id}
	c, r := &x.job.completion, x.job.request
	c.IDs, c.SamplerLogprobs = append(c.IDs, id), append(c.SamplerLogprobs, d.logprobs[i])
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
	if len(c.IDs) >= r.MaxTokens || len(x.cached) >= s.context {
		s.finish(i, policy.FinishLength, nil)
	}
}

type input struct {
	flat any
	dims []int
}

// execute runs a program on weights, prefix, caches (which it consumes) and the inputs.
func (s *Sampler) execute(p *engine.Program, inputs ...input) ([]engine.Buffer, error) {
	return s.call(p, append(append(append([]engine.Buffer{}, s.weights...), s.prefixKV...), s.caches...), inputs...)
}

// call runs a program on buffers and the inputs.
func (s *Sampler) call(p *engine.Program, in []engine.Buffer, inputs ...input) ([]engine.Buffer, error) {
	first := len(in)
	for _, x := range inputs {
		b, err := s.engine.Upload(x.flat, x.dims...)
		if err != nil {
			return nil, err
		}
		in = append(in, b)
	}
	defer engine.Free(in[first:]...)
	return p.Run(in...)
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
