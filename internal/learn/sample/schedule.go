package sample

import (
	"context"
	"errors"
	"slices"
	"time"

	"hone/internal/engine"
	"hone/internal/episode/policy"
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
	cached  []int32       // private tokens whose keys and values the cache holds
	shared  bool          // they follow the prefix
	adapter int           // under which they were computed
	owner   int           // for whom
	seat    int           // at which
	aside   map[int]aside // of the other seats
	pending []int32       // tokens still to be fed; the last one's successor is drawn
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
			s.fail(err)
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
			case f := <-s.swap:
				f()
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
		case f := <-s.swap:
			f()
		case <-s.quit:
			return false
		}
	}
}

func (s *Sampler) enqueue(j *job) {
	n := s.numSlots()
	i := ((j.request.Slot % n) + n) % n
	s.state[i].queue = append(s.state[i].queue, j)
}

// next starts the slot's next request where it has none, keeping of its cache what the new prompt begins with.
func (s *Sampler) next(i int) {
	x := &s.state[i]
	for x.job == nil && len(x.queue) > 0 {
		j := x.queue[0]
		x.queue = x.queue[1:]
		prompt := j.request.Prompt
		shared := len(prompt) > len(s.prefix) && policy.CommonPrefix(prompt, s.prefix) == len(s.prefix)
		private := prompt
		if shared {
			private = prompt[len(s.prefix):]
		}
		if len(private) >= s.context {
			j.err = &policy.ContextError{NumPrompt: len(prompt), MaxContext: s.context}
			close(j.done)
			continue
		}
		if err := s.sitDown(i, j.request.Seat%s.seats); err != nil {
			s.fail(err) // what the slots hold may be gone
			j.err = err
			close(j.done)
			continue
		}
		kept := 0
		if shared == x.shared && j.request.Adapter == x.adapter && j.request.Owner == x.owner {
			kept = min(policy.CommonPrefix(private, x.cached), len(private)-1)
		}
		held := x.cached[:kept:kept]
		if n := s.fetch(i, j, shared, private, kept); n > kept {
			kept, held = n, slices.Clone(private[:n])
		}
		x.cached, x.shared, x.pending, x.job = held, shared, private[kept:], j
		x.owner = j.request.Owner
		if x.adapter = j.request.Adapter; x.adapter >= 0 {
			j.completion.PolicyVersion = s.versions[x.adapter]
		}
	}
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
	// idle slots are decoded too, into the column after their text
	x.cached = x.cached[:min(len(x.cached), s.context-1)]
	close(x.job.done)
	x.job, x.pending = nil, nil
}

// maxWait is how many steps of decoding are preferred to a prompt before a chunk of it is fed. Tool results come one by
// one, and a prefill costs the same for one row as for all. What is fed apart does not wait.
const maxWait = 8

// advance does one piece of work: a chunk of as many prompts as there are rows, if enough wait, or else steps of
// decoding. What is computed in a slot does not depend on when; on a GPU the size of a prompt's chunks does, and so the
// rounding.
func (s *Sampler) advance() error {
	if err := s.copyAll(); err != nil {
		return err
	}
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
	n := s.numSteps()
	if prompts == 0 {
		return s.step(n)
	}
	chosen, filled := s.choose()
	large := s.gpu && s.devices == 1 && !s.noLarge
	single := -1
	if large {
		single = s.apart(decoding)
	}
	wait := min(n, maxWait-s.waited)
	switch {
	case decoding > 0 && s.justFed && s.gpu: // prompts take turns with those who watch their tokens come
		return s.step(1)
	case single < 0 && decoding > 0 && wait > 0 && 2*filled < min(s.devices*s.rows, decoding):
		s.waited += wait
		return s.step(wait)
	}
	s.waited, s.justFed = 0, true
	if large {
		if i := s.long(filled); i >= 0 {
			if p := s.larger(&s.prefillOne, 1, s.rows*s.chunk, decoding); p != nil {
				return s.feed(p, 1, s.rows*s.chunk, []int{i})
			}
		}
		if single >= 0 {
			if p := s.larger(&s.prefillFew, 1, few*s.chunk, decoding); p != nil {
				s.single = single
				return s.feed(p, 1, few*s.chunk, []int{single})
			}
		}
		if c := bulk * s.chunk; decoding == 0 && s.deep(chosen, c) {
			if p := s.larger(&s.prefillBulk, s.rows, c, decoding); p != nil {
				return s.feed(p, s.rows, c, chosen)
			}
		}
	}
	return s.feed(s.prefill, s.rows, s.chunk, chosen)
}

