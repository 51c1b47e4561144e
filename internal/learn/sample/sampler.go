package sample

import (
	"context"
	"fmt"
	"sync"

	"hone/internal/learn/engine"
	"hone/internal/learn/model"
	"hone/internal/policy"
)

// Options shape a sampler. Zero values mean the defaults named.
type Options struct {
	LoRA    model.LoRA
	Slots   int // sequences sampled at one time (64)
	Context int // private tokens of a slot, after the prefix (256); rounded up to whole chunks
	Prefix  []int32
}

// Sampler implements policy.Sampler on a device. Its results depend on request, slot and adapter alone, not on what
// else is sampled: shapes are fixed, and a slot is always the same row of them.
type Sampler struct {
	engine  *engine.Engine
	spec    model.Spec
	lora    model.LoRA
	base    []engine.Buffer // not owned
	weights []engine.Buffer // base, or base with merged linear maps
	merged  []engine.Buffer // owned linear maps; nil without an adapter
	version int

	slots, context, chunk, rows int
	prefix                      []int32
	prefixKV, caches            []engine.Buffer
	merge, prefixer             *engine.Program
	prefill, decode             *engine.Program

	submit  chan *job
	control chan func()
	quit    chan struct{}
	stopped sync.WaitGroup
	closing sync.Once
	state   []slot
	fed     []int // by row: which of its slots was fed last
	waited  int   // how often prompts were passed over since the last chunk
	failed  error
	stats   Stats
}

// Stats count the sampler's work since it was made.
type Stats struct {
	Prefilled, Decoded int // tokens
	DecodeSteps        int
	PrefillSteps       int     // chunks of up to so many rows
	BusySeconds        float64 // time in which at least one slot had work
}

// New compiles the sampler's programs over base weights, which stay the caller's, and starts it.
func New(e *engine.Engine, spec model.Spec, base []engine.Buffer, o Options) (*Sampler, error) {
	if o.Slots == 0 {
		o.Slots = 64
	}
	if o.Context == 0 {
		o.Context = 256
	}
	if len(o.Prefix) == 0 {
		return nil, fmt.Errorf("a sampler needs a prefix of at least one token")
	}
	s := &Sampler{engine: e, spec: spec, lora: o.LoRA, base: base, weights: base, slots: o.Slots, chunk: 16, rows: 8,
		prefix: o.Prefix, submit: make(chan *job), control: make(chan func()), quit: make(chan struct{})}
	if e.IsGPU() {
		s.chunk, s.rows = 32, 32 // fewer, larger programs
	}
	for s.slots%s.rows != 0 {
		s.rows--
	}
	s.context = (o.Context + s.chunk - 1) / s.chunk * s.chunk
	s.state, s.fed = make([]slot, s.slots), make([]int, s.rows)
	if err := s.compile(); err != nil {
		return nil, err
	}
	if err := s.prepare(); err != nil {
		return nil, err
	}
	s.stopped.Add(1)
	go s.run()
	return s, nil
}

func (s *Sampler) compile() (err error) {
	if s.merge, err = s.mergeProgram(); err != nil {
		return err
	}
	if s.prefixer, err = s.prefixProgram(len(s.prefix)); err != nil {
		return err
	}
	if s.prefill, err = s.prefillProgram(); err != nil {
		return err
	}
	s.decode, err = s.decodeProgram()
	return err
}

// prepare computes the prefix under the present weights and empties the caches.
func (s *Sampler) prepare() error {
	engine.Free(s.prefixKV...)
	ids, err := s.engine.Upload(s.prefix, 1, len(s.prefix))
	if err != nil {
		return err
	}
	defer engine.Free(ids)
	if s.prefixKV, err = s.prefixer.Run(append(append([]engine.Buffer{}, s.weights...), ids)...); err != nil {
		return err
	}
	for i := range s.state {
		s.state[i].cached = nil
	}
	if s.caches != nil {
		return nil
	}
	zero := make([]float32, s.spec.NumKVHeads*s.slots*s.context*s.spec.HeadDim)
	for range 2 * s.spec.NumLayers {
		b, err := s.engine.Upload(zero, s.spec.NumKVHeads, s.slots, s.context, s.spec.HeadDim)
		if err != nil {
			return err
		}
		s.caches = append(s.caches, b)
	}
	return nil
}

// SetAdapter makes the sampler use base + adapter (nil: base alone) as policy version from the next request on. It
// waits for requests in flight, so that no completion mixes two versions.
func (s *Sampler) SetAdapter(adapter engine.Buffer, version int) error {
	done := make(chan error, 1)
	apply := func() { done <- s.setAdapter(adapter, version) }
	select {
	case s.control <- apply:
		return <-done
	case <-s.quit:
		return errClosed
	}
}

func (s *Sampler) setAdapter(adapter engine.Buffer, version int) error {
	engine.Free(s.merged...)
	s.merged, s.weights = nil, s.base
	if adapter != nil {
		maps, err := s.merge.Run(append(append([]engine.Buffer{}, s.base...), adapter)...)
		if err != nil {
			return err
		}
		s.merged, s.weights = maps, s.spec.WithLinearMaps(s.base, maps)
	}
	s.version = version
	return s.prepare()
}

// NumSlots implements policy.Sampler.
func (s *Sampler) NumSlots() int { return s.slots }

// NumAliased returns the bytes of cache that decoding updates in place.
func (s *Sampler) NumAliased() int64 { return s.decode.NumAliased() }

// Stats returns the counts so far; call it between requests.
func (s *Sampler) Stats() Stats {
	result := make(chan Stats, 1)
	select {
	case s.control <- func() { result <- s.stats }:
		return <-result
	case <-s.quit:
		return Stats{}
	}
}

// Sample implements policy.Sampler.
func (s *Sampler) Sample(ctx context.Context, r policy.Request) (policy.Completion, error) {
	if len(r.Prompt) == 0 || r.MaxTokens <= 0 {
		return policy.Completion{}, fmt.Errorf("a request needs a prompt and a positive number of tokens")
	}
	j := &job{ctx: ctx, request: r, done: make(chan struct{})}
	select {
	case s.submit <- j:
	case <-ctx.Done():
		return policy.Completion{}, ctx.Err()
	case <-s.quit:
		return policy.Completion{}, errClosed
	}
	<-j.done
	return j.completion, j.err
}

// Close stops the sampler and releases its buffers; requests in flight fail.
func (s *Sampler) Close() {
	s.closing.Do(func() {
		close(s.quit)
		s.stopped.Wait()
		engine.Free(s.merged...)
		engine.Free(s.prefixKV...)
		engine.Free(s.caches...)
	})
}
