package sample

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hone/internal/engine"
	"hone/internal/episode/policy"
	"hone/internal/fault"
	"hone/internal/learn/model"
)

// Options shape a sampler. Zero values mean the defaults named.
type Options struct {
	// LoRA is the shape of the adapters that the sampler applies; where its rank is 0 it samples from the base model
	// alone, which then costs nothing more.
	LoRA model.LoRA
	// Adapters is how many adapters the sampler holds at one time (1). Above 1 each request names one, or none, and
	// there is no Prefix, whose keys and values would be one adapter's.
	Adapters int
	Slots    int     // sequences sampled at one time (64), on each device
	Context  int     // private tokens of a slot, after the prefix (256); rounded up to whole chunks
	Prefix   []int32 // what most prompts begin with, held and read once for all slots; may be empty
	// DecodeSteps is how many tokens of each slot the device is told to sample at most before the host tells it more
	// (1; on a GPU, which would wait for the host after each, 64). What is sampled does not depend on it.
	DecodeSteps int
	// Apart has a GPU read the linear maps as the base weights have them, in place of a copy in which those that read
	// the same x are one matrix: slower, without the kernel of section 7 of docs/ENGINE.md, and without its memory.
	Apart bool
	// Seats is how many conversations take turns in a slot (1), each of which goes on from what it left there.
	Seats int
	// NewDecoder starts the decoding of a completion, in whose text stop texts are looked for; nil: they are refused.
	NewDecoder func() Decoder
}

// Sampler implements policy.Sampler on a device. Its results depend on request, slot and adapter alone, not on what
// else is sampled: shapes are fixed, and a slot is always the same row of them. On a GPU that holds but for the
// rounding of a prompt's keys and values, whose chunks are of other shapes where rows are free or nobody decodes.
type Sampler struct {
	engine         *engine.Engine
	baseSpec, spec model.Spec // of the base weights; of those that the programs take: on a GPU joined
	adapters       model.Adapters
	base           []engine.Buffer // not owned
	params         []engine.Param  // of weights: the model's and, beside them, the adapters' that are no part of those
	weights        []engine.Buffer // what the programs take: base, but for those owned
	owned          []bool          // weights made by joining, and adapters
	versions       []int           // by adapter

	devices                            int // that it runs on: one, unless weights are sharded over several
	slots, context, chunk, rows, steps int // slots and rows are those of each device
	prefix                             []int32
	prefixKV, caches                   []engine.Buffer
	join, prefixer, checksums          *engine.Program // nil until they are needed: without a prefix, or joining
	writes                             *engine.Program // an adapter into its place
	prefill, decode                    *engine.Program
	chooser, ranker                    *engine.Program // nil until a request needs them; chooser is a decode program
	prefillOne, prefillBulk            wide            // wanted once prompts are long enough; see advance
	prefillFew                         wide            // where few prompts wait; see apart
	copier                             *engine.Program // nil where no beginning is copied
	asides, recalls                    *engine.Program // nil until two conversations take turns in a slot
	// held while a program is compiled that not all requests need: in their senders' goroutines
	making     sync.Mutex
	beside     sync.WaitGroup // what is compiled beside the sampler's goroutine
	masks      *masks
	newDecoder func() Decoder

	submit  chan *job
	control chan func() // between requests
	swap    chan func() // between steps
	quit    chan struct{}
	stopped sync.WaitGroup
	closing sync.Once
	state   []slot
	seats   int     // of a slot that are set aside
	fed     []int   // by row: which of its slots was fed last
	single  int     // the slot that was fed apart last
	waited  int     // how often prompts were passed over since the last chunk
	justFed bool    // nothing was drawn since the last chunk
	noLarge bool    // there is no program for larger chunks
	copies  []piece // to be copied before anything else is done
	ahead   int     // steps set off beyond the one that the host waits for
	gpu     bool    // chunks are wide, so that prompts and draws take turns, and a long prompt alone fills one
	failed  error
	broken  atomic.Bool // failed is set, for others to see
	stats   Stats
	drew    time.Time // when an execution of decoding last ended
}

// Stats count the sampler's work since it was made.
type Stats struct {
	Prefilled, Decoded int // tokens
	Copied             int // tokens of prompts that were copied from another slot
	DecodeSteps        int
	PrefillSteps       int     // chunks of up to so many rows
	BusySeconds        float64 // time in which at least one slot had work
	// LongestStall is the longest time in seconds, since Stats was last called, from the end of a run of decoding steps
	// to the beginning of the next, while a slot waited that decoded in both.
	LongestStall float64
}