// bulk is how many chunks' tokens of each row are fed at one time on a GPU where nobody waits for a draw.
const bulk = 4

// few is how many chunks' tokens of one slot are fed at one time on a GPU where few slots have prompts to feed. Fewer
// would take hardly less time, in which the weights are read.
const few = 2

// apart returns a slot for the program in which few chunks are one slot's: the next after the one that was fed so last,
// where all that wait take less time so than beside each other in rows of which most are empty. Else it is -1, as it is
// where more slots decode than there are rows: each chunk makes all of them wait, so it is to be full. A token takes
// half as long again in a program of few tokens.
func (s *Sampler) apart(decoding int) int {
	c := few * s.chunk
	if few >= s.rows || c > s.context || decoding > s.rows {
		return -1
	}
	next, single, rows := -1, 0, make([]int, s.rows) // tokens computed
	for k := range s.state {
		i := (s.single + 1 + k) % len(s.state)
		x := &s.state[i]
		if x.job == nil || x.decodes() {
			continue
		}
		if next < 0 {
			next = i
		}
		n := len(x.cached)%s.chunk + len(x.pending) - 1
		single += (n + c - 1) / c * c
		rows[i%s.rows] += (n + s.chunk - 1) / s.chunk * s.chunk * s.rows
	}
	if 3*single > 2*slices.Max(rows) {
		return -1
	}
	return next
}

// long returns a slot for the program in which all tokens of a chunk are one slot's: where half of the rows or more
// would be empty, the first of those with prompt to feed, if each has enough for such a chunk, since a short one would
// wait for the long ones' end. Else it is -1.
func (s *Sampler) long(filled int) int {
	first := -1
	for i := range s.state {
		x := &s.state[i]
		if x.job == nil || x.decodes() {
			continue
		}
		if 2*filled > s.rows || !s.fills(x, s.rows*s.chunk) {
			return -1
		}
		if first < 0 {
			first = i
		}
	}
	return first
}

// deep reports whether chunks of c tokens would be filled by the chosen slots, but for a few.
func (s *Sampler) deep(chosen []int, c int) bool {
	n := 0
	for _, i := range chosen {
		if i < 0 {
			continue
		}
		if s.fills(&s.state[i], c) {
			n++
		}
	}
	return 4*n >= 3*s.rows
}

// fills reports whether a slot's prompt fills at least half of a chunk of c tokens.
func (s *Sampler) fills(x *slot, c int) bool {
	return x.job != nil && len(x.pending) > c/2 && c <= s.context
}

// begin is where the slot's next chunk of c tokens begins in its cache: at a multiple of the smallest chunks' length,
// and so that it lies in the cache.
func (s *Sampler) begin(x *slot, c int) int {
	return min(len(x.cached)/s.chunk*s.chunk, s.context-c)
}

// wide is a program for larger chunks. The sampler's goroutine alone looks at it.
type wide struct {
	program *engine.Program // nil until it is there
	coming  chan compiled   // nil until it is wanted
}

type compiled struct {
	program *engine.Program
	err     error
}

// larger returns a program for chunks of c tokens of r rows, which is compiled when it is first needed, for seconds on
// a GPU. Where slots decode that is done beside the sampler's goroutine, for which all of them would wait; until it is
// there the result is nil, and smaller chunks do. So it is where a program cannot be compiled, for want of memory; then
// no larger one is asked for again.
func (s *Sampler) larger(w *wide, r, c, decoding int) *engine.Program {
	if w.coming == nil {
		coming := make(chan compiled, 1)
		w.coming = coming
		compile := func() {
			p, err := s.prefillProgram(r, c)
			coming <- compiled{p, err}
		}
		if decoding == 0 {
			compile()
		} else {
			s.beside.Go(compile) // without making, for which requests wait whose program is there
		}
	}
	select {
	case x := <-w.coming:
		w.program, s.noLarge = x.program, s.noLarge || x.err != nil
	default:
	}
	if s.noLarge {
		return nil
	}
	return w.program
}