// Beside is what two samplers did that work beside each other: counts are added up, and times are those of the one with
// most.
func (s Stats) Beside(o Stats) Stats {
	return Stats{Prefilled: s.Prefilled + o.Prefilled, Decoded: s.Decoded + o.Decoded, Copied: s.Copied + o.Copied,
		DecodeSteps: s.DecodeSteps + o.DecodeSteps, PrefillSteps: s.PrefillSteps + o.PrefillSteps,
		BusySeconds: max(s.BusySeconds, o.BusySeconds), LongestStall: max(s.LongestStall, o.LongestStall)}
}

// chunkCPU is how many tokens of a slot's prompt a CPU computes at one time.
const chunkCPU = 16

// New compiles the sampler's programs over base weights, which stay the caller's, and starts it.
func New(e *engine.Engine, spec model.Spec, base []engine.Buffer, o Options) (*Sampler, error) {
	if o.Slots == 0 {
		o.Slots = 64
	}
	if o.Context == 0 {
		o.Context = 256
	}
	if want := len(spec.WeightParams()); len(base) != want {
		return nil, fmt.Errorf("a sampler over %d weights, of %d that the model has", len(base), want)
	}
	if o.LoRA.Rank == 0 {
		o.Adapters = 0
	} else if err := o.LoRA.Check(spec); err != nil {
		return nil, err
	} else {
		o.Adapters = max(1, o.Adapters)
	}
	if o.Adapters > 1 && o.Seats > 1 {
		return nil, errors.New("conversations take turns under one adapter, not under several")
	}
	if o.Adapters > 1 && len(o.Prefix) > 0 {
		return nil, errors.New("a prefix is held under one adapter, and a sampler of several has none")
	}
	s := &Sampler{
		engine: e, baseSpec: spec, spec: spec, base: base, devices: e.NumDevices(), slots: o.Slots, chunk: chunkCPU,
		rows: 8, steps: 1,
		versions: make([]int, max(1, o.Adapters)),
		prefix:   o.Prefix, submit: make(chan *job), control: make(chan func()), swap: make(chan func()),
		quit: make(chan struct{}),
	}
	if e.IsGPU() {
		// products of 1024 tokens: larger ones gain little, and decoding waits for them
		s.chunk, s.rows, s.steps = 128, 8, mostSteps
		s.spec.Joined, s.gpu, s.ahead = spec.Shards <= 1 && !o.Apart || spec.Joined, true, stepsAhead
	}
	s.adapters = model.NewAdapters(s.spec, o.LoRA, o.Adapters)
	s.params = s.adapters.Params()
	if o.DecodeSteps > 0 {
		s.steps = o.DecodeSteps
	}
	for s.slots%s.rows != 0 {
		s.rows--
	}
	s.context = (o.Context + s.chunk - 1) / s.chunk * s.chunk
	s.state, s.fed = make([]slot, s.numSlots()), make([]int, s.devices*s.rows)
	if s.seats = 1; !s.gpu && s.devices == 1 {
		s.seats = max(1, o.Seats)
	}
	for i := range s.state {
		s.state[i].aside = map[int]aside{}
	}
	s.masks, s.newDecoder = newMasks(s.numSlots(), spec.VocabSize), o.NewDecoder
	if err := s.compile(); err != nil {
		return nil, err
	}
	err := s.hold()
	if err == nil {
		err = s.prepare()
	}
	if err != nil {
		s.release()
		return nil, err
	}
	if s.gpu && s.devices == 1 {
		if few < s.rows && few*s.chunk <= s.context { // the first prompt needs it
			s.larger(&s.prefillFew, 1, few*s.chunk, 0)
		}
		s.openCopies()
	}
	s.stopped.Add(1)
	go s.run()
	return s, nil
}

func (s *Sampler) compile() error {
	return s.engine.Together(
		func() (err error) {
			if len(s.prefix) > 0 {
				s.prefixer, err = s.prefixProgram(len(s.prefix))
			}
			return err
		},
		func() (err error) { s.prefill, err = s.prefillProgram(s.rows, s.chunk); return err },
		func() (err error) { s.decode, err = s.decodeProgram(false); return err },
	)
}

// prepare computes the prefix under the present weights and empties the caches.
func (s *Sampler) prepare() error {
	if err := s.computePrefix(); err != nil {
		return err
	}
	for i := range s.state {
		s.state[i].cached = nil
	}
	s.leaveSeats()
	if s.caches != nil {
		return nil
	}
	var err error
	s.caches, err = s.engine.Zeros(s.cacheShape(), 2*s.spec.NumLayers)
	return err
}