// choose picks for each row of each device the slot whose chunk it computes next: of those that are always in that row
// and have prompt to feed, the next after the one it fed last; -1 where there is none.
func (s *Sampler) choose() (chosen []int, filled int) {
	chosen = make([]int, s.devices*s.rows)
	for row := range chosen {
		chosen[row] = -1
		first := row/s.rows*s.slots + row%s.rows // of the slots that are in this row
		for k := 1; k <= s.slots/s.rows && chosen[row] < 0; k++ {
			i := first + (s.fed[row]+k)%(s.slots/s.rows)*s.rows
			if x := &s.state[i]; x.job != nil && !x.decodes() {
				chosen[row] = i
				filled++
			}
		}
	}
	return chosen, filled
}

// feed runs one chunk of c tokens of the chosen slots' prompts, r of them on each device; a prompt's last token is left
// for decoding.
func (s *Sampler) feed(program *engine.Program, r, c int, chosen []int) error {
	n := len(chosen)
	ids, slot, start, shared, write :=
		make([]int32, n*c), make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, n)
	adapter := make([]int32, n)
	for row, i := range chosen {
		if i < 0 {
			slot[row] = int32(row % r) // any slot of this row: no two rows may name one
			continue
		}
		x := &s.state[i]
		own := i % s.slots // its number on its device
		if r == s.rows {
			s.fed[row] = own / r
		}
		if x.shared {
			shared[row] = 1
		}
		at := s.begin(x, c)
		n := min(at+c-len(x.cached), len(x.pending)-1)
		slot[row], start[row], write[row], adapter[row] = int32(own), int32(at), 1, int32(x.adapter)
		// Tokens of the chunk that are cached already are computed again, beside the new ones.
		copy(ids[row*c:], x.cached[at:])
		copy(ids[row*c+len(x.cached)-at:], x.pending[:n])
		x.cached = append(x.cached, x.pending[:n]...)
		x.pending = x.pending[n:]
		s.stats.Prefilled += n
	}
	s.stats.PrefillSteps++
	inputs := []input{{ids, []int{r, c}}, {slot, []int{r}}, {start, []int{r}}, {shared, []int{r}}, {write, []int{r}}}
	if s.adapters.Count > 1 {
		inputs = append(inputs, input{adapter, []int{r}})
	}
	out, err := s.call(program, s.slotBuffers(), inputs...)
	if err != nil {
		return err
	}
	s.caches = out
	return nil
}

// Rehearse feeds a chunk of no slot and copies none, so that an engine without a device counts what that takes.
func (s *Sampler) Rehearse() error {
	return s.between(func() (err error) {
		if s.copier != nil {
			if err := s.copy(nil); err != nil {
				return err
			}
		}
		if err := s.rehearseSeats(); err != nil {
			return err
		}
		return s.feed(s.prefill, s.rows, s.chunk, slices.Repeat([]int{-1}, s.devices*s.rows))
	})
}

type input struct {
	flat any
	dims []int
}

// slotBuffers are the buffers that all programs of slots begin with: weights, prefix, and caches, which they consume.
func (s *Sampler) slotBuffers() []engine.Buffer {
	return append(append(append([]engine.Buffer{}, s.weights...), s.prefixKV...), s.caches...)
}

// call runs a program on buffers and the inputs.
func (s *Sampler) call(p *engine.Program, in []engine.Buffer, inputs ...input) ([]engine.Buffer, error) {
	first := len(in)
	for _, x := range inputs {
		b, err := s.upload(x.flat, x.dims...)
		if err != nil {
			return nil, err
		}
		in = append(in, b)
	}
	defer engine.Free(in[first:]...)
	return p.Run(in...)
}