func (s *Sampler) computePrefix() error {
	if s.prefixer == nil {
		return nil
	}
	engine.Free(s.prefixKV...)
	ids, err := s.engine.Upload(s.prefix, 1, len(s.prefix))
	if err != nil {
		return err
	}
	defer engine.Free(ids)
	s.prefixKV, err = s.prefixer.Run(append(append([]engine.Buffer{}, s.weights...), ids)...)
	return err
}

// NumSlots implements policy.Sampler.
func (s *Sampler) NumSlots() int { return s.numSlots() }

// NumAliased returns the bytes of cache that decoding updates in place.
func (s *Sampler) NumAliased() int64 { return s.decode.NumAliased() }

// Stats returns the counts so far, and begins the longest stall anew; call it between requests.
func (s *Sampler) Stats() Stats {
	result := make(chan Stats, 1)
	select {
	case s.control <- func() { result <- s.stats; s.stats.LongestStall = 0 }:
		return <-result
	case <-s.quit:
		return Stats{}
	}
}

// check refuses what cannot be sampled.
func (s *Sampler) check(r policy.Request) error {
	why, next := "", ""
	switch {
	case len(r.Prompt) == 0:
		why = "the prompt is empty"
	case r.MaxTokens <= 0:
		why, next = fmt.Sprintf("%d tokens are asked for", r.MaxTokens),
			"ask for at least one; hone inspect logprobs scores a text without sampling"
	case !(r.Temperature >= 0) || math.IsInf(r.Temperature, 0):
		why = fmt.Sprintf("the temperature is %v; it is at least 0", r.Temperature)
	case r.TopK < 0:
		why = fmt.Sprintf("top-k is %d; it is at least 1, or 0 for off", r.TopK)
	case !(r.TopP >= 0 && r.TopP <= 1):
		why = fmt.Sprintf("top-p is %v; it lies in (0, 1], or is 0 for off", r.TopP)
	case !(r.MinP >= 0 && r.MinP <= 1):
		why = fmt.Sprintf("min-p is %v; it lies in [0, 1]", r.MinP)
	case r.TopLogprobs < 0 || r.TopLogprobs > policy.MaxTopLogprobs:
		why = fmt.Sprintf("the %d likeliest tokens are asked for; at most %d can be told",
			r.TopLogprobs, policy.MaxTopLogprobs)
	case r.Adapter < policy.NoAdapter || r.Adapter >= len(s.versions) ||
		r.Adapter == policy.NoAdapter && s.adapters.Count == 1:
		why = fmt.Sprintf("adapter %d is asked for, and the sampler holds %d", r.Adapter, s.adapters.Count)
	case slices.Contains(r.Stop, ""):
		why = "a stop text is empty"
	case len(r.Stop) > 0 && s.newDecoder == nil:
		why = "stop texts are asked for, and this sampler has no decoder to find them with"
	default:
		return nil
	}
	return &fault.Error{Code: fault.CodeUsage, What: "cannot sample", Where: "request", Why: why, Next: next}
}

// job checks a request, compiles what it needs, and returns it as it is enqueued.
func (s *Sampler) job(ctx context.Context, r policy.Request) (*job, error) {
	if err := s.check(r); err != nil {
		return nil, err
	}
	if err := s.ready(&r); err != nil {
		return nil, err
	}
	j := &job{ctx: ctx, request: r, done: make(chan struct{})}
	if len(r.Stop) > 0 {
		j.stops = newStops(s.newDecoder(), r.Stop)
	}
	return j, nil
}

// Sample implements policy.Sampler. A request that asks for what cannot be is a *fault.Error.
func (s *Sampler) Sample(ctx context.Context, r policy.Request) (policy.Completion, error) {
	j, err := s.job(ctx, r)
	if err != nil {
		return policy.Completion{}, err
	}
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

// Failed reports whether a program failed, after which all requests do.
func (s *Sampler) Failed() bool { return s.broken.Load() }

func (s *Sampler) fail(err error) {
	s.failed = err
	s.broken.Store(true)
}

// Close stops the sampler and releases its buffers; requests in flight fail.
func (s *Sampler) Close() {
	s.closing.Do(func() {
		close(s.quit)
		s.stopped.Wait()
		s.beside.Wait() // the engine may be closed next
		s.release()
	})
}

// release releases what the sampler has on the device.
func (s *Sampler) release() {
	for i, b := range s.weights {
		if s.owned[i] {
			engine.Free(b)
		}
	}
	engine.Free(s.prefixKV...)
	engine.Free(s.caches...)
	s.leaveSeats()
	s.masks.free()
}
